// Operands of tensor cores keep a layout that these can take; the sums follow from them.
// RUN: replayssm-opt %s -split-input-file -replay-assign-layouts | FileCheck %s

// Rows of the sums are those of the first operand, of the second one a thread has two
// columns. What comes of them is spread like them.
// CHECK-LABEL: gpu.func @kept
gpu.module @m {
  gpu.func @kept(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // CHECK: %[[S:.*]] = tile.load {{.*}} -> tensor<32x64xf32, #tile.layout<[w2:1, l8:4, r2:16], [r4:4, l4:1, r4:1]>>
    %s = tile.load %p[%o] strides [64, 1] layout <[w2:1, l8:4, r2:16], [r4:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<32x64xf32>
    // CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<12x64xbf16, #tile.layout<[r2:16, l8:4], [r4:4, l4:1, r4:1]>>
    %x = tile.load %p[%o] strides [64, 1] layout <[r2:16, l8:4], [r4:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<12x64xbf16>
    // CHECK-NOT: tile.convert
    // CHECK: %[[D:.*]] = tile.dot %[[S]], %[[X]] mma<chunk = 32> contract [1, 1] {{.*}} -> tensor<32x12xf32, [[SUMS:#tile.layout<\[w2:1, l8:4, r2:4\], \[r2:2, l4:1, r2:1\]>]]>
    %d = tile.dot %s, %x mma<chunk = 32> contract [1, 1] : (tensor<32x64xf32>, tensor<12x64xbf16>) -> tensor<32x12xf32>
    // CHECK: arith.addf %[[D]], %[[D]] : tensor<32x12xf32, [[SUMS]]>
    %e = arith.addf %d, %d : tensor<32x12xf32>
    tile.store %e, %p[%o] strides [12, 1] : tensor<32x12xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Warps share the chunks of sums that stay apart: the blocks of rows are theirs.
// CHECK-LABEL: gpu.func @apart
gpu.module @m {
  gpu.func @apart(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %k = tile.load %p[%o] strides [128, 1] layout <[l8:4, r2:16], [w2:1, r2:8, r2:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<12x128xf32>
    %x = tile.load %p[%o] strides [128, 1] layout <[l8:4], [w2:1, r2:8, r2:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<8x128xbf16>
    // CHECK-NOT: tile.convert
    // CHECK: tile.dot {{.*}} mma<chunk = 32, apart = true> {{.*}} -> tensor<64x8xf32, #tile.layout<[w2:1, r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    %d = tile.dot %k, %x mma<chunk = 32, apart = true> contract [1, 1] : (tensor<12x128xf32>, tensor<8x128xbf16>) -> tensor<64x8xf32>
    tile.store %d, %p[%o] strides [8, 1] : tensor<64x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Contracted are rows of both operands, as records of a ring.
// CHECK-LABEL: gpu.func @records
gpu.module @m {
  gpu.func @records(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %v = tile.load %p[%o] strides [64, 1] layout <[l4:1, r4:1], [w2:1, r2:8, l8:4, r2:4]> : !llvm.ptr<1> -> tensor<16x64xf32>
    %c = tile.load %p[%o] strides [8, 1] layout <[l4:1, r4:1], [l8:4]> : !llvm.ptr<1> -> tensor<16x8xf32>
    // CHECK-NOT: tile.convert
    // CHECK: tile.dot {{.*}} mma<> contract [0, 0] {{.*}} -> tensor<64x8xf32, #tile.layout<[w2:1, r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    %d = tile.dot %v, %c mma<> contract [0, 0] : (tensor<16x64xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
    tile.store %d, %p[%o] strides [8, 1] : tensor<64x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Operands in the layouts of fma are converted: rows over as many warps as there are tiles of
// rows for, at most.
// CHECK-LABEL: gpu.func @converted
gpu.module @m {
  gpu.func @converted(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: %[[S:.*]] = tile.load
    %s = tile.load %p[%o] strides [64, 1] layout <[w4:1, l4:8, r2:8], [r2:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<32x64xf32>
    // CHECK: %[[X:.*]] = tile.load
    %x = tile.load %p[%o] strides [64, 1] layout <[r12:2], [r2:1, l32:1]> : !llvm.ptr<1> -> tensor<12x64xbf16>
    // CHECK: %[[A:.*]] = tile.convert %[[S]] : {{.*}} -> tensor<32x64xf32, [[ROWS:#tile.layout<\[w2:1, l8:4, r2:16\], \[r4:4, l4:1, r4:1\]>]]>
    // CHECK: %[[B:.*]] = tile.convert %[[X]] : {{.*}} -> tensor<12x64xbf16, #tile.layout<[r2:16, l8:4], [r4:4, l4:1, r4:1]>>
    // CHECK: tile.dot %[[A]], %[[B]] mma<> {{.*}} -> tensor<32x12xf32, #tile.layout<[w2:1, l8:4, r2:4], [r2:2, l4:1, r2:1]>>
    %d = tile.dot %s, %x mma<> contract [1, 1] : (tensor<32x64xf32>, tensor<12x64xbf16>) -> tensor<32x12xf32>
    tile.store %d, %p[%o] strides [12, 1] : tensor<32x12xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Channels of one lane that do not follow each other: that operand alone is converted.
// CHECK-LABEL: gpu.func @first
gpu.module @m {
  gpu.func @first(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // CHECK: %[[S:.*]] = tile.load
    %s = tile.load %p[%o] strides [64, 1] layout <[w2:1, l8:4, r2:16], [r4:4, r4:1, l4:1]> : !llvm.ptr<1> -> tensor<32x64xf32>
    // CHECK: %[[X:.*]] = tile.load
    %x = tile.load %p[%o] strides [64, 1] layout <[l8:4], [r4:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<8x64xbf16>
    // CHECK: %[[A:.*]] = tile.convert %[[S]] : {{.*}} -> tensor<32x64xf32, #tile.layout<[w2:1, l8:4, r2:16], [r4:4, l4:1, r4:1]>>
    // CHECK-NOT: tile.convert
    // CHECK: tile.dot %[[A]], %[[X]] mma<>
    %d = tile.dot %s, %x mma<> contract [1, 1] : (tensor<32x64xf32>, tensor<8x64xbf16>) -> tensor<32x8xf32>
    tile.store %d, %p[%o] strides [8, 1] : tensor<32x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// The second operand follows the first along the channels.
// CHECK-LABEL: gpu.func @second
gpu.module @m {
  gpu.func @second(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // CHECK: %[[K:.*]] = tile.load
    %k = tile.load %p[%o] strides [64, 1] layout <[l8:4, r2:8], [w2:1, r2:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<16x64xf32>
    // CHECK: %[[X:.*]] = tile.load
    %x = tile.load %p[%o] strides [64, 1] layout <[l8:4], [r4:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<8x64xbf16>
    // CHECK: %[[B:.*]] = tile.convert %[[X]] : {{.*}} -> tensor<8x64xbf16, #tile.layout<[l8:4], [w2:1, r2:4, l4:1, r4:1]>>
    // CHECK: tile.dot %[[K]], %[[B]] mma<chunk = 32, apart = true>
    %d = tile.dot %k, %x mma<chunk = 32, apart = true> contract [1, 1] : (tensor<16x64xf32>, tensor<8x64xbf16>) -> tensor<32x8xf32>
    tile.store %d, %p[%o] strides [8, 1] : tensor<32x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A constant takes the layout that is asked of it.
// CHECK-LABEL: gpu.func @constant
gpu.module @m {
  gpu.func @constant(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %s = tile.load %p[%o] strides [64, 1] layout <[w2:1, l8:4, r2:16], [r4:4, l4:1, r4:1]> : !llvm.ptr<1> -> tensor<32x64xf32>
    // CHECK: %[[X:.*]] = arith.constant dense<1.000000e+00> : tensor<12x64xbf16, #tile.layout<[r2:16, l8:4], [r4:4, l4:1, r4:1]>>
    %x = arith.constant dense<1.0> : tensor<12x64xbf16>
    // CHECK: tile.dot %{{.*}}, %[[X]] mma<>
    %d = tile.dot %s, %x mma<> contract [1, 1] : (tensor<32x64xf32>, tensor<12x64xbf16>) -> tensor<32x12xf32>
    tile.store %d, %p[%o] strides [12, 1] : tensor<32x12xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Coordinates have a layout as a load has one.
// CHECK-LABEL: gpu.func @coordinates
gpu.module @m {
  gpu.func @coordinates(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // CHECK: %[[I:.*]] = tile.iota 0 : tensor<16x1xf32, [[L:#tile.layout<\[w2:1, l8:1\], \[r1:1\]>]]>
    %i = tile.iota 0 layout <[w2:1, l8:1], [r1:1]> : tensor<16x1xf32>
    // CHECK: arith.addf %[[I]], %[[I]] : tensor<16x1xf32, [[L]]>
    %j = arith.addf %i, %i : tensor<16x1xf32>
    tile.store %j, %p[%o] strides [1, 1] : tensor<16x1xf32>, !llvm.ptr<1>
    gpu.return
  }
}
