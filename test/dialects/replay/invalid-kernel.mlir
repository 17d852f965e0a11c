// RUN: replayssm-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected a kind beside 'of': packed, replay, cursors, verify, fold, compact, input_replay, snapshots or reset}}
replay.kernel @kernel_kind of @x {}

// -----

// expected-error @below {{expected 'of' beside kind}}
replay.kernel @kernel_of kind packed {}

// -----

// expected-error @below {{expected a window in 1..16 but got 0}}
replay.kernel @kernel_window of @x kind verify window 0 {}

// -----

// expected-error @below {{expected a window in 1..16 but got 17}}
replay.kernel @kernel_wide_window of @x kind verify window 17 {}

// -----

// expected-error @below {{expected a window in 1..16 but got 17}}
replay.kernel @kernel_wide_set of @x kind verify window 2 of 17 {}

// -----

// expected-error @below {{expected a window of at most 4 tokens, the most of its set, but got 5}}
replay.kernel @kernel_window_of_set of @x kind verify window 5 of 4 {}

// -----

// expected-error @below {{expected a window of at most 4 tokens, the most of its set, but got none}}
replay.kernel @kernel_window_of_set of @x kind verify of 4 {}

// -----

// expected-error @below {{expected a body, or 'of' and a kind to derive it from}}
replay.kernel @kernel_body {}

// -----

// expected-error @below {{expected a body of one block but got 2}}
replay.kernel @kernel_blocks shape <H = 2, HV = 4, K = 16, V = 8> null lt0 {
  %slot, %ring, %live = replay.row
^bb1:
  replay.set_cursor "wp" %ring, %slot
}

// -----

// expected-error @below {{expected a shape}}
replay.kernel @kernel_shape null lt0 {
  %c0 = arith.constant 0 : index
}

// -----

// expected-error @below {{expected null lt0 or null le0}}
replay.kernel @kernel_null shape <H = 2, HV = 4, K = 16, V = 8> {
  %c0 = arith.constant 0 : index
}

// -----

replay.kernel @kernel_row shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-note @below {{the first one is here}}
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected one replay.row in a kernel}}
  %slot1, %ring1, %live1 = replay.row
}

// -----

replay.kernel @kernel_kred shape <H = 2, HV = 4, K = 16, V = 8> null lt0  {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected kred on the kernel: it fixes the order of sums over K}}
  %r = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
}

// -----

// expected-error @below {{expected to be inside a replay.kernel}}
%slot, %ring, %live = replay.row

// -----

replay.kernel @shapeless of @x kind packed {
  // expected-error @below {{expected a replay.kernel with a shape around it}}
  %slot, %ring, %live = replay.row
}

// -----

replay.kernel @ringless shape <H = 2, HV = 4, K = 16, V = 8> null lt0  {
  %slot, %rslot, %live = replay.row
  // expected-error @below {{expected a replay.kernel with a ring around it}}
  replay.set_cursor "wp" %rslot, %slot
}

// -----

replay.kernel @cursor_ring shape <H = 2, HV = 4, K = 16, V = 8> null lt0  {
  %slot, %rslot, %live = replay.row
  // expected-error @below {{expected a replay.kernel with a ring around it}}
  %wp, %flush = replay.cursor %rslot wrap(4)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @cursor_length shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  // expected-error @below {{expected the ring's length 4 but got 8}}
  %wp, %flush = replay.cursor %rslot wrap(8)
}

// -----

replay.kernel @load_state_shape shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  // expected-error @below {{expected a state of 8x16 as in the kernel's shape but got 16x8}}
  %S = replay.load_state %slot : <16, 8, f32>
}

// -----

%c0 = arith.constant 0 : index
// expected-error @below {{expected to be inside a replay.kernel}}
%S = replay.load_state %c0 : <8, 16, f32>

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @load_ring_format shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  // expected-error-re @below {{expected records of the kernel's ring #replay.ring<4, {{.*}}> but got #replay.ring<2, {{.*}}>}}
  %R = replay.load_ring %rslot valid(%slot) : <<2, [<"d", f32, value, V>]>>
}

// -----

replay.kernel @load_token_q shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected q to be 1x16 but got 1x8}}
  %x = replay.load_token "q" : tensor<1x8xbf16>
}

// -----

replay.kernel @load_token_k shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected k to be 1x16 but got 2x16}}
  %x = replay.load_token "k" : tensor<2x16xbf16>
}

// -----

replay.kernel @load_token_v shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected v to be 1x8 but got 1x16}}
  %x = replay.load_token "v" : tensor<1x16xbf16>
}

// -----

replay.kernel @load_token_a shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected a to be 1x1 or 1x16 but got 1x8}}
  %x = replay.load_token "a" : tensor<1x8xbf16>
}

// -----

replay.kernel @load_token_b shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected b to be 1x1 but got 1x16}}
  %x = replay.load_token "b" : tensor<1x16xbf16>
}

// -----

replay.kernel @load_token_x shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected q, k, v, a or b but got 'x'}}
  %x = replay.load_token "x" : tensor<1x16xbf16>
}

// -----

replay.kernel @load_token_window shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected q to be 2x16 but got 1x16}}
  %x = replay.load_token "q" : tensor<1x16xbf16>
}

// -----

replay.kernel @load_param_A_log shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected A_log to be 1x1 but got 1x16}}
  %x = replay.load_param "A_log" : tensor<1x16xf32>
}

// -----

replay.kernel @load_param_dt_bias shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected dt_bias to be 1x1 or 1x16 but got 1x8}}
  %x = replay.load_param "dt_bias" : tensor<1x8xf32>
}

// -----

replay.kernel @load_param_x shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected A_log or dt_bias but got 'x'}}
  %x = replay.load_param "x" : tensor<1x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @append_count shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected one value for each of 3 fields but got 2}}
  replay.append %rslot, %slot ["d", "k", "g"] %y, %dt : tensor<1x8xf32>, tensor<1x16xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @append_field shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected a field of the kernel's ring but got 'x'}}
  replay.append %rslot, %slot ["d", "k", "x"] %y, %dt, %A : tensor<1x8xf32>, tensor<1x16xf32>, tensor<1x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @append_twice shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected each field once but got 'd' twice}}
  replay.append %rslot, %slot ["d", "d", "g"] %y, %y, %A : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @append_width shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected field 'k' to be 1x16 but got 1x8}}
  replay.append %rslot, %slot ["d", "k", "g"] %y, %y, %A : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @append_missing shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected every ring field but 'g' is missing}}
  replay.append %rslot, %slot ["d", "k"] %y, %dt : tensor<1x8xf32>, tensor<1x16xf32>
}

// -----

replay.kernel @append_ring shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected a replay.kernel with a ring around it}}
  replay.append %rslot, %slot ["d"] %y : tensor<1x8xf32>
}

// -----

replay.kernel @store_out_io shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected io dtype f32, bf16 or f16 but got 'i8'}}
  replay.store_out %y as i8 : tensor<1x8xf32>
}

// -----

replay.kernel @store_out_shape shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  // expected-error @below {{expected the output to be 1x8 but got 1x16}}
  replay.store_out %dt as bf16 : tensor<1x16xf32>
}

// -----

replay.kernel @window shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected a replay.kernel with a window around it}}
  %first, %length = replay.window
}

// -----

replay.kernel @load_row shape <H = 2, HV = 4, K = 16, V = 8> null lt0 {
  // expected-error @below {{expected accept_len, fold_len, force_flush, reset_mask, track_step, track_pos, track_idx or dst_idx but got 'wp'}}
  %n = replay.load_row "wp"
}

// -----

replay.kernel @store_row shape <H = 2, HV = 4, K = 16, V = 8> null lt0 {
  %n = replay.load_row "fold_len"
  // expected-error @below {{expected fold_len or track_pos but got 'accept_len'}}
  replay.store_row "accept_len", %n
}

// -----

replay.kernel @token_window shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %first, %length = replay.window
  // expected-error @below {{expected the first token and the length as a window but got 1 values}}
  %x = replay.load_token "q" window(%first) : tensor<2x16xbf16>
}

// -----

replay.kernel @load_slot shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected wp, base or is_flush but got 'fold_len'}}
  %n = replay.load_slot "fold_len" %ring
}

// -----

replay.kernel @load_slot_most shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected at most 4 but got 5}}
  %n = replay.load_slot "wp" %ring most(5)
}

// -----

replay.kernel @load_slot_least shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected at least 0 but got -1}}
  %n = replay.load_slot "base" %ring most(-1)
}

// -----

// expected-error @below {{expected to be inside a replay.kernel}}
replay.phase reads

// -----

replay.kernel @stage shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %a = replay.load_token "a" : tensor<1x1xf32>
  // expected-error @below {{expected 'tensor<1x1xf32>' or the same in f32 but got 'tensor<1x1xbf16>'}}
  %s = replay.stage %a : tensor<1x1xf32> -> tensor<1x1xbf16>
}

// -----

replay.kernel @column shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected accept_idx or parent but got 'fold_len'}}
  %n = replay.load_row "fold_len"[%slot]
}

// -----

replay.kernel @no_window shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected a replay.kernel with a window around it}}
  %m = replay.path_mask %slot
}

// -----

replay.kernel @snapshot shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected a replay.kernel with a window around it}}
  %S = replay.load_state %slot at(%ring) : <8, 16, f32>
}

// -----

replay.kernel @parents shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected the parents to be 2x1 but got 3x1}}
  %p = replay.load_parents rows(%slot) : tensor<3x1xi32>
}

// -----

replay.kernel @base shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected no base for a linear ring}}
  replay.move_record %ring, %slot to %slot base(%slot)
}

// -----

replay.kernel @no_base shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>], circular> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected a base for a circular ring}}
  %g = replay.load_record "g" %ring, %slot : tensor<1x1xf32>
}

// -----

replay.kernel @record_field shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected a field of the kernel's ring but got 'd'}}
  %g = replay.load_record "d" %ring, %slot : tensor<1x8xf32>
}

// -----

replay.kernel @record_dtype shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  // expected-error @below {{expected field 'g' to be 'f32' but got 'bf16'}}
  %g = replay.load_record "g" %ring, %slot : tensor<1x1xbf16>
}

// -----

replay.kernel @append_dtype shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %b = replay.load_token "b" : tensor<1x1xbf16>
  // expected-error @below {{expected field 'g' to be 'f32' but got 'bf16'}}
  replay.append %ring, %slot ["g"] %b : tensor<1x1xbf16>
}

// -----

// expected-error @below {{expected a ring beside 'mma': other kernels read one token at a time}}
replay.kernel @kernel_mma of @x kind packed kred <lanes = 8, vec = 4> mma<chunk = 32> {}
