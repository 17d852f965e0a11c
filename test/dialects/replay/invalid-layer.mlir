// RUN: replayssm-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected 8 block arguments (state, q, k, v, a, b, A_log, dt_bias) but got 2}}
replay.layer @layer_arguments <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %y: tensor<1x8xf32>):
  replay.yield %S, %y : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

// expected-error @below {{expected argument 'state' to be !replay.state<8, 16, ...> but got '!replay.state<16, 16, f32>'}}
replay.layer @layer_state <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<16, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %y = replay.read %S, %q : (!replay.state<16, 16, f32>, tensor<1x16xbf16>) -> tensor<1x16xf32>
  replay.yield %S, %y : !replay.state<16, 16, f32>, tensor<1x16xf32>
}

// -----

// expected-error @below {{expected argument 'q' to be a tensor of f32, bf16 or f16 but got 'tensor<1x16xi8>'}}
replay.layer @layer_q <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xi8>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  replay.yield %S, %dt : !replay.state<8, 16, f32>, tensor<1x1xf32>
}

// -----

// expected-error @below {{expected argument 'v' to be 'tensor<1x8xbf16>' but got 'tensor<1x8xf32>'}}
replay.layer @layer_v <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xf32>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  replay.yield %S, %v : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

// expected-error @below {{expected argument 'dt_bias' to be 'tensor<1x16xf32>' but got 'tensor<1x1xf32>'}}
replay.layer @layer_dt_bias <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x16xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  replay.yield %S, %y : !replay.state<8, 16, f32>, tensor<1x8xf32>
}

// -----

// expected-error @below {{expected the body to end with replay.yield}}
replay.layer @layer_terminator <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %be = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

replay.layer @yield_state <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  %T = builtin.unrealized_conversion_cast %S : !replay.state<8, 16, f32> to !replay.state<8, 16, bf16>
  // expected-error @below {{expected the next state to be '!replay.state<8, 16, f32>' but got '!replay.state<8, 16, bf16>'}}
  replay.yield %T, %y : !replay.state<8, 16, bf16>, tensor<1x8xf32>
}

// -----

replay.layer @yield_output <H = 2, HV = 4, K = 16, V = 8> null lt0 {
^bb0(%S: !replay.state<8, 16, f32>, %q: tensor<1x16xbf16>, %k: tensor<1x16xbf16>,
     %v: tensor<1x8xbf16>, %a: tensor<1x1xbf16>, %b: tensor<1x1xbf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  // expected-error @below {{expected output to be 1x8 but got 1x1}}
  replay.yield %S, %dt : !replay.state<8, 16, f32>, tensor<1x1xf32>
}

// -----

replay.kernel @gate_a_log shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  // expected-error @below {{expected A_log to be 1x1 but got 1x16}}
  %g = replay.gate softplus(%b, %dt, %A) : (tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_dt_bias shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  // expected-error @below {{expected dt_bias to be 1x1 but got 1x16}}
  %g = replay.gate softplus(%b, %A, %dt) : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x16xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected the result to be 1x1 but got 1x16}}
  %g = replay.gate softplus(%b, %A, %A) : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x16xf32>
}

// -----

replay.kernel @beta_b shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %v = replay.load_token "v" : tensor<1x8xbf16>
  // expected-error @below {{expected b to be 1x1 but got 1x8}}
  %be = replay.beta sigmoid_f32(%v) : (tensor<1x8xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @beta_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %b = replay.load_token "b" : tensor<1x1xf32>
  // expected-error @below {{expected the result to be 1x1 but got 1x2}}
  %be = replay.beta sigmoid_f32(%b) : (tensor<1x1xf32>) -> tensor<1x2xf32>
}

// -----

replay.kernel @l2norm_eps shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'eps' to be above 0 but got '0'}}
  %n = replay.l2norm l2_rsqrt(%q) {eps = 0.0} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
}

// -----

replay.kernel @l2norm_scale shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'scale' to be above 0 but got '-1'}}
  %n = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6, scale = -1.0} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
}

// -----

replay.kernel @l2norm_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected the result to be 1x16 but got 1x8}}
  %n = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x8xf32>
}

// -----

replay.kernel @rnorm_eps shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'eps' to be above 0 but got '0'}}
  %n = replay.rnorm l2_rsqrt(%q) {eps = 0.0} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @rnorm_scale shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'scale' to be above 0 but got '-1'}}
  %n = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6, scale = -1.0} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @rnorm_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected the result to be 1x1 but got 1x8}}
  %n = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x8xf32>
}

// -----

replay.kernel @delta_q shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected q to be 1x16 but got 1x1}}
  %n, %o, %d = replay.delta chain(%S, %A, %dt, %v, %A, %b)
      : (!replay.state<8, 16, f32>, tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_k shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected k to be 1x16 but got 1x1}}
  %n, %o, %d = replay.delta chain(%S, %dt, %A, %v, %A, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x1xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_v shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected v to be 1x8 but got 1x16}}
  %n, %o, %d = replay.delta chain(%S, %dt, %dt, %q, %A, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_g shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected g to be 1x1 or 1x16 but got 1x8}}
  %n, %o, %d = replay.delta chain(%S, %dt, %dt, %v, %y, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x8xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_beta shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected beta to be 1x1 but got 1x8}}
  %n, %o, %d = replay.delta chain(%S, %dt, %dt, %v, %A, %y)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x8xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_o shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected o to be 1x8 but got 2x8}}
  %n, %o, %d = replay.delta chain(%S, %dt, %dt, %v, %A, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<2x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @delta_d shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected d to be 1x8 but got 1x4}}
  %n, %o, %d = replay.delta chain(%S, %dt, %dt, %v, %A, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x4xf32>)
}

// -----

replay.kernel @gate_operands shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 3 operands of gate safe but got 1}}
  %g = replay.gate safe(%a) {lower_bound = -5.0 : f64} : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_precomputed_operands shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 1 operands of gate precomputed but got 3}}
  %g = replay.gate precomputed(%A, %A, %A) : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_no_bound shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected lower_bound of gate safe}}
  %g = replay.gate safe(%a, %A, %A) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected no lower_bound of gate softplus}}
  %g = replay.gate softplus(%a, %A, %A) {lower_bound = -5.0 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound_sign shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 'lower_bound' to be below 0 but got '0'}}
  %g = replay.gate safe(%a, %A, %A) {lower_bound = 0.0 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_precomputed_type shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected a precomputed gate in f32 but got 'bf16'}}
  %g = replay.gate precomputed(%a) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @beta_precomputed_type shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected a precomputed beta in f32 but got 'bf16'}}
  %be = replay.beta precomputed(%a) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @beta_factor shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected factor 1 or 2 but got 3}}
  %be = replay.beta sigmoid_io(%a) {factor = 3 : i64} : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @l2norm_eps_f32 shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'eps' to be a normal number in f32 but got '1e-60'}}
  %n = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-60} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
}

// -----

replay.kernel @l2norm_scale_f32 shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'scale' to be a normal number in f32 but got '1e+300'}}
  %n = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6, scale = 1.0e300} : (tensor<1x16xbf16>) -> tensor<1x16xf32>
}

// -----

replay.kernel @rnorm_eps_f32 shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'eps' to be finite but got 'inf'}}
  %n = replay.rnorm l2_rsqrt(%q) {eps = 0x7FF0000000000000 : f64} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @rnorm_scale_f32 shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected 'scale' to be a normal number in f32 but got '3.4028236e+38'}}
  %n = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6, scale = 3.4028236e38} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound_infinite shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 'lower_bound' to be finite but got '-inf'}}
  %g = replay.gate safe(%a, %A, %A) {lower_bound = 0xFFF0000000000000 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound_nan shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 'lower_bound' to be finite but got 'nan'}}
  %g = replay.gate safe(%a, %A, %A) {lower_bound = 0x7FF8000000000000 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound_large shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 'lower_bound' to be a normal number in f32 but got '-1e+39'}}
  %g = replay.gate safe(%a, %A, %A) {lower_bound = -1.0e39 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @gate_bound_small shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  // expected-error @below {{expected 'lower_bound' to be a normal number in f32 but got '-1e-39'}}
  %g = replay.gate safe(%a, %A, %A) {lower_bound = -1.0e-39 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @beta_factor_sign shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "b" : tensor<1x1xbf16>
  // expected-error @below {{expected factor 1 or 2 but got -1}}
  %be = replay.beta sigmoid_io(%a) {factor = -1 : i64} : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}
