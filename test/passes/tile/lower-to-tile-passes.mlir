// RUN: replayssm-opt %s -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// Keys come in passes of bc records: the second begins bc K elements behind the first.
// CHECK-LABEL: gpu.func @passes
// CHECK: tile.load {{.*}} -> tensor<8x8xf32>
// CHECK: %[[C:.*]] = arith.constant 64 : i64
// CHECK-NEXT: %[[AT:.*]] = arith.addi %{{.*}}, %[[C]] : i64
// CHECK: tile.load %{{.*}}[%[[AT]]] {{.*}} -> tensor<8x8xf32>
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @passes shape <H = 1, HV = 1, K = 8, V = 16> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x8xf32>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<16x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<16x1xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
  replay.store_out %y as f32 : tensor<1x16xf32>
}
