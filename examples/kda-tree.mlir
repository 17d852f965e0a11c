// Speculative decoding with Kimi Delta Attention: trees of up to four tokens.
//
// Each token names its parent. The four kernels share a ring and run in this order;
// what is accepted is one path from a root.

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

// Outputs and records of every token, on checkpoint and ring and the path to it.
replay.kernel @kda_verify of @kda kind verify ring #ring window 4 mask tree flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=verify,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records,window=tree"} {
}

// The records of the accepted path come to stand one behind the other.
replay.kernel @kda_compact of @kda kind compact ring #ring window 4 mask tree flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=compact,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records,window=tree"} {
}

// Counts the accepted tokens, and says which rings are to be folded.
replay.kernel @kda_cursors of @kda kind cursors ring #ring window 4 mask tree flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=cursors,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records,window=tree"} {
}

// Folds the records of those rings into their states.
replay.kernel @kda_fold of @kda kind fold ring #ring mask tree flush commit fold records kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=fold,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=records,window=tree"} {
}
