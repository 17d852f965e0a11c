// RUN: replayssm-opt %s -split-input-file | replayssm-opt -split-input-file | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -mlir-print-op-generic | replayssm-opt -split-input-file | FileCheck %s

// Every op of the layer, as a user writes it.
// CHECK-LABEL: replay.layer @gdn <H = 2, HV = 4, K = 16, V = 8> null le0 {
// CHECK: replay.gate softplus(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x1xf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
// CHECK: replay.beta sigmoid_f32(%{{.*}}) : (tensor<1x1xf16>) -> tensor<1x1xf32>
// CHECK: replay.l2norm l2_rsqrt(%{{.*}}) {eps = {{.*}} : f64, scale = 2.500000e-01 : f64} : (tensor<1x16xf16>) -> tensor<1x16xf32>
// CHECK: replay.l2norm l2_rsqrt(%{{.*}}) {eps = {{.*}} : f64} :
// CHECK: %[[S:.*]], %[[O:.*]], %{{.*}} = replay.delta chain(
// CHECK: replay.yield %[[S]], %[[O]] : !replay.state<8, 16, bf16>, tensor<1x8xf32>
replay.layer @gdn <H = 2, HV = 4, K = 16, V = 8> null le0 {
^bb0(%S: !replay.state<8, 16, bf16>, %q: tensor<1x16xf16>, %k: tensor<1x16xf16>,
     %v: tensor<1x8xf16>, %a: tensor<1x1xf16>, %b: tensor<1x1xf16>, %A: tensor<1x1xf32>,
     %dt: tensor<1x1xf32>):
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x1xf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xf16>) -> tensor<1x1xf32>
  %qn = replay.l2norm l2_rsqrt(%q) {eps = 1.0e-6, scale = 0.25} : (tensor<1x16xf16>) -> tensor<1x16xf32>
  %kn = replay.l2norm l2_rsqrt(%k) {eps = 1.0e-6} : (tensor<1x16xf16>) -> tensor<1x16xf32>
  %S1, %o, %d = replay.delta chain(%S, %qn, %kn, %v, %g, %beta)
      : (!replay.state<8, 16, bf16>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x8xf16>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> (!replay.state<8, 16, bf16>, tensor<1x8xf32>, tensor<1x8xf32>)
  replay.yield %S1, %o : !replay.state<8, 16, bf16>, tensor<1x8xf32>
}

// Requests: an empty body, a kind and a layer.
// CHECK: replay.kernel @packed of @gdn kind packed kred <lanes = 4, vec = 4> {
// CHECK: replay.kernel @verify of @gdn kind verify ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> window 3 kred <lanes = 4, vec = 4> tiling <bv = 8, bc = 4, warps = 1, copy = bulk, unroll = 2, blocks = 3> attributes {spec = "x"} {
// CHECK: replay.kernel @shorter of @gdn kind verify {{.*}} window 2 of 3 mask tree kred
// CHECK: replay.kernel @cores of @gdn kind verify {{.*}} window 3 kred <lanes = 4, vec = 4> mma<chunk = 32> tiling <bv = 8,
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @packed of @gdn kind packed kred <lanes = 4, vec = 4> {}
replay.kernel @verify of @gdn kind verify ring #ring window 3 kred <lanes = 4, vec = 4>
    tiling <bv = 8, bc = 4, warps = 1, copy = bulk, unroll = 2, blocks = 3> attributes {spec = "x"} {}
replay.kernel @shorter of @gdn kind verify ring #ring window 2 of 3 mask tree kred <lanes = 4, vec = 4> {}
replay.kernel @cores of @gdn kind verify ring #ring window 3 kred <lanes = 4, vec = 4> mma<chunk = 32>
    tiling <bv = 8, bc = 4, warps = 1, copy = bulk, unroll = 2, blocks = 3> {}

// -----

// A kernel that no layer has: three reads, one more record field, no flush.
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>, <"beta", f32, value, one>]>

// CHECK-LABEL: replay.kernel @unnamed shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring
// CHECK: %[[SLOT:.*]], %[[RING:.*]], %{{.*}} = replay.row
// CHECK: %[[WP:.*]], %[[FLUSH:.*]] = replay.cursor %[[RING]] wrap(4)
// CHECK: replay.load_param "A_log" : tensor<1x1xf32>
// CHECK: replay.load_param "dt_bias" : tensor<1x16xf32>
// CHECK: %[[S:.*]] = replay.load_state %[[SLOT]] : <8, 16, f32>
// CHECK: %[[R:.*]] = replay.load_ring %[[RING]] valid(%[[WP]])
// CHECK: replay.rnorm l2_rsqrt(%{{.*}}) {eps = {{.*}} : f64} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
// CHECK: %[[W:.*]], %{{.*}} = replay.ring_weights %[[R]] :
// CHECK: replay.read %[[S]], %{{.*}}, %{{.*}}, %{{.*}} : (!replay.state<8, 16, f32>, tensor<1x16xbf16>, tensor<1x16xbf16>, tensor<1x16xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK: replay.ring_read %[[R]], %[[W]], %{{.*}} :
// CHECK: replay.append %[[RING]], %[[WP]] ["beta", "k", "d", "g"] %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x16xf32>
// CHECK: scf.if %[[FLUSH]] {
// CHECK:   %[[S1:.*]] = replay.replay %[[S]], %[[R]] :
// CHECK:   %[[S2:.*]] = replay.decay %[[S1]], %{{.*}} : <8, 16, f32>, tensor<1x16xf32>
// CHECK:   %[[S3:.*]] = replay.rank1 %[[S2]], %{{.*}}, %{{.*}} : <8, 16, f32>, tensor<1x8xf32>, tensor<1x16xf32>
// CHECK:   replay.store_state %[[S3]], %[[SLOT]] : <8, 16, f32>
// CHECK: replay.store_out %{{.*}} as f32 : tensor<1x8xf32>
// CHECK: replay.set_cursor "wp" %[[RING]], %[[WP]]
replay.kernel @unnamed shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %k = replay.load_token "k" : tensor<1x16xbf16>
  %v = replay.load_token "v" : tensor<1x8xf32>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %a = replay.load_token "a" : tensor<1x16xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %rk = replay.rnorm l2_rsqrt(%k) {eps = 1.0e-6} : (tensor<1x16xbf16>) -> tensor<1x1xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x16xf32>, tensor<1x16xf32>)
  %y:3 = replay.read %S, %q, %k, %a : (!replay.state<8, 16, f32>, tensor<1x16xbf16>, tensor<1x16xbf16>, tensor<1x16xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
  %z = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x16xf32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  replay.append %ring, %wp ["beta", "k", "d", "g"] %rk, %a, %z, %dt : tensor<1x1xf32>, tensor<1x16xf32>, tensor<1x8xf32>, tensor<1x16xf32>
  scf.if %flush {
    %S1 = replay.replay %S, %R : <8, 16, f32>, <#ring>
    %S2 = replay.decay %S1, %a : <8, 16, f32>, tensor<1x16xf32>
    %S3 = replay.rank1 %S2, %y#0, %a : <8, 16, f32>, tensor<1x8xf32>, tensor<1x16xf32>
    replay.store_state %S3, %slot : <8, 16, f32>
  }
  replay.store_out %y#2 as f32 : tensor<1x8xf32>
  replay.set_cursor "wp" %ring, %wp
}

// -----

// What a window's outputs are made of.
// CHECK-LABEL: replay.kernel @window
// CHECK: replay.cumulate %{{.*}} : tensor<3x1xf32>
// CHECK: replay.scores %{{.*}} with %{{.*}} gated %{{.*}} : (tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK: replay.scores %{{.*}} with %{{.*}} : (tensor<3x16xbf16>, tensor<1x16xf32>) -> tensor<3x1xf32>
// CHECK: %[[DECAYS:.*]] = replay.token_decays %{{.*}} : tensor<3x1xf32> -> tensor<6x1xf32>
// CHECK: replay.scores %{{.*}} with %{{.*}} decayed %[[DECAYS]] : (tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<6x1xf32>) -> tensor<3x3xf32>
// CHECK: %[[STAGED:.*]] = replay.stage %{{.*}} : tensor<1x16xf32> -> tensor<1x16xf32>
// CHECK: %[[FACTOR:.*]] = replay.fetch %[[STAGED]] : tensor<1x16xf32>
// CHECK: replay.scale %{{.*}}, %[[FACTOR]] : <8, 16, f32>, tensor<1x16xf32>
// CHECK: replay.ut_solve %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<3x3xf32>, tensor<3x8xf32>, tensor<3x8xbf16>, tensor<3x1xf32>) -> tensor<3x8xf32>
// CHECK: replay.apply_scores %{{.*}}, %{{.*}} : (tensor<3x3xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
replay.kernel @window shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 3 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<3x16xbf16>
  %k = replay.load_token "k" : tensor<3x16xbf16>
  %v = replay.load_token "v" : tensor<3x8xbf16>
  %b = replay.load_token "b" : tensor<3x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<3x16xbf16>) -> tensor<3x8xf32>
  %G = replay.cumulate %b : tensor<3x1xf32>
  %P = replay.scores %q with %k gated %G : (tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %p = replay.scores %q with %dt : (tensor<3x16xbf16>, tensor<1x16xf32>) -> tensor<3x1xf32>
  %decays = replay.token_decays %G : tensor<3x1xf32> -> tensor<6x1xf32>
  %Pd = replay.scores %q with %k decayed %decays : (tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<6x1xf32>) -> tensor<3x3xf32>
  %staged = replay.stage %dt : tensor<1x16xf32> -> tensor<1x16xf32>
  %factor = replay.fetch %staged : tensor<1x16xf32>
  %Sd = replay.scale %S, %factor : <8, 16, f32>, tensor<1x16xf32>
  %D = replay.ut_solve %P, %y, %v, %p : (tensor<3x3xf32>, tensor<3x8xf32>, tensor<3x8xbf16>, tensor<3x1xf32>) -> tensor<3x8xf32>
  %o = replay.apply_scores %P, %D : (tensor<3x3xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  replay.store_out %o as bf16 : tensor<3x8xf32>
}

// -----

// A ragged window, its records and what rows say of it.
// CHECK-LABEL: replay.kernel @ragged
// CHECK: %[[FIRST:.*]], %[[LENGTH:.*]] = replay.window
// CHECK: %[[N:.*]] = replay.load_row "accept_len"
// CHECK: replay.load_token "v" window(%[[FIRST]], %[[LENGTH]]) : tensor<3x8xf32>
// CHECK: replay.append %{{.*}}, %{{.*}} ["d"] %{{.*}} rows(%[[LENGTH]]) : tensor<3x8xf32>
// CHECK: replay.store_out %{{.*}} as bf16 window(%[[FIRST]], %[[LENGTH]]) : tensor<3x8xf32>
// CHECK: replay.store_row "fold_len", %[[N]]
#d = #replay.ring<4, [<"d", f32, value, V>]>
replay.kernel @ragged shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #d window 3 {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp, %flush = replay.cursor %ring wrap(4)
  %n = replay.load_row "accept_len"
  %v = replay.load_token "v" window(%first, %length) : tensor<3x8xf32>
  replay.append %ring, %wp ["d"] %v rows(%length) : tensor<3x8xf32>
  replay.store_out %v as bf16 window(%first, %length) : tensor<3x8xf32>
  replay.store_row "fold_len", %n
}

// -----

// Gates and betas of every form; what is precomputed is f32 beside a 16-bit io.
// CHECK-LABEL: replay.layer @given
// CHECK: replay.gate precomputed(%{{.*}}) : (tensor<1x16xf32>) -> tensor<1x16xf32>
// CHECK: replay.beta precomputed(%{{.*}}) {factor = 2 : i64} : (tensor<1x1xf32>) -> tensor<1x1xf32>
// CHECK: replay.gate safe(%{{.*}}, %{{.*}}, %{{.*}}) {lower_bound = -5.000000e+00 : f64} : (tensor<1x16xf32>, tensor<1x1xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
// CHECK: replay.beta sigmoid_io(%{{.*}}) : (tensor<1x1xf32>) -> tensor<1x1xf32>
replay.layer @given <H = 2, HV = 4, K = 16, V = 8> null le0 {
^bb0(%S: !replay.state<8, 16, bf16>, %q: tensor<1x16xf16>, %k: tensor<1x16xf16>,
     %v: tensor<1x8xf16>, %a: tensor<1x16xf32>, %b: tensor<1x1xf32>, %A: tensor<1x1xf32>,
     %dt: tensor<1x16xf32>):
  %g = replay.gate precomputed(%a) : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %beta = replay.beta precomputed(%b) {factor = 2} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %safe = replay.gate safe(%a, %A, %dt) {lower_bound = -5.0} : (tensor<1x16xf32>, tensor<1x1xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %io = replay.beta sigmoid_io(%b) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %y = replay.read %S, %q : (!replay.state<8, 16, bf16>, tensor<1x16xf16>) -> tensor<1x8xf32>
  replay.yield %S, %y : !replay.state<8, 16, bf16>, tensor<1x8xf32>
}

// -----

// Circular rings of raw inputs, trees, and states behind each token.
// CHECK-LABEL: replay.kernel @tree
// CHECK-SAME: ring <4, [{{.*}}<"raw_k", bf16, key, K>{{.*}}], circular> window 3 layers table
// CHECK: replay.phase loads
// CHECK: %[[BASE:.*]] = replay.load_slot "base" %[[RING:.*]] most(2)
// CHECK: replay.load_row "dst_idx"
// CHECK: replay.expect "dst_idx" %{{.*}} in %[[BASE]] to %{{.*}}
// CHECK: %[[MASK:.*]] = replay.path_mask %[[N:.*]]
// CHECK: %[[P:.*]] = replay.load_parents rows(%{{.*}}) live(%{{.*}}) : tensor<3x1xi32>
// CHECK: replay.load_ring %[[RING]] valid(%[[N]]) base(%[[BASE]]) mask(%[[MASK]]) :
// CHECK: replay.cumulate %{{.*}} tree(%[[P]] : tensor<3x1xi32>) : tensor<3x1xf32>
// CHECK: %[[SCORES:.*]]:2 = replay.scores %{{.*}}, %{{.*}} with %{{.*}} gated %{{.*}} tree %[[P]] : ({{.*}}) -> (tensor<3x3xf32>, tensor<3x3xf32>)
// CHECK: %[[D:.*]] = replay.ut_solve %[[SCORES]]#0, %{{.*}}, %{{.*}}, %{{.*}} tree %[[P]] : (
// CHECK: replay.apply_scores %[[SCORES]]#1, %[[D]] tree %[[P]] : (
// CHECK: replay.append %[[RING]], %[[N]] ["raw_k", "g"] %{{.*}}, %{{.*}} rows(%{{.*}}) base(%[[BASE]]) :
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (!replay.state<8, 16, f32>)
// CHECK: replay.load_row "accept_idx"[%[[I]]]
// CHECK: replay.load_record "raw_k" %[[RING]], %[[I]] base(%[[BASE]]) : tensor<1x16xbf16>
// CHECK: replay.load_state %[[RING]] at(%[[I]]) : <8, 16, f32>
// CHECK: replay.store_state %[[S]], %[[RING]] at(%[[I]]) : <8, 16, f32>
// CHECK: replay.move_record %[[RING]], %[[N]] to %[[I]] base(%[[BASE]])
// CHECK: replay.set_cursor "is_flush" %[[RING]], %[[N]]
#raw = #replay.ring<4, [<"raw_k", bf16, key, K>, <"g", f32, value, one>], circular>
replay.kernel @tree shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #raw window 3 layers table kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  replay.phase loads
  %base = replay.load_slot "base" %ring most(2)
  %n = replay.load_row "dst_idx"
  replay.expect "dst_idx" %n in %base to %length
  %mask = replay.path_mask %n
  %p = replay.load_parents rows(%length) live(%live) : tensor<3x1xi32>
  %R = replay.load_ring %ring valid(%n) base(%base) mask(%mask) : <#raw>
  %k = replay.load_token "k" window(%first, %length) : tensor<3x16xbf16>
  %g = replay.load_token "b" window(%first, %length) : tensor<3x1xf32>
  %G = replay.cumulate %g tree(%p : tensor<3x1xi32>) : tensor<3x1xf32>
  %P, %Q = replay.scores %k, %k with %k gated %g tree %p : (tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<3x16xbf16>, tensor<3x1xf32>, tensor<3x1xi32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %v = replay.load_token "v" window(%first, %length) : tensor<3x8xf32>
  %D = replay.ut_solve %P, %v, %v, %g tree %p : (tensor<3x3xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  %o = replay.apply_scores %Q, %D tree %p : (tensor<3x3xf32>, tensor<3x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  replay.append %ring, %n ["raw_k", "g"] %k, %g rows(%length) base(%base) : tensor<3x16xbf16>, tensor<3x1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %S0 = replay.load_state %slot : <8, 16, f32>
  %S = scf.for %i = %c0 to %length step %c1 iter_args(%before = %S0) -> (!replay.state<8, 16, f32>) {
    %j = replay.load_row "accept_idx"[%i]
    %raw = replay.load_record "raw_k" %ring, %i base(%base) : tensor<1x16xbf16>
    %Sp = replay.load_state %ring at(%i) : <8, 16, f32>
    replay.store_state %before, %ring at(%i) : <8, 16, f32>
    replay.move_record %ring, %n to %i base(%base)
    scf.yield %Sp : !replay.state<8, 16, f32>
  }
  replay.set_cursor "is_flush" %ring, %n
}
