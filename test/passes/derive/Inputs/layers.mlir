// GDN and KDA layers with a request of every kind, for tests of whole derivations.
#gdn = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
#kda = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
#gdn1 = #replay.ring<1, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
#kda1 = #replay.ring<1, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>

replay.layer @gdn <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6, scale = 0.25} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

replay.kernel @packed_gdn of @gdn kind packed kred <lanes = 4, vec = 4> {}
replay.kernel @replay_gdn of @gdn kind replay ring #gdn kred <lanes = 4, vec = 4> {}
replay.kernel @replay1_gdn of @gdn kind replay ring #gdn1 kred <lanes = 4, vec = 4> {}
replay.kernel @cursors_gdn of @gdn kind cursors ring #gdn {}
replay.kernel @verify1_gdn of @gdn kind verify ring #gdn window 1 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify1of2_gdn of @gdn kind verify ring #gdn window 1 of 2 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify2_gdn of @gdn kind verify ring #gdn window 2 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify3_gdn of @gdn kind verify ring #gdn window 3 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @fold_gdn of @gdn kind fold ring #gdn flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @commit_gdn of @gdn kind cursors ring #gdn window 2 flush commit fold records {}

replay.layer @kda <H = 4, HV = 4, K = 16, V = 8> null le0 {
^bb0(%S: !replay.state<8, 16, bf16>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x16xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x16xf32>):
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x16xbf16>, tensor<1x1xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6, scale = 0.25} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<8, 16, bf16>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x16xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, bf16>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, bf16>, tensor<1x8xf32>
}

replay.kernel @packed_kda of @kda kind packed kred <lanes = 4, vec = 4> {}
replay.kernel @replay_kda of @kda kind replay ring #kda kred <lanes = 4, vec = 4> {}
replay.kernel @replay1_kda of @kda kind replay ring #kda1 kred <lanes = 4, vec = 4> {}
replay.kernel @cursors_kda of @kda kind cursors ring #kda {}
replay.kernel @verify1_kda of @kda kind verify ring #kda window 1 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify1of2_kda of @kda kind verify ring #kda window 1 of 2 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify2_kda of @kda kind verify ring #kda window 2 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @verify3_kda of @kda kind verify ring #kda window 3 flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @fold_kda of @kda kind fold ring #kda flush commit fold records kred <lanes = 4, vec = 4> {}
replay.kernel @commit_kda of @kda kind cursors ring #kda window 2 flush commit fold records {}
