// RUN: replayssm-opt %s -replay-verify-layer -replay-derive-kernels | FileCheck %s

// Elementwise arithmetic of a layer runs on every token of a window; what has one row is repeated.
// CHECK-LABEL: replay.kernel @window of @layer
// CHECK: %[[A:.*]] = replay.load_param "A_log" : tensor<1x1xf32>
// CHECK: %[[BETA:.*]] = replay.beta {{.*}} -> tensor<2x1xf32>
// CHECK: %[[ROWS:.*]] = tile.broadcast %[[A]] : tensor<1x1xf32> -> tensor<2x1xf32>
// CHECK: %[[HALF:.*]] = arith.mulf %[[BETA]], %[[ROWS]] : tensor<2x1xf32>
// CHECK: replay.delta chain({{.*}}, %[[HALF]])
replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %half = arith.mulf %beta, %A : tensor<1x1xf32>
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %half)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
replay.kernel @window of @layer kind verify
    ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 flush commit fold records
    kred <lanes = 4, vec = 4> {}
