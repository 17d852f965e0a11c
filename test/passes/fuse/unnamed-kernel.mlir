// A kernel that no layer has (three reads, one more record field, no flush) passes fuse like
// derived ones.
// RUN: replayssm-opt %s -replay-verify-layer -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -replay-merge-reads -replay-hoist-loads -replay-erase-kind | FileCheck %s

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"beta", f32, value, one>]>

// CHECK-LABEL: replay.kernel @unnamed shape
// CHECK-NEXT: replay.row
// CHECK-NEXT: %[[WP:.*]], %{{.*}} = replay.cursor %[[RING:.*]] wrap(4)
// CHECK: replay.load_state
// CHECK-NEXT: replay.load_ring
// CHECK: replay.ring_read {{.*}} -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK: replay.read {{.*}} -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK: replay.append %[[RING]], %[[WP]] ["d", "k", "g", "beta"]
// CHECK-NOT: scf.if
replay.kernel @unnamed shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %S0 = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %S = replay.replay %S0, %R : <8, 16, f32>, <#ring>
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %k = replay.load_token "k" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %b = replay.load_token "b" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x1xf32>
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %qf = arith.extf %q : tensor<1x16xbf16> to tensor<1x16xf32>
  %kf = arith.extf %k : tensor<1x16xbf16> to tensor<1x16xf32>
  %qk = arith.mulf %qf, %kf : tensor<1x16xf32>
  %y0 = replay.read %S, %qf : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %y1 = replay.read %S, %kf : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %y2 = replay.read %S, %qk : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %s = arith.addf %y0, %y2 : tensor<1x8xf32>
  replay.store_out %s as bf16 : tensor<1x8xf32>
  replay.append %ring, %wp ["d", "k", "g", "beta"] %y1, %kf, %g, %beta : tensor<1x8xf32>, tensor<1x16xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
