// RUN: replayssm-opt %s -split-input-file -verify-diagnostics

replay.kernel @decay_g shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected g to be 1x1 or 1x16 but got 1x8}}
  %D = replay.decay %S, %y : <8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.kernel @rank1_d shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected d to be 1x8 but got 1x16}}
  %D = replay.rank1 %S, %dt, %dt : <8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>
}

// -----

replay.kernel @rank1_k shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected k to be 1x16 but got 1x8}}
  %D = replay.rank1 %S, %y, %y : <8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>
}

// -----

replay.kernel @read_none shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected at least one operand to read with}}
  "replay.read"(%S) : (!replay.state<8, 16, f32>) -> ()
}

// -----

replay.kernel @read_results shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected one result per operand but got 1 operands and 2 results}}
  %y:2 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @read_operand shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected the operand to be 1x16 but got 1x8}}
  %y = replay.read %S, %v : (!replay.state<8, 16, f32>, tensor<1x8xbf16>) -> tensor<1x8xf32>
}

// -----

replay.kernel @read_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected the result to be 1x8 but got 1x16}}
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x16xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_weights_w shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected w to be 4x1 but got 4x16}}
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x16xf32>, tensor<1x16xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_weights_tot shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected tot to be 1x1 but got 1x16}}
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x16xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_w shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected w to be 4x1 but got 1x16}}
  %y = replay.ring_read %R, %dt, %q : (!replay.records<#ring>, tensor<1x16xf32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_operand shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected the operand to be 1x16 but got 1x8}}
  %y = replay.ring_read %R, %w, %v : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x8xbf16>) -> tensor<1x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>]>
replay.kernel @replay_fields shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %S = replay.load_state %slot : <8, 16, f32>
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected ring field 'g'}}
  %X = replay.replay %S, %R : <8, 16, f32>, <#ring>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>]>
replay.kernel @ring_weights_fields shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected ring field 'g'}}
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>]>
replay.kernel @ring_read_fields shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %wp, %flush = replay.cursor %rslot wrap(4)
  %R = replay.load_ring %rslot valid(%wp) : <#ring>
  // expected-error @below {{expected ring field 'g'}}
  %y = replay.ring_read %R, %A, %q : (!replay.records<#ring>, tensor<1x1xf32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
}

// -----

replay.kernel @scores_y shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  // expected-error @below {{expected y to be 1x16 but got 1x8}}
  %P = replay.scores %q with %v : (tensor<1x16xbf16>, tensor<1x8xbf16>) -> tensor<1x1xf32>
}

// -----

replay.kernel @scores_g shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected g to be 1x1 or 1x16 but got 1x8}}
  %P = replay.scores %q with %q gated %y : (tensor<1x16xbf16>, tensor<1x16xbf16>, tensor<1x8xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @scores_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<1x16xbf16>
  // expected-error @below {{expected the result to be 1x1 but got 1x2}}
  %P = replay.scores %q with %q : (tensor<1x16xbf16>, tensor<1x16xbf16>) -> tensor<1x2xf32>
}

// -----

replay.kernel @apply_scores_delta shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected the delta to be 16x8 but got 1x8}}
  %o = replay.apply_scores %dt, %y : (tensor<1x16xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
}

// -----

replay.kernel @apply_scores_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected the result to be 1x8 but got 2x8}}
  %o = replay.apply_scores %b, %y : (tensor<1x1xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
}

// -----

replay.kernel @ut_solve_scores shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected the scores to be 1x1 but got 1x16}}
  %D = replay.ut_solve %dt, %y, %v, %b : (tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x8xbf16>, tensor<1x1xf32>) -> tensor<1x8xf32>
}

// -----

replay.kernel @ut_solve_v shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected v to be 1x8 but got 1x16}}
  %D = replay.ut_solve %b, %y, %q, %b : (tensor<1x1xf32>, tensor<1x8xf32>, tensor<1x16xbf16>, tensor<1x1xf32>) -> tensor<1x8xf32>
}

// -----

replay.kernel @ut_solve_beta shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected beta to be 1x1 but got 1x8}}
  %D = replay.ut_solve %b, %y, %v, %y : (tensor<1x1xf32>, tensor<1x8xf32>, tensor<1x8xbf16>, tensor<1x8xf32>) -> tensor<1x8xf32>
}

// -----

replay.kernel @ut_solve_result shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  // expected-error @below {{expected the result to be 1x8 but got 2x8}}
  %D = replay.ut_solve %b, %y, %v, %b : (tensor<1x1xf32>, tensor<1x8xf32>, tensor<1x8xbf16>, tensor<1x1xf32>) -> tensor<2x8xf32>
}

// -----

replay.kernel @plain_tree shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<2x16xbf16>
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  // expected-error @below {{expected gates beside parents}}
  %P = replay.scores %k with %k tree %p : (tensor<2x16xbf16>, tensor<2x16xbf16>, tensor<2x1xi32>) -> tensor<2x2xf32>
}

// -----

replay.kernel @tree_of_one shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 1 kred <lanes = 4, vec = 4> {
  %slot, %rslot, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %v = replay.load_token "v" : tensor<1x8xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected parents for a tree and none for a chain}}
  %S1, %o, %d = replay.delta tree(%S, %q, %q, %v, %b, %b)
      : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xbf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, f32>, tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @field_name shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  // expected-error @below {{expected a field of the kernel's ring but got 'beta'}}
  %g = replay.load_field "beta" %R : (!replay.records<#ring>) -> tensor<4x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @field_rows shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  // expected-error @below {{expected field 'g' to be 4x1 but got 1x1}}
  %g = replay.load_field "g" %R : (!replay.records<#ring>) -> tensor<1x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_results shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected a result for each operand, and one for what is staged at most, but got 1 operands and 3 results}}
  %y:3 = replay.ring_read %R, %w, %q of %k, %d : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xbf16>, tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<1x8xf32>, !replay.records<#ring>, !replay.records<#ring>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_order shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected a matrix for each operand but got '!replay.records}}
  %y:2 = replay.ring_read %R, %w, %q of %k, %d : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xbf16>, tensor<4x16xf32>, tensor<4x8xf32>) -> (!replay.records<#ring>, tensor<1x8xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_when shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %isNone = arith.cmpi eq, %wp, %wp : index
  // expected-error @below {{expected staged records beside a condition}}
  %y = replay.ring_read %R, %w, %q of %k, %d when %isNone : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xbf16>, tensor<4x16xf32>, tensor<4x8xf32>, i1) -> tensor<1x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_unloaded shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected the fields of the records beside what is staged of them}}
  %y:2 = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xbf16>) -> (tensor<1x8xf32>, !replay.records<#ring>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @ring_read_staged shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected to stage '!replay.records<}}
  %y:2 = replay.ring_read %R, %w, %q of %k, %d : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xbf16>, tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @stage_records_k shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected k to be 4x16 but got 4x8}}
  %s = replay.stage_records %R, %w, %d, %d : <#ring>, tensor<4x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @weights_g shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected g to be 4x1 but got 4x8}}
  %w2, %tot2 = replay.ring_weights %R of %d : (!replay.records<#ring>, tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @replay_tot shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x16xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %S = replay.load_state %slot : <8, 16, f32>
  // expected-error @below {{expected tot to be 1x1 but got 4x1}}
  %F = replay.replay %S, %R decayed(%w : tensor<4x1xf32>) : <8, 16, f32>, <#ring>
}

// -----

replay.kernel @scale_factor shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <8, 16, f32>
  %v = replay.load_token "v" : tensor<1x8xf32>
  // expected-error @below {{expected the factor to be 1x1 or 1x16 but got 1x8}}
  %D = replay.scale %S, %v : <8, 16, f32>, tensor<1x8xf32>
}

// -----

replay.kernel @fetch_loaded shape <H = 2, HV = 4, K = 16, V = 8> null lt0 {
  %q = replay.load_token "q" : tensor<1x16xf32>
  // expected-error @below {{expected a row that replay.stage has put into shared memory}}
  %x = replay.fetch %q : tensor<1x16xf32>
}

// -----

replay.kernel @fetch_rows shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 {
  %q = replay.load_token "q" : tensor<2x16xf32>
  %s = replay.stage %q : tensor<2x16xf32> -> tensor<2x16xf32>
  // expected-error @below {{expected the row to be 1x16 but got 2x16}}
  %x = replay.fetch %s : tensor<2x16xf32>
}

// -----

replay.kernel @decays_of_one shape <H = 2, HV = 4, K = 16, V = 8> null lt0 {
  %g = replay.load_token "a" : tensor<1x16xf32>
  // expected-error @below {{expected gates of two tokens at least but got 1}}
  %d = replay.token_decays %g : tensor<1x16xf32> -> tensor<1x16xf32>
}

// -----

replay.kernel @decays_rows shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 3 {
  %g = replay.load_token "a" : tensor<3x1xf32>
  // expected-error @below {{expected the decays to be 6x1 but got 3x1}}
  %d = replay.token_decays %g : tensor<3x1xf32> -> tensor<3x1xf32>
}

// -----

replay.kernel @scores_decays shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 3 kred <lanes = 4, vec = 4> {
  %k = replay.load_token "k" : tensor<3x16xf32>
  %g = replay.load_token "a" : tensor<3x1xf32>
  // expected-error @below {{expected the decays to be 6x1 or 6x16 but got 3x1}}
  %P = replay.scores %k with %k decayed %g : (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
}

// -----

replay.kernel @scores_both shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 3 kred <lanes = 4, vec = 4> {
  %k = replay.load_token "k" : tensor<3x16xf32>
  %g = replay.load_token "a" : tensor<3x1xf32>
  %d = replay.token_decays %g : tensor<3x1xf32> -> tensor<6x1xf32>
  // expected-error @below {{expected gates or what is made of them but got both}}
  %P = replay.scores %k with %k gated %g decayed %d : (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x1xf32>, tensor<6x1xf32>) -> tensor<3x3xf32>
}

// -----

replay.kernel @chain_and_tree shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4> {
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  %P = replay.scores %k with %k gated %g tree %p : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  // expected-note @below {{formed here}}
  %Q = replay.scores %k with %k gated %g : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %R = arith.addf %P, %Q : tensor<2x2xf32>
  // expected-error @below {{expected the parents that its scores have}}
  %o = replay.apply_scores %R, %v tree %p : (tensor<2x2xf32>, tensor<2x32xf32>, tensor<2x1xi32>) -> tensor<2x32xf32>
}

// -----

replay.kernel @solve_of_tree shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4> {
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  // expected-note @below {{formed here}}
  %P = replay.scores %k with %k gated %g tree %p : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  // expected-error @below {{expected the parents that its scores have}}
  %d = replay.ut_solve %P, %v, %v, %g : (tensor<2x2xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>) -> tensor<2x32xf32>
}

// -----

replay.kernel @solve_parents shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4> {
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<3x1xi32>
  %c = arith.constant dense<0.0> : tensor<2x2xf32>
  %v = arith.constant dense<0.0> : tensor<2x32xf32>
  %g = arith.constant dense<0.0> : tensor<2x1xf32>
  // expected-error @below {{expected the parents to be 2x1 but got 3x1}}
  %d = replay.ut_solve %c, %v, %v, %g tree %p : (tensor<2x2xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>, tensor<3x1xi32>) -> tensor<2x32xf32>
}

// -----

replay.kernel @scores_of_none shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4> {
  %k = replay.load_token "k" : tensor<1x32xf32>
  // expected-error @below {{expected at least one x}}
  "replay.scores"(%k) {operandSegmentSizes = array<i32: 0, 1, 0, 0, 0>} : (tensor<1x32xf32>) -> ()
}

// -----

replay.kernel @scores_results shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4> {
  %k = replay.load_token "k" : tensor<1x32xf32>
  // expected-error @below {{expected one result per x but got 2 of them and 1 results}}
  %P = replay.scores %k, %k with %k : (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
}

// -----

replay.kernel @scores_x shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4> {
  %k = replay.load_token "k" : tensor<2x32xf32>
  %q = arith.constant dense<0.0> : tensor<1x32xf32>
  // expected-error @below {{expected x to be 2x32 but got 1x32}}
  %P:2 = replay.scores %k, %q with %k : (tensor<2x32xf32>, tensor<1x32xf32>, tensor<2x32xf32>) -> (tensor<2x2xf32>, tensor<1x2xf32>)
}
