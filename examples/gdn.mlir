// Gated DeltaNet as in Qwen3.5: 16 key heads, 32 value heads, 128 x 128 states.
//
// The layer states the recurrence of one value head and one token:
//   d = beta (v - S (alpha k));  o = S (alpha q) + d (k.q);  S <- alpha S + d k^T
// with alpha = exp(g). Each request below names one kernel to derive from it.

// A record of the ring: what one token adds to the state, and its decay.
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

replay.layer @gdn <H = 16, HV = 32, K = 128, V = 128> null lt0 {
^bb0(%S: !replay.state<128, 128, f32>,
     %q: tensor<1x128xbf16>, %k: tensor<1x128xbf16>, %v: tensor<1x128xbf16>,
     %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>,
     %A_log: tensor<1x1xf32>, %dt_bias: tensor<1x1xf32>):
  %g = replay.gate softplus(%a, %A_log, %dt_bias)
      : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  // The scale of q is K^-0.5.
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6 : f64, scale = 0.08838834764831845 : f64}
      : (tensor<1x128xbf16>) -> tensor<1x128xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6 : f64}
      : (tensor<1x128xbf16>) -> tensor<1x128xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<128, 128, f32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xbf16>,
         tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<128, 128, f32>, tensor<1x128xf32>, tensor<1x128xf32>)
  replay.yield %S1, %o : !replay.state<128, 128, f32>, tensor<1x128xf32>
}

// Reads and writes the whole state for every token.
replay.kernel @gdn_packed of @gdn kind packed kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=packed,H=16,HV=32,K=128,V=128,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}

// Reads the state, appends a record, and folds the ring into the state when it is full.
replay.kernel @gdn_replay of @gdn kind replay ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=replay,H=16,HV=32,K=128,V=128,L=16,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}

// Advances the cursors of every ring, once per forward, behind the last layer.
replay.kernel @gdn_cursors of @gdn kind cursors ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=cursors,H=16,HV=32,K=128,V=128,L=16,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"} {
}
