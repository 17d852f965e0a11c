// Kimi Delta Attention as in Kimi-Linear: 32 heads, 128 x 128 states.
//
// The recurrence of gdn.mlir with one decay per key channel: g, a and dt_bias are
// vectors over K, and S (alpha .* k) scales the columns of S.

// A record of the ring: what one token adds to the state, and its decay.
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>

replay.layer @kda <H = 32, HV = 32, K = 128, V = 128> null lt0 {
^bb0(%S: !replay.state<128, 128, f32>,
     %q: tensor<1x128xbf16>, %k: tensor<1x128xbf16>, %v: tensor<1x128xbf16>,
     %a: tensor<1x128xbf16>, %b: tensor<1x1xbf16>,
     %A_log: tensor<1x1xf32>, %dt_bias: tensor<1x128xf32>):
  %g = replay.gate softplus(%a, %A_log, %dt_bias)
      : (tensor<1x128xbf16>, tensor<1x1xf32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  // The scale of q is K^-0.5.
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6 : f64, scale = 0.08838834764831845 : f64}
      : (tensor<1x128xbf16>) -> tensor<1x128xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6 : f64}
      : (tensor<1x128xbf16>) -> tensor<1x128xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<128, 128, f32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xbf16>,
         tensor<1x128xf32>, tensor<1x1xf32>)
      -> (!replay.state<128, 128, f32>, tensor<1x128xf32>, tensor<1x128xf32>)
  replay.yield %S1, %o : !replay.state<128, 128, f32>, tensor<1x128xf32>
}

// Reads and writes the whole state for every token.
replay.kernel @kda_packed of @kda kind packed kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=packed,H=32,HV=32,K=128,V=128,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}

// Reads the state, appends a record, and folds the ring into the state when it is full.
replay.kernel @kda_replay of @kda kind replay ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=replay,H=32,HV=32,K=128,V=128,L=16,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}

// Advances the cursors of every ring, once per forward, behind the last layer.
replay.kernel @kda_cursors of @kda kind cursors ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=cursors,H=32,HV=32,K=128,V=128,L=16,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}
