// Speculative decoding with Gated DeltaNet: windows of a token and up to three drafts.
//
// The three kernels share a ring and run in this order; what a rejected draft
// left behind is overwritten by the next window.

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

// Outputs and records of a window, on checkpoint and ring.
replay.kernel @gdn_verify of @gdn kind verify ring #ring window 4 flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=verify,H=16,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records"} {
}

// Counts the accepted tokens, and says which rings are to be folded before the
// next window; once per forward, behind the last layer.
replay.kernel @gdn_cursors of @gdn kind cursors ring #ring window 4 flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=cursors,H=16,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records"} {
}

// Folds the records of those rings into their states.
replay.kernel @gdn_fold of @gdn kind fold ring #ring flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=fold,H=16,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records"} {
}
