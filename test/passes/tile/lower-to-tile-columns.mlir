// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// A number for each token keeps its dtype in shared memory. Bits have none there: they
// are made row by row. So are constants.
// CHECK-LABEL: gpu.func @masks
// CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<2x1xf32>
// CHECK: %[[B:.*]] = tile.load {{.*}} -> tensor<2x1xbf16>
// What is loaded is stored behind every load.
// CHECK: scf.if
// CHECK: %[[MA:.*]] = tile.alloc : <2, 1, f32>
// CHECK: tile.store %[[A]], %[[MA]]
// CHECK: %[[MB:.*]] = tile.alloc : <2, 1, bf16>
// CHECK: tile.store %[[B]], %[[MB]]
// CHECK: %[[B0:.*]] = tile.load %[[MB]]{{.*}} -> tensor<1x1xbf16>
// CHECK: arith.negf %[[B0]] : tensor<1x1xbf16>
// CHECK: %[[A0:.*]] = tile.load %[[MA]]{{.*}} -> tensor<1x1xf32>
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[A0]], %{{.*}} : tensor<1x1xf32>
// CHECK: %[[MASK:.*]] = tile.broadcast %[[BELOW]] : tensor<1x1xi1> -> tensor<1x32xi1>
// CHECK: arith.select %[[MASK]], {{.*}} : tensor<1x32xi1>, tensor<1x32xf32>
// CHECK-NOT: tensor<2x1xi1>
replay.kernel @masks shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  %a = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  %b = replay.load_token "b" window(%first, %length) : tensor<2x1xbf16>
  %two = arith.constant dense<2.0> : tensor<2x1xf32>
  %isBelow = arith.cmpf olt, %a, %two : tensor<2x1xf32>
  %mask = tile.broadcast %isBelow : tensor<2x1xi1> -> tensor<2x32xi1>
  %bs = tile.broadcast %b : tensor<2x1xbf16> -> tensor<2x32xbf16>
  %minus = arith.negf %bs : tensor<2x32xbf16>
  %other = arith.extf %minus : tensor<2x32xbf16> to tensor<2x32xf32>
  %o = arith.select %mask, %v, %other : tensor<2x32xi1>, tensor<2x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<2x32xf32>
}

// -----

// What is computed of 16-bit tokens is rounded as theirs is.
// CHECK-LABEL: gpu.func @narrow_tokens
// CHECK: %[[Q:.*]] = tile.load {{.*}} : !tile.smem<2, 32, f32> -> tensor<1x32xf32>
// CHECK: %[[QN:.*]] = arith.truncf %[[Q]] : tensor<1x32xf32> to tensor<1x32xbf16>
// CHECK: %[[K:.*]] = tile.load {{.*}} : !tile.smem<2, 32, f32> -> tensor<1x32xf32>
// CHECK: %[[KN:.*]] = arith.truncf %[[K]] : tensor<1x32xf32> to tensor<1x32xbf16>
// CHECK: %[[QK:.*]] = arith.mulf %[[QN]], %[[KN]] : tensor<1x32xbf16>
// CHECK: %[[X:.*]] = arith.extf %[[QK]]
// CHECK: tile.store %[[X]], %{{.*}} : tensor<1x32xf32>, !tile.smem<2, 32, f32>
replay.kernel @narrow_tokens shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<2x32xbf16>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xbf16>
  %S = replay.load_state %slot : <32, 32, f32>
  %qk = arith.mulf %q, %k : tensor<2x32xbf16>
  %x = arith.extf %qk : tensor<2x32xbf16> to tensor<2x32xf32>
  %y = replay.read %S, %x : (!replay.state<32, 32, f32>, tensor<2x32xf32>) -> tensor<2x32xf32>
  replay.store_out %y as f32 window(%first, %length) : tensor<2x32xf32>
}
