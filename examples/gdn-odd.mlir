// Gated DeltaNet in odd shapes: K = 96, V = 80, three value heads per key head, a
// ring of 11 records, and null rows at index 0 as well.

// A record of the ring: what one token adds to the state, and its decay.
#ring = #replay.ring<11, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

replay.layer @gdn <H = 2, HV = 6, K = 96, V = 80> null le0 {
^bb0(%S: !replay.state<80, 96, f32>,
     %q: tensor<1x96xbf16>, %k: tensor<1x96xbf16>, %v: tensor<1x80xbf16>,
     %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>,
     %A_log: tensor<1x1xf32>, %dt_bias: tensor<1x1xf32>):
  %g = replay.gate softplus(%a, %A_log, %dt_bias)
      : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  // The scale of q is K^-0.5.
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6 : f64, scale = 0.10206207261596575 : f64}
      : (tensor<1x96xbf16>) -> tensor<1x96xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6 : f64}
      : (tensor<1x96xbf16>) -> tensor<1x96xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<80, 96, f32>, tensor<1x96xf32>, tensor<1x96xf32>, tensor<1x80xbf16>,
         tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<80, 96, f32>, tensor<1x80xf32>, tensor<1x80xf32>)
  replay.yield %S1, %o : !replay.state<80, 96, f32>, tensor<1x80xf32>
}

// Reads and writes the whole state for every token.
replay.kernel @gdn_packed of @gdn kind packed kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=packed,H=2,HV=6,K=96,V=80,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=le0"} {
}

// Reads the state, appends a record, and folds the ring into the state when it is full.
replay.kernel @gdn_replay of @gdn kind replay ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=replay,H=2,HV=6,K=96,V=80,L=11,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=le0"} {
}

// Advances the cursors of every ring, once per forward, behind the last layer.
replay.kernel @gdn_cursors of @gdn kind cursors ring #ring kred <lanes = 8, vec = 4>
    attributes {spec = "rule=gdn,phase=cursors,H=2,HV=6,K=96,V=80,L=11,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=le0"} {
}
