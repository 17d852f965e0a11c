// Speculative decoding with Kimi Delta Attention, bit for bit the sequential recurrence.
//
// Three ways to a state that packed decode of the accepted tokens would have left:
// a snapshot behind every token, the stored inputs of the window run again, or a ring
// whose records hold the inputs and are run again when it is folded.

// A record: what one token adds to the state, and what it was made from.
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>,
                          <"raw_v", bf16, value, V>, <"raw_k", bf16, key, K>, <"beta", f32, value, one>]>

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

// Outputs and states of every token of a tree.
replay.kernel @kda_snapshots of @kda kind snapshots window 8 mask tree kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=snapshots,H=32,HV=32,K=128,V=128,T_max=8,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,window=tree"} {
}

// The accepted path from the inputs of the window.
replay.kernel @kda_input_replay of @kda kind input_replay window 8 mask tree kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=input_replay,H=32,HV=32,K=128,V=128,T_max=8,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,window=tree"} {
}

// Outputs on checkpoint and ring, and records with their inputs.
replay.kernel @kda_verify of @kda kind verify ring #ring window 4 flush commit fold replay kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=verify,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=replay"} {
}

// Runs the recurrence again over the records of full rings.
replay.kernel @kda_fold of @kda kind fold ring #ring flush commit fold replay kred <lanes = 8, vec = 4>
    attributes {spec = "rule=kda,phase=fold,H=32,HV=32,K=128,V=128,L=16,T_max=4,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0,flush_at=commit,fold=replay"} {
}
