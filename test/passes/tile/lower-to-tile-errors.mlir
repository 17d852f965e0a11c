// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-split -replay-order -replay-place -replay-lower-to-tile
// RUN: not replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile="chip=sm_80" 2>&1 | FileCheck %s
// CHECK: error: unknown target 'sm_80'; expected one of sm_90, sm_90a, sm_100a, sm_100f

// expected-error @below {{expected a 'tiling': run replay-schedule first}}
replay.kernel @no_tiling shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4> {
  %v = replay.load_token "v" : tensor<1x32xf32>
  replay.store_out %v as f32 : tensor<1x32xf32>
}

// -----

replay.kernel @two_tokens shape <H = 1, HV = 1, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  // expected-error @below {{expected the window of 2 tokens}}
  %v = replay.load_token "v" : tensor<2x32xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @cursor_beside_work shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %v = replay.load_token "v" : tensor<1x32xf32>
  replay.store_out %v as f32 : tensor<1x32xf32>
  // expected-error @below {{expected a kernel of its own: other blocks of the row may still read the cursor}}
  replay.set_cursor "wp" %ring, %wp
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @lanes shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 4, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected 8 lanes in 'kred', as many as share a sum over ring records, but got 4}}
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
}

// -----

#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @pass_of_mma shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4> mma<chunk = 32>
    tiling <bv = 16, bc = 8, warps = 1, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(16)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<16x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected a tiling with bc of at least the ring's 16 records for mma but got 8}}
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<16x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @other_weights shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %R2 = replay.load_ring %ring valid(%wp) : <#ring>
  %w2, %tot2 = replay.ring_weights %R2 : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected the weights of the records that it reads}}
  %y = replay.ring_read %R, %w2, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
}

// -----

replay.kernel @plain_scores shape <H = 1, HV = 1, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<2x32xf32>
  // expected-error @below {{expected gates between 2 tokens}}
  %p = replay.scores %q with %q : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x2xf32>
}

// -----

replay.kernel @decays shape <H = 1, HV = 1, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %g = arith.constant dense<-1.0> : tensor<3x1xf32>
  // expected-error @below {{expected gates of 2 tokens but got 3}}
  %d = replay.token_decays %g : tensor<3x1xf32> -> tensor<6x1xf32>
}

// -----

replay.kernel @slice shape <H = 1, HV = 1, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  // expected-error @below {{has no tile form for several tokens; expected a pattern that is asked for each row or takes all}}
  %v0 = tensor.extract_slice %v[0, 0] [1, 32] [1, 1] : tensor<2x32xf32> to tensor<1x32xf32>
}

// -----

replay.kernel @store_out shape <H = 1, HV = 1, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  // expected-error @below {{expected the window of 2 tokens}}
  replay.store_out %v as f32 : tensor<2x32xf32>
}

// -----

replay.kernel @slice shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %k = replay.load_token "k" : tensor<1x32xf32>
  // expected-error @below {{has no tile form; expected reads, ring reads, loads, stores and elementwise operations}}
  %n = tensor.extract_slice %k[0, 0] [1, 16] [1, 1] : tensor<1x32xf32> to tensor<1x16xf32>
}

// -----

replay.kernel @constants shape <H = 1, HV = 1, K = 8, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  // expected-error @below {{expected a splat constant}}
  %c = arith.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @results shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %v = replay.load_token "v" : tensor<1x32xf32>
  %r = scf.if %flush -> tensor<1x32xf32> {
    // expected-error @below {{expected states, integers and indices to be carried but got 'tensor<1x32xf32>'}}
    scf.yield %v : tensor<1x32xf32>
  } else {
    scf.yield %v : tensor<1x32xf32>
  }
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @states shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <32, 32, f32>
  %g = replay.load_param "A_log" : tensor<1x1xf32>
  %Sd = replay.decay %S, %g : <32, 32, f32>, tensor<1x1xf32>
  // expected-error @below {{'arith.select' op expected states, records and parents of replay ops but got '!replay.state<32, 32, f32>'}}
  %S1 = arith.select %flush, %S, %Sd : !replay.state<32, 32, f32>
  replay.store_state %S1, %slot : <32, 32, f32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>], circular>
replay.kernel @mask_and_base shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 4 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "fold_len"
  %base = replay.load_slot "base" %ring
  %mask = replay.path_mask %n
  // expected-error @below {{expected a linear ring for a mask of positions but got a circular one}}
  %R = replay.load_ring %ring valid(%n) base(%base) mask(%mask) : <#ring>
}

// -----

replay.kernel @two_dtypes shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %dst = replay.load_row "dst_idx"
  %S = replay.load_state %slot : <32, 32, f32>
  // expected-error @below {{expected 'state' to be 'f32' as elsewhere in the kernel but got 'bf16'}}
  %T = replay.load_state %slot : <32, 32, bf16>
}

// -----

replay.kernel @two_io_dtypes shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %v = replay.load_token "v" : tensor<1x32xf32>
  // expected-error @below {{expected 'mixed_qkv' to be 'f32' as elsewhere in the kernel but got 'bf16'}}
  %q = replay.load_token "q" : tensor<1x32xbf16>
}

// -----

// Of another layer, there is no other place for these.
replay.kernel @layers_out shape <H = 1, HV = 2, K = 32, V = 32> null lt0 layers stride kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %v = replay.load_token "v" : tensor<1x32xf32>
  // expected-error @below {{expected every layer to have its own of what a kernel of many layers writes, but 'out' is shared}}
  replay.store_out %v as f32 : tensor<1x32xf32>
}

// -----

replay.kernel @layers_row shape <H = 1, HV = 2, K = 32, V = 32> null lt0 layers table kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %n = replay.load_row "accept_len"
  // expected-error @below {{expected every layer to have its own of what a kernel of many layers writes, but 'fold_len' is shared}}
  replay.store_row "fold_len", %n
}

// -----

// expected-error @below {{expected bv to divide V = 8 but got 3: run replay-schedule first}}
replay.kernel @tiling_of_another shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 3, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %v = replay.load_token "v" : tensor<1x8xf32>
  replay.store_out %v as f32 : tensor<1x8xf32>
}

// -----

replay.kernel @parents_as_numbers shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 1 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<1x1xi32>
  // expected-error @below {{expected operands that are tiles or numbers}}
  %n = arith.sitofp %p : tensor<1x1xi32> to tensor<1x1xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<1x8xf32>
  %m = tile.broadcast %n : tensor<1x1xf32> -> tensor<1x8xf32>
  %o = arith.mulf %v, %m : tensor<1x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<1x8xf32>
}

// -----

replay.kernel @constant_parents shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  // expected-error @below {{'arith.constant' op expected states, records and parents of replay ops but got 'tensor<2x1xi32>'}}
  %p = arith.constant dense<0> : tensor<2x1xi32>
  %q = replay.load_token "q" window(%first, %length) : tensor<2x8xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  %s = replay.scores %q with %q gated %g tree %p : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %o = replay.apply_scores %s, %q tree %p : (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<2x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @unstaged shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected staged records: run replay-split first}}
  %F = replay.replay %S, %R decayed(%tot : tensor<1x1xf32>) : <8, 8, f32>, <#ring>
  replay.store_state %F, %slot : <8, 8, f32>
}

// -----

replay.kernel @not_copied shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <8, 8, f32>
  // expected-error @below {{expected what is copied into shared memory}}
  %W = replay.wait %S : !replay.state<8, 8, f32>
  replay.store_state %W, %slot : <8, 8, f32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @records_as_tokens shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring window 4 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  // expected-error @below {{expected operands that are tiles or numbers}}
  %e = arith.mulf %k, %d : tensor<4x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @records_stored shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring window 4 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %first, %n = replay.window
  %g = replay.load_field "g" %R : (!replay.records<#ring>) -> tensor<4x1xf32>
  // expected-error @below {{expected rows of tokens}}
  replay.append %ring, %wp ["d", "k", "g"] %d, %k, %g rows(%n) : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @records_out shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring window 4 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %first, %length = replay.window
  // expected-error @below {{expected rows of tokens}}
  replay.store_out %d as f32 window(%first, %length) : tensor<4x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @other_keys shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %k = replay.load_field "k" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %d = replay.load_field "d" %R : (!replay.records<#ring>) -> tensor<4x8xf32>
  %q = replay.load_token "q" : tensor<1x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  // expected-error @below {{expected the keys of the records that it reads}}
  %y = replay.ring_read %R, %w, %q of %d, %d : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
}
