// RUN: replayssm-opt %s -split-input-file -replay-derive-kernels -verify-diagnostics

// expected-error @below {{expected 'of' to name a replay.layer but got @nowhere}}
replay.kernel @unknown of @nowhere kind packed kred <lanes = 4, vec = 4> {}

// -----

// A field that no layer computes, also where the pass that checks layers has not run.
replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>,
     %A_log: tensor<1x1xf32>, %dt_bias: tensor<1x1xf32>):
  %g = replay.gate softplus(%a, %A_log, %dt_bias) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring fields d, k, g but got 'w'}}
replay.kernel @field of @layer kind replay
    ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"w", f32, value, V>]>
    kred <lanes = 8, vec = 4> {}

// -----

// What replay-verify-layer refuses is refused here too, where that has not been run.
// expected-error @below {{expected one replay.delta in a layer but got none}}
replay.layer @no_delta <H = 1, HV = 1, K = 8, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 8, f32>, %q: tensor<1x8xf32>, %k: tensor<1x8xf32>, %v: tensor<1x8xf32>, %a: tensor<1x1xf32>,
     %b: tensor<1x1xf32>, %A: tensor<1x1xf32>, %dt: tensor<1x1xf32>):
  replay.yield %S, %v : !replay.state<8, 8, f32>, tensor<1x8xf32>
}
replay.kernel @packed of @no_delta kind packed kred <lanes = 8, vec = 1> {}
