// RUN: replayssm-opt %s -split-input-file -replay-split | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-split | FileCheck %s

// A cursor is its number and what it asks for. The loads that need no slot stand in
// front of the row's branch; a null row writes zeros.
// CHECK-LABEL: replay.kernel @decode
// CHECK-NEXT: %[[SLOT:.*]], %[[RING:.*]], %[[LIVE:.*]] = replay.row
// CHECK-NEXT: %[[V:.*]] = replay.load_token "v"
// CHECK-NEXT: %[[FORCE:.*]] = replay.load_row "force_flush"
// CHECK-NEXT: scf.if %[[LIVE]] {
// CHECK-NEXT: %[[WP:.*]] = replay.load_slot "wp" %[[RING]] most(3)
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[FORCED:.*]] = arith.cmpi ne, %[[FORCE]], %[[C0]] : index
// CHECK-NEXT: %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT: %[[FULL:.*]] = arith.cmpi sge, %[[WP]], %[[C3]] : index
// CHECK-NEXT: %[[FLUSH:.*]] = arith.ori %[[FULL]], %[[FORCED]] : i1
// CHECK-NEXT: %[[S:.*]] = replay.load_state %[[SLOT]]
// CHECK-NEXT: scf.if %[[FLUSH]] {
// CHECK-NEXT: replay.store_state %[[S]], %[[SLOT]]
// CHECK-NEXT: }
// CHECK-NEXT: replay.store_out %[[V]] as bf16
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT: replay.store_out %[[ZERO]] as bf16
// CHECK-NEXT: } {replay.row}
// CHECK-NEXT: }
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @decode shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xf32>
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <8, 8, f32>
  scf.if %flush {
    replay.store_state %S, %slot : <8, 8, f32>
  }
  replay.store_out %v as bf16 : tensor<1x8xf32>
}

// -----

// A row without tokens does nothing where it writes no state; a null row writes zeros
// for every token of its window, and the numbers that stand for none.
// CHECK-LABEL: replay.kernel @window
// CHECK: %{{.*}}, %{{.*}}, %[[LIVE:.*]] = replay.row
// CHECK: %[[FIRST:.*]], %[[LENGTH:.*]] = replay.window
// CHECK: replay.load_token "v" window(%[[FIRST]], %[[LENGTH]])
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[LENGTH]], %{{.*}} : index
// CHECK: %[[BOTH:.*]] = arith.andi %[[LIVE]], %[[SOME]] : i1
// CHECK: scf.if %[[BOTH]] {
// CHECK: } else {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2x8xf32>
// CHECK-NEXT: replay.store_out %[[ZERO]] as f32 window(%[[FIRST]], %[[LENGTH]])
// CHECK-NEXT: %[[NONE:.*]] = arith.constant -1 : index
// CHECK-NEXT: replay.store_row "track_pos", %[[NONE]]
// CHECK-NEXT: } {replay.row}
replay.kernel @window shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  %v = replay.load_token "v" window(%first, %length) : tensor<2x8xf32>
  replay.store_out %v as f32 window(%first, %length) : tensor<2x8xf32>
  replay.store_row "track_pos", %length
}

// -----

// Nothing is written for a row: nothing to guard.
// CHECK-LABEL: replay.kernel @no_row
// CHECK-NOT: scf.if
replay.kernel @no_row shape <H = 1, HV = 1, K = 8, V = 8> null lt0
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %A = replay.load_param "A_log" : tensor<1x1xf32>
}

// -----

// A read takes the fields of its records, beside the ring. A fold in another block takes
// what a read has; without one it loads them itself.
// CHECK-LABEL: replay.kernel @records
// CHECK: %[[R:.*]] = replay.load_ring
// CHECK-NEXT: %[[G:.*]] = replay.load_field "g" %[[R]]
// CHECK-NEXT: %[[D:.*]] = replay.load_field "d" %[[R]]
// CHECK-NEXT: %[[K:.*]] = replay.load_field "k" %[[R]]
// CHECK-NEXT: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights %[[R]] of %[[G]]
// CHECK-NEXT: %[[Y:.*]] = replay.ring_read %[[R]], %[[W]], %{{.*}} of %[[K]], %[[D]] :
// CHECK: scf.if
// CHECK-NEXT: %[[ST:.*]] = replay.stage_records %[[R]], %[[W]], %[[K]], %[[D]]
// CHECK-NEXT: replay.replay %{{.*}}, %[[ST]] decayed(%[[TOT]] : tensor<1x1xf32>)
// CHECK-LABEL: replay.kernel @folded
// CHECK: replay.load_ring
// CHECK: scf.if
// CHECK-NEXT: %[[G2:.*]] = replay.load_field "g"
// CHECK-NEXT: %[[W2:.*]], %[[TOT2:.*]] = replay.ring_weights %{{.*}} of %[[G2]]
// CHECK-NEXT: %[[D2:.*]] = replay.load_field "d"
// CHECK-NEXT: %[[K2:.*]] = replay.load_field "k"
// CHECK-NEXT: %[[ST2:.*]] = replay.stage_records %{{.*}}, %[[W2]], %[[K2]], %[[D2]]
// CHECK-NEXT: replay.replay %{{.*}}, %[[ST2]] decayed(%[[TOT2]] : tensor<1x1xf32>)
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @records shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x8xf32>
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
  scf.if %flush {
    %F = replay.replay %S, %R : <8, 8, f32>, <#ring>
    replay.store_state %F, %slot : <8, 8, f32>
  }
}
replay.kernel @folded shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  scf.if %flush {
    %F = replay.replay %S, %R : <8, 8, f32>, <#ring>
    replay.store_state %F, %slot : <8, 8, f32>
  }
}

// -----

// Each gate has one exponential for the uses that one reaches, and a state decays by it
// where it is first needed.
// CHECK-LABEL: replay.kernel @decay
// CHECK: %[[S:.*]] = replay.load_state
// CHECK-NOT: replay.decay
// CHECK: %[[E:.*]] = math.exp %[[G:.*]] :
// CHECK-NEXT: %[[SE:.*]] = replay.scale %[[S]], %[[E]]
// CHECK-NEXT: %[[SU:.*]] = replay.rank1 %[[SE]],
// CHECK-NEXT: replay.store_state %[[SU]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[SI:.*]] = replay.scale %[[SU]], %[[E]]
// CHECK-NEXT: replay.store_state %[[SI]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[EV:.*]] = math.exp %[[V:.*]] :
// CHECK-NEXT: %[[SV:.*]] = replay.scale %[[S]], %[[EV]]
// CHECK-NEXT: replay.store_state %[[SV]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[EV2:.*]] = math.exp %[[V]] :
// CHECK-NEXT: %[[SV2:.*]] = replay.scale %[[S]], %[[EV2]]
// CHECK-NEXT: replay.store_state %[[SV2]]
replay.kernel @decay shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xf32>
  %g = replay.load_token "a" : tensor<1x8xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %Sd = replay.decay %S, %g : <8, 8, f32>, tensor<1x8xf32>
  %dead = replay.decay %S, %g : <8, 8, f32>, tensor<1x8xf32>
  %Su = replay.rank1 %Sd, %v, %v : <8, 8, f32>, tensor<1x8xf32>, tensor<1x8xf32>
  replay.store_state %Su, %slot : <8, 8, f32>
  scf.if %live {
    %Si = replay.decay %Su, %g : <8, 8, f32>, tensor<1x8xf32>
    replay.store_state %Si, %slot : <8, 8, f32>
  } else {
    %Se = replay.decay %S, %v : <8, 8, f32>, tensor<1x8xf32>
    replay.store_state %Se, %slot : <8, 8, f32>
  }
  %Sv = replay.decay %S, %v : <8, 8, f32>, tensor<1x8xf32>
  replay.store_state %Sv, %slot : <8, 8, f32>
}

// -----

// Decays between the tokens of a chain are formed beside the sums of their gates, for
// all scores; those of a tree follow its paths.
// CHECK-LABEL: replay.kernel @between_tokens
// CHECK: replay.cumulate %[[G:.*]] tree
// CHECK: replay.cumulate %[[G]] :
// CHECK-NEXT: %[[D:.*]] = replay.token_decays %[[G]] : tensor<3x1xf32> -> tensor<6x1xf32>
// CHECK: replay.scores %[[K:.*]] with %[[K]] decayed %[[D]] : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<6x1xf32>) -> tensor<3x3xf32>
// CHECK: replay.scores %{{.*}} with %[[K]] decayed %[[D]] :
// CHECK: %[[DX:.*]] = replay.token_decays %[[X:.*]] :
// CHECK-NEXT: replay.scores %[[K]] with %[[K]] decayed %[[DX]] :
// CHECK: replay.scores %[[K]] with %[[K]] gated %[[G]] tree
replay.kernel @between_tokens shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 3 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<3x1xi32>
  %q = replay.load_token "q" window(%first, %length) : tensor<3x8xf32>
  %k = replay.load_token "k" window(%first, %length) : tensor<3x8xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<3x1xf32>
  %x = replay.load_token "b" window(%first, %length) : tensor<3x1xf32>
  %GT = replay.cumulate %g tree(%p : tensor<3x1xi32>) : tensor<3x1xf32>
  %G = replay.cumulate %g : tensor<3x1xf32>
  %a = replay.scores %k with %k gated %g : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %b = replay.scores %q with %k gated %g : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %c = replay.scores %k with %k gated %x : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %d = replay.scores %k with %k gated %g tree %p : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>, tensor<3x1xi32>) -> tensor<3x3xf32>
}

// -----

// One token has no other that it decays from.
// CHECK-LABEL: replay.kernel @alone
// CHECK: replay.scores %[[K:.*]] with %[[K]] tree %{{.*}} : (
replay.kernel @alone shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 1 of 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<1x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<1x8xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<1x1xf32>
  %a = replay.scores %k with %k gated %g tree %p : (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x1xi32>) -> tensor<1x1xf32>
}

// -----

// Tokens that every row has: a null row's are zero as well, however many.
// CHECK-LABEL: replay.kernel @all_tokens
// CHECK: scf.if
// CHECK: } else {
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<3x8xf32>
// CHECK: replay.store_out %[[ZEROS]] as f32 : tensor<3x8xf32>
replay.kernel @all_tokens shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 3 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %v = replay.load_token "v" : tensor<3x8xf32>
  replay.store_out %v as f32 : tensor<3x8xf32>
}
