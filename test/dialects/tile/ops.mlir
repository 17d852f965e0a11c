// Every tile op is parsed, verified and printed as written.
// RUN: replayssm-opt %s | replayssm-opt | FileCheck %s

#rows = #tile.layout<[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]>
#row = #tile.layout<[r1:1], [r4:4, l8:1, r4:1]>
#value = #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>
#ring = #tile.layout<[r2:1, l8:1], [r1:1]>
#one = #tile.layout<[r1:1], [r1:1]>
#mma_rows = #tile.layout<[w2:1, l8:4, r2:8], [r2:4, l4:1, r4:1]>
#mma_cols = #tile.layout<[l8:4], [r2:4, l4:1, r4:1]>
#mma_keys = #tile.layout<[l8:4, r2:4], [w2:1, l4:1, r4:1]>
#mma_chunks = #tile.layout<[l8:4], [w2:1, l4:1, r4:1]>
#mma_sums = #tile.layout<[w2:1, l8:4, r2:2], [l4:1, r2:1]>

// CHECK-LABEL: gpu.func @memory
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[OFF:.*]]: i64, %[[N:.*]]: index, %[[OWNS:.*]]: i1)
gpu.module @memory_ops {
  gpu.func @memory(%p: !llvm.ptr<1>, %off: i64, %n: index, %owns: i1) kernel {
    // CHECK: %[[S:.*]] = tile.alloc : <16, 128, f32>
    %s = tile.alloc : !tile.smem<16, 128, f32>
    // CHECK: tile.alloc at 8192 : <16, 1, bf16>
    %t = tile.alloc at 8192 : !tile.smem<16, 1, bf16>
    // CHECK: tile.alloc : <16, 32, bf16, skew = 8>
    %u = tile.alloc : !tile.smem<16, 32, bf16, skew = 8>
    // CHECK: %[[T:.*]] = tile.copy %[[P]][%[[OFF]]] to %[[S]] rows(%[[N]]) mbarrier 0 : <1>, <16, 128, f32>
    %token = tile.copy %p[%off] to %s rows(%n) mbarrier 0 : !llvm.ptr<1>, !tile.smem<16, 128, f32>
    // CHECK: tile.wait %[[T]]
    tile.wait %token
    // CHECK: %[[X:.*]] = tile.load %[[S]][%[[OFF]]] strides [128, 1] layout <[w4:1, l4:8], [r4:4, l8:1, r4:1]> : !tile.smem<16, 128, f32> -> tensor<16x128xf32>
    %x = tile.load %s[%off] strides [128, 1] layout <[w4:1, l4:8], [r4:4, l8:1, r4:1]>
        : !tile.smem<16, 128, f32> -> tensor<16x128xf32>
    // CHECK: tile.load %[[P]][%[[OFF]]] strides [128, 1] rows(%[[N]]) : !llvm.ptr<1> -> tensor<64x128xbf16, #{{.*}}>
    %y = tile.load %p[%off] strides [128, 1] rows(%n) : !llvm.ptr<1> -> tensor<64x128xbf16, #rows>
    // CHECK: tile.load %[[P]][%[[OFF]]] strides [0, 1] stride(%[[OFF]]) rows(%[[N]]) : !llvm.ptr<1> -> tensor<64x128xbf16, #{{.*}}>
    %t2 = tile.load %p[%off] strides [0, 1] stride(%off) rows(%n) : !llvm.ptr<1> -> tensor<64x128xbf16, #rows>
    // CHECK: tile.load %[[P]][%[[OFF]]] strides [128, 1] mask(%[[OFF]]) layout <{{.*}}> : !llvm.ptr<1> -> tensor<16x128xf32>
    %t3 = tile.load %p[%off] strides [128, 1] mask(%off) layout <[w4:1, l4:8], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<16x128xf32>
    // CHECK: tile.store %[[X]], %[[P]][%[[OFF]]] strides [128, 1] rows(%[[N]]) owner(%[[OWNS]]) : tensor<16x128xf32>, !llvm.ptr<1>
    tile.store %x, %p[%off] strides [128, 1] rows(%n) owner(%owns) : tensor<16x128xf32>, !llvm.ptr<1>
    // CHECK: tile.barrier
    tile.barrier
    gpu.return
  }

  // CHECK-LABEL: gpu.func @compute
  gpu.func @compute(%z: tensor<1x4xf32>, %zs: tensor<4x4xf32>, %s: tensor<64x128xf32, #rows>, %x: tensor<1x128xf32, #row>, %g: tensor<16x1xf32, #ring>, %n: index) {
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] : (tensor<1x128xf32, {{.*}}>, tensor<64x128xf32, {{.*}}>) -> tensor<1x64xf32, {{.*}}>
    %y = tile.dot %x, %s contract [1, 1] : (tensor<1x128xf32, #row>, tensor<64x128xf32, #rows>) -> tensor<1x64xf32, #value>
    // Four of eight lanes that share a sum along K have a row each.
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] : (tensor<1x128xf32, {{.*}}>, tensor<64x128xf32, {{.*}}>) -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, l4:1]>>
    %y2 = tile.dot %x, %s contract [1, 1] : (tensor<1x128xf32, #row>, tensor<64x128xf32, #rows>) -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, l4:1]>>
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] rows : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
    %y3 = tile.dot %z, %z contract [1, 1] rows : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] layout <[r1:1], [l4:1]> : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %y4 = tile.dot %z, %zs contract [1, 1] layout <[r1:1], [l4:1]> : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    // CHECK: tile.dot %{{.*}}, %{{.*}} acc(%{{.*}}) contract [0, 0] :
    %u = tile.dot %y, %x acc(%s) contract [0, 0]
        : (tensor<1x64xf32, #value>, tensor<1x128xf32, #row>, tensor<64x128xf32, #rows>) -> tensor<64x128xf32, #rows>
    // CHECK: tile.scan add %{{.*}} : tensor<16x1xf32, {{.*}}> -> tensor<16x1xf32, {{.*}}>, tensor<1x1xf32, {{.*}}>
    %w, %tot = tile.scan add %g : tensor<16x1xf32, #ring> -> tensor<16x1xf32, #ring>, tensor<1x1xf32, #one>
    // CHECK: tile.scan add %{{.*}} from(%{{.*}}) : tensor<16x1xf32, {{.*}}> -> tensor<16x1xf32, {{.*}}>, tensor<1x1xf32, {{.*}}>
    %w2, %tot2 = tile.scan add %g from(%n) : tensor<16x1xf32, #ring> -> tensor<16x1xf32, #ring>, tensor<1x1xf32, #one>
    // CHECK: tile.broadcast %{{.*}} : tensor<1x1xf32, {{.*}}> -> tensor<64x128xf32, {{.*}}>
    %b = tile.broadcast %tot : tensor<1x1xf32, #one> -> tensor<64x128xf32, #rows>
    // CHECK: tile.convert %{{.*}} : tensor<1x128xf32, {{.*}}> -> tensor<1x128xf32, {{.*}}>
    %c = tile.convert %x : tensor<1x128xf32, #row> -> tensor<1x128xf32, #tile.layout<[r1:1], [w4:1, l32:1]>>
    gpu.return
  }

  // Rows of a over warps and lanes, those of b over lanes, channels over four lanes; with
  // `apart` a block of rows for each chunk, which warps may share.
  // CHECK-LABEL: gpu.func @mma
  gpu.func @mma(%s: tensor<32x32xf32, #mma_rows>, %x: tensor<8x32xbf16, #mma_cols>, %k: tensor<12x32xf16, #mma_keys>, %y: tensor<8x32xf16, #mma_chunks>) {
    // CHECK: tile.dot %{{.*}}, %{{.*}} mma<> contract [1, 1] : (tensor<32x32xf32, {{.*}}>, tensor<8x32xbf16, {{.*}}>) -> tensor<32x8xf32, #tile.layout<[w2:1, l8:4, r2:2], [l4:1, r2:1]>>
    %a = tile.dot %s, %x mma<> contract [1, 1] : (tensor<32x32xf32, #mma_rows>, tensor<8x32xbf16, #mma_cols>) -> tensor<32x8xf32, #mma_sums>
    // CHECK: tile.dot %{{.*}}, %{{.*}} mma<chunk = 16> contract [1, 1] : (tensor<32x32xf32, {{.*}}>, tensor<8x32xbf16, {{.*}}>) -> tensor<32x8xf32, {{.*}}>
    %b = tile.dot %s, %x mma<chunk = 16, apart = false> contract [1, 1] : (tensor<32x32xf32, #mma_rows>, tensor<8x32xbf16, #mma_cols>) -> tensor<32x8xf32, #mma_sums>
    // CHECK: tile.dot %{{.*}}, %{{.*}} mma<chunk = 16, apart = true> contract [1, 1] : (tensor<12x32xf16, {{.*}}>, tensor<8x32xf16, {{.*}}>) -> tensor<32x8xf32, #tile.layout<[w2:1, l8:4, r2:2], [l4:1, r2:1]>>
    %c = tile.dot %k, %y mma<chunk = 16, apart = true> contract [1, 1] : (tensor<12x32xf16, #mma_keys>, tensor<8x32xf16, #mma_chunks>) -> tensor<32x8xf32, #mma_sums>
    // CHECK: tile.iota 1 : tensor<8x32xf32, {{.*}}>
    %i = tile.iota 1 : tensor<8x32xf32, #mma_cols>
    // CHECK: tile.iota 0 layout <[l4:1], [r1:1]> : tensor<4x1xf32>
    %j = tile.iota 0 layout <[l4:1], [r1:1]> : tensor<4x1xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @expect
  gpu.func @expect(%n: i32, %low: i32, %high: i32) {
    // CHECK: tile.expect "wp" %{{.*}} in %{{.*}} to %{{.*}}
    tile.expect "wp" %n in %low to %high
    gpu.return
  }

  // Lanes may leave gaps (copies), warps too; extents may exceed the tile.
  // CHECK-LABEL: gpu.func @layouts
  // CHECK-SAME: tensor<5x96xf32, #tile.layout<[w2:2, l4:8], [r3:4, l8:1, r4:1]>>
  gpu.func @layouts(%x: tensor<5x96xf32, #tile.layout<[w2:2, l4:8], [r3:4, l8:1, r4:1]>>) {
    gpu.return
  }
}
