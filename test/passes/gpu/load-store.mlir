// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file %s | FileCheck %s

// The state tile: one base pointer, 16-byte loads at constant byte offsets.
// CHECK: llvm.func @rssm.ld.global.v4f32(!llvm.ptr<1>, i1, i32) -> vector<4xf32>
// CHECK-SAME: memory_effects = #llvm.memory_effects<other = none, argMem = read, inaccessibleMem = readwrite
// CHECK-SAME: no_unwind
// CHECK-SAME: will_return
// CHECK-LABEL: gpu.func @state_tile
// CHECK-SAME: (%[[STATE:.*]]: !llvm.ptr<1>, %[[OFF:.*]]: i64)
// CHECK-SAME: sites = ["tile.load at {{.*}}load-store.mlir:[[#@LINE+14]]:8", "tile.store at
// CHECK: %[[BASE:.*]] = llvm.getelementptr %[[STATE]][%[[OFF]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[MINE:.*]] = llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[R0:.*]] = llvm.call @rssm.ld.global.v4f32(%[[MINE]], %{{.*}}, %{{.*}})
// CHECK: %[[A1:.*]] = llvm.getelementptr %[[MINE]][128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK: llvm.call @rssm.ld.global.v4f32(%[[A1]]
// CHECK: llvm.getelementptr %[[MINE]][256]
// CHECK: llvm.getelementptr %[[MINE]][384]
// CHECK: vector.from_elements {{.*}} : vector<16xf32>
// CHECK-COUNT-4: llvm.call @rssm.st.global.v4f32
gpu.module @m {
  gpu.func @state_tile(%state: !llvm.ptr<1>, %off: i64) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>,
                  replay.manifest = {args = [["state", "pointer", "f32"]]}} {
  %t = tile.load %state[%off] strides [64, 1] : !llvm.ptr<1> -> tensor<32x64xf32, #tile.layout<[w4:1, l4:8, r2:8], [r2:4, l8:1, r4:1]>>
  tile.store %t, %state[%off] strides [64, 1] : tensor<32x64xf32, #tile.layout<[w4:1, l4:8, r2:8], [r2:4, l8:1, r4:1]>>, !llvm.ptr<1>
  gpu.return
  }
}

// -----

// Buffers that are only element-aligned are accessed by elements, padding is
// skipped, and one of the lanes and warps that hold a copy stores.
// CHECK-LABEL: gpu.func @out_row
// CHECK: %[[LANE:.*]] = arith.andi %[[TID:.*]], %{{.*}} : i32
// CHECK: %[[FREE:.*]] = arith.andi %[[LANE]], %[[C24:.*]] : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[FREE]]
// CHECK: %[[W0:.*]] = arith.cmpi eq, %[[WARP:.*]], %{{.*}} : i32
// CHECK: %[[ONE:.*]] = arith.andi %[[FIRST]], %[[W0]]
// CHECK: %[[ALSO:.*]] = arith.andi %[[ONE]], %{{.*}} : i1
// CHECK: %[[ROOM:.*]] = arith.subi
// CHECK: %[[IN:.*]] = arith.cmpi sgt, %[[ROOM]]
// CHECK: %[[P:.*]] = arith.andi %[[IN]], %[[ALSO]]
// CHECK: llvm.call @rssm.st.global.bf16(%{{.*}}, %{{.*}}, %[[P]], %{{.*}})
// CHECK-NOT: st.global.bf16
gpu.module @m {
  gpu.func @out_row(%out: !llvm.ptr<1>, %off: i64, %owner: i1, %x: f32) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>,
                  replay.manifest = {args = [["out", "pointer", "bf16"]]}} {
  %t = tensor.splat %x : tensor<1x6xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
  %b = arith.truncf %t : tensor<1x6xf32, #tile.layout<[r1:1], [r2:1, l8:1]>> to tensor<1x6xbf16, #tile.layout<[r1:1], [r2:1, l8:1]>>
  tile.store %b, %out[%off] strides [6, 1] owner(%owner) : tensor<1x6xbf16, #tile.layout<[r1:1], [r2:1, l8:1]>>, !llvm.ptr<1>
  gpu.return
  }
}

// -----

// A row limit: rows left after the thread's part, one compare per register row.
// CHECK-LABEL: gpu.func @ring_rows
// CHECK: %[[N:.*]] = arith.index_cast %arg2 : index to i32
// CHECK: %[[ROOM:.*]] = arith.subi %[[N]], %{{.*}} : i32
// CHECK: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: %[[P0:.*]] = arith.cmpi sgt, %[[ROOM]], %[[C0]]
// CHECK: llvm.call @rssm.ld.global.v4f32(%{{.*}}, %[[P0]]
// CHECK: %[[C4:.*]] = arith.constant 4 : i32
// CHECK: %[[P1:.*]] = arith.cmpi sgt, %[[ROOM]], %[[C4]]
// CHECK: llvm.call @rssm.ld.global.v4f32(%{{.*}}, %[[P1]]
gpu.module @m {
  gpu.func @ring_rows(%k_ring: !llvm.ptr<1>, %off: i64, %wp: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>,
                  replay.manifest = {args = [["k_ring", "pointer", "f32"]]}} {
  %t = tile.load %k_ring[%off] strides [32, 1] rows(%wp) : !llvm.ptr<1> -> tensor<8x32xf32, #tile.layout<[r2:4, l4:8], [l8:1, r4:1]>>
  gpu.return
  }
}

// -----

// Scalars: every thread loads, thread 0 stores.
// CHECK-LABEL: gpu.func @cursor
// CHECK: %[[T:.*]] = arith.constant true
// CHECK: %[[V:.*]] = llvm.call @rssm.ld.global.i32(%{{.*}}, %[[T]], %{{.*}})
// CHECK: %[[P:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i32
// CHECK: llvm.call @rssm.st.global.i32(%{{.*}}, %[[V]], %[[P]], %{{.*}})
gpu.module @m {
  gpu.func @cursor(%wp: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
  %v = llvm.load %wp : !llvm.ptr<1> -> i32
  llvm.store %v, %wp : i32, !llvm.ptr<1>
  gpu.return
  }
}

// -----

// No rows: zeros, and no access.
// CHECK-LABEL: gpu.func @no_rows
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NOT: rssm.ld
// CHECK: vector.from_elements %[[ZERO]], %[[ZERO]] : vector<2xf32>
gpu.module @m {
  gpu.func @no_rows(%state: !llvm.ptr<1>, %off: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
  %none = arith.constant 0 : index
  %t = tile.load %state[%off] strides [16, 1] rows(%none) : !llvm.ptr<1> -> tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
  gpu.return
  }
}

// -----

// Shared memory is vectorised as far as offset and strides are known to be aligned.
// CHECK-LABEL: gpu.func @shared_rows
// CHECK: llvm.call @rssm.ld.shared.v4f32
// CHECK: llvm.call @rssm.ld.shared.v2f32
// CHECK: llvm.call @rssm.ld.shared.v2f32
// CHECK-COUNT-4: llvm.call @rssm.ld.shared.f32
// CHECK-NOT: llvm.call @rssm.ld.shared
gpu.module @m {
  gpu.func @shared_rows(%i: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
  %zero = arith.constant 0 : i64
  %c6 = arith.constant 6 : i64
  %even = arith.muli %i, %c6 : i64
  %s = tile.alloc at 16 : !tile.smem<4, 128, f32>
  %a = tile.load %s[%zero] strides [128, 1] : !tile.smem<4, 128, f32> -> tensor<1x128xf32, #tile.layout<[r1:1], [l32:1, r4:1]>>
  %b = tile.load %s[%even] strides [128, 1] : !tile.smem<4, 128, f32> -> tensor<1x128xf32, #tile.layout<[r1:1], [l32:1, r4:1]>>
  %c = tile.load %s[%i] strides [128, 1] : !tile.smem<4, 128, f32> -> tensor<1x128xf32, #tile.layout<[r1:1], [l32:1, r4:1]>>
  gpu.return
  }
}

// -----

// Rows at a stride of the caller: the thread's rows in its base, one more address for each other register row.
// CHECK-LABEL: gpu.func @tokens
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr<1>, %[[OFF:.*]]: i64, %[[STRIDE:.*]]: i64)
// CHECK: %[[BASE:.*]] = llvm.getelementptr %[[X]][%[[OFF]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: %[[MINE:.*]] = arith.muli %[[STRIDE]], %{{.*}} : i64
// CHECK: %[[ROW:.*]] = llvm.getelementptr %[[BASE]][%[[MINE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: %[[COL:.*]] = llvm.getelementptr %[[ROW]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: llvm.call @rssm.ld.global.v8bf16(%[[COL]]
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK: %[[NEXT:.*]] = arith.muli %[[STRIDE]], %[[FOUR]] : i64
// CHECK: %[[LAST:.*]] = llvm.getelementptr %[[COL]][%[[NEXT]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: llvm.call @rssm.ld.global.v8bf16(%[[LAST]]
gpu.module @m {
  gpu.func @tokens(%mixed_qkv: !llvm.ptr<1>, %off: i64, %stride: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>,
                  replay.manifest = {args = [["mixed_qkv", "pointer", "bf16"]]}} {
  %t = tile.load %mixed_qkv[%off] strides [0, 1] stride(%stride) : !llvm.ptr<1> -> tensor<8x64xbf16, #tile.layout<[r2:8, l4:8], [l8:1, r8:1]>>
  tile.store %t, %mixed_qkv[%off] strides [64, 1] : tensor<8x64xbf16, #tile.layout<[r2:8, l4:8], [l8:1, r8:1]>>, !llvm.ptr<1>
  gpu.return
  }
}

// -----

// A mask: the bits from the thread's first row on, one test per register row; bits
// past the last row are none.
// CHECK-LABEL: gpu.func @masked_rows
// CHECK: %[[MINE:.*]] = arith.andi %arg2, %{{.*}} : i64
// CHECK: %[[LOW:.*]] = arith.trunci %[[MINE]] : i64 to i32
// CHECK: %[[BITS:.*]] = arith.shrui %[[LOW]], %{{.*}} : i32
// CHECK: %[[C1:.*]] = arith.constant 1 : i32
// CHECK: %[[B0:.*]] = arith.andi %[[BITS]], %[[C1]] : i32
// CHECK: %[[P0:.*]] = arith.cmpi ne, %[[B0]], %{{.*}} : i32
// CHECK: llvm.call @rssm.ld.global.v4f32(%{{.*}}, %[[P0]]
// CHECK: %[[C16:.*]] = arith.constant 16 : i32
// CHECK: %[[B1:.*]] = arith.andi %[[BITS]], %[[C16]] : i32
// CHECK: %[[P1:.*]] = arith.cmpi ne, %[[B1]], %{{.*}} : i32
// CHECK: llvm.call @rssm.ld.global.v4f32(%{{.*}}, %[[P1]]
gpu.module @m {
  gpu.func @masked_rows(%k_ring: !llvm.ptr<1>, %off: i64, %mask: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>,
                  replay.manifest = {args = [["k_ring", "pointer", "f32"]]}} {
  %t = tile.load %k_ring[%off] strides [32, 1] mask(%mask) : !llvm.ptr<1> -> tensor<7x32xf32, #tile.layout<[r2:4, l4:8], [l8:1, r4:1]>>
  gpu.return
  }
}

// -----

// More rows than 32 take all of the mask; where none is padded it is taken as it is.
// CHECK-LABEL: gpu.func @wide_mask
// CHECK-NOT: arith.trunci
// CHECK: %[[BITS:.*]] = arith.shrui %arg2, %{{.*}} : i64
// CHECK: arith.andi %[[BITS]], %{{.*}} : i64
// CHECK-COUNT-2: llvm.call @rssm.ld.global.f32
gpu.module @m {
  gpu.func @wide_mask(%g_ring: !llvm.ptr<1>, %off: i64, %mask: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>,
                  replay.manifest = {args = [["g_ring", "pointer", "f32"]]}} {
  %t = tile.load %g_ring[%off] strides [1, 1] mask(%mask) : !llvm.ptr<1> -> tensor<64x1xf32, #tile.layout<[r2:1, l32:1], [r1:1]>>
  gpu.return
  }
}

// -----

// What is expected of a number: its name stands beside the sites.
// CHECK-LABEL: gpu.func @expects
// CHECK-SAME: sites = ["tile.expect at {{.*}}", "wp"]
// CHECK: llvm.call @rssm.expect(%{{.*}}, %{{.*}}, %{{.*}}, %[[NAME:.*]], %[[SITE:.*]]) : (i32, i32, i32, i32, i32) -> ()
gpu.module @m {
  gpu.func @expects(%wp: i32, %low: i32, %high: i32) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {args = []}} {
  tile.expect "wp" %wp in %low to %high
  gpu.return
  }
}

// -----

// A digit of another base than two: the warp over its stride, then what is left of the
// higher digit.
// CHECK-LABEL: gpu.func @three_warps
// CHECK: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK: %[[HIGH:.*]] = arith.divui %[[WARP:.*]], %[[THREE]] : i32
// CHECK: arith.remui %[[WARP]], %{{.*}} : i32
gpu.module @m {
  gpu.func @three_warps(%state: !llvm.ptr<1>, %off: i64) kernel
      attributes {known_block_size = array<i32: 192, 1, 1>,
                  replay.manifest = {args = [["state", "pointer", "f32"]]}} {
  %t = tile.load %state[%off] strides [96, 1] : !llvm.ptr<1> -> tensor<2x96xf32, #tile.layout<[w2:3], [w3:1, l32:1]>>
  tile.store %t, %state[%off] strides [96, 1] : tensor<2x96xf32, #tile.layout<[w2:3], [w3:1, l32:1]>>, !llvm.ptr<1>
  gpu.return
  }
}
