// RUN: replayssm-opt %s -split-input-file -replay-verify-layer -verify-diagnostics

// expected-error @below {{expected one replay.delta in a layer but got none}}
replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  replay.yield %S, %v : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  // expected-note @below {{the first one is here}}
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  // expected-error @below {{expected one replay.delta in a layer}}
  %S1b, %ob, %db = replay.delta chain(%S1, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  // expected-error @below {{is not supported in a layer; supported are gate, beta, l2norm, delta and elementwise arithmetic}}
  %S0 = replay.decay %S, %b : <8, 16, f32>, tensor<1x1xf32>
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  // expected-error @below {{expected the next state of replay.delta}}
  replay.yield %S, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %z = arith.constant true
  %S0 = arith.select %z, %S, %S : !replay.state<8, 16, f32>
  // expected-error @below {{expected the layer's state as the state of replay.delta}}
  %S1, %o, %d = replay.delta chain(%S0, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

// expected-error @below {{expected 'of' to name a replay.layer but got @nowhere}}
replay.kernel @unknown of @nowhere kind packed kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected an empty body: derive fills it from the layer}}
replay.kernel @filled of @layer kind packed kred <lanes = 4, vec = 4> {
  %c0 = arith.constant 0 : index
}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected the layer's shape #replay.shape<H = 2, HV = 4, K = 16, V = 8> but got #replay.shape<H = 4, HV = 4, K = 16, V = 8>}}
replay.kernel @shape of @layer kind packed shape <H = 4, HV = 4, K = 16, V = 8> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected the layer's null lt0 but got le0}}
replay.kernel @null of @layer kind packed null le0 kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error-re @below {{expected no ring for kind packed but got #replay.ring<4, {{.*}}>}}
replay.kernel @packed_ring of @layer kind packed ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring for kind replay}}
replay.kernel @ring of @layer kind replay kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring for kind cursors}}
replay.kernel @ring of @layer kind cursors kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring for kind verify}}
replay.kernel @ring of @layer kind verify kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected kred for kind packed: it fixes the order of sums over K}}
replay.kernel @kred of @layer kind packed {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a window length for kind verify}}
replay.kernel @window of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected no window length for kind replay but got 2}}
replay.kernel @window of @layer kind replay ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring that holds a window of 5 tokens but got one of 4}}
replay.kernel @window of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 of 5 flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected the window of its set, 3 tokens, for kind cursors but got 2}}
replay.kernel @window of @layer kind cursors ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 of 3 flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring that holds a window of 5 tokens but got one of 4}}
replay.kernel @window of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 5 flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'k'}}
replay.kernel @field of @layer kind replay ring <4, [<"d", f32, value, V>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'd' to be value, V but got key, V}}
replay.kernel @d_head of @layer kind replay ring <4, [<"d", f32, key, V>, <"k", f32, key, K>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'k' to be key, K but got key, V}}
replay.kernel @k_dim of @layer kind replay ring <4, [<"d", f32, value, V>, <"k", f32, key, V>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'g' to be value, one but got value, K}}
replay.kernel @g_dim of @layer kind replay ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x16xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x16xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x16xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'g' to be value, K but got value, one}}
replay.kernel @g_gate of @layer kind replay ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring fields d, k, g but got 'beta'}}
replay.kernel @extra of @layer kind replay ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"beta", f32, value, one>]> kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{needs 'flush' with kind verify}}
replay.kernel @request of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take 'flush' with kind packed}}
replay.kernel @request of @layer kind packed flush commit kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take 'track' with kind verify}}
replay.kernel @request of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 flush commit fold records track kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take 'track' with kind reset}}
replay.kernel @request of @layer kind reset ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 flush commit fold records track kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a circular ring for flush verify}}
replay.kernel @request of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 flush verify fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a linear ring for flush commit}}
replay.kernel @request of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>], circular> window 2 flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected a ring that holds two windows of 3 tokens but got one of 4}}
replay.kernel @request of @layer kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>], circular> window 3 flush verify fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'raw_v'}}
replay.kernel @request of @layer kind fold ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> flush commit fold replay kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring fields g, raw_v, raw_k, beta but got 'd'}}
replay.kernel @request of @layer kind fold ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"raw_v", f32, value, V>, <"raw_k", f32, key, K>, <"beta", f32, value, one>]> window 2 flush every_commit fold replay kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected ring field 'raw_k' to be 'f32' but got 'bf16'}}
replay.kernel @request of @layer kind fold ring <4, [<"g", f32, value, one>, <"raw_v", f32, value, V>, <"raw_k", bf16, key, K>, <"beta", f32, value, one>]> window 2 flush every_commit fold replay kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take flush verify with kind fold: its verify folds}}
replay.kernel @request of @layer kind fold ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>], circular> flush verify fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take flush every_commit with kind compact: its fold takes accept_idx}}
replay.kernel @request of @layer kind compact ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 mask tree flush every_commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take flush every_commit with kind reset: its cursors do not move}}
replay.kernel @request of @layer kind reset ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> flush every_commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{expected mask tree for kind compact but got chain}}
replay.kernel @request of @layer kind compact ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 2 mask chain flush commit fold records kred <lanes = 4, vec = 4> {}

// -----

replay.layer @layer <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xf32>, %k: tensor<1x16xf32>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %S1, %o, %d = replay.delta chain(%S, %q, %k, %v, %a, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, f32>, tensor<1x8xf32>
}
// expected-error @below {{does not take 'mask' with kind reset}}
replay.kernel @request of @layer kind reset ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> mask tree kred <lanes = 4, vec = 4> {}
