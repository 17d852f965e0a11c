// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-place | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place="places=columns=regs,gates=regs" | FileCheck %s --check-prefix=REGS

// Tokens along K go to shared memory behind every load; numbers of one token each are
// computed by one thread, and staged for the others; what is made of tokens is formed
// again at each use, but once for a read.
// CHECK-LABEL: replay.kernel @window
// CHECK: %[[K:.*]] = replay.load_token "k"
// CHECK: %[[A:.*]] = replay.load_token "a" {{.*}} {replay.place = #replay<place spread>}
// CHECK: replay.phase loads
// CHECK: replay.phase gates
// CHECK-NEXT: %[[KS:.*]] = replay.stage %[[K]] {replay.place = #replay<place shared>} : tensor<3x8xbf16> -> tensor<3x8xf32>
// CHECK-NEXT: %[[AS:.*]] = replay.stage %[[A]] {replay.place = #replay<place shared>}
// CHECK: replay.phase tokens
// CHECK-NEXT: %[[N:.*]] = replay.rnorm l2_rsqrt(%[[KS]]) {{.*}}replay.place = #replay<place spread>
// CHECK-NEXT: %[[NA:.*]] = arith.mulf %[[N]], %[[A]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[NAS:.*]] = replay.stage %[[NA]] {replay.place = #replay<place shared>} : tensor<3x1xf32> -> tensor<3x1xf32>
// CHECK-NEXT: %[[R:.*]] = tile.broadcast %[[NAS]]
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[KS]], %[[R]] {replay.place = #replay<place remat>}
// CHECK-NEXT: %[[DECAYS:.*]] = replay.token_decays %[[AS]] : tensor<3x1xf32> -> tensor<6x1xf32>
// CHECK-NEXT: %[[XS:.*]] = replay.stage %[[X]] {replay.place = #replay<place shared>}
// CHECK-NEXT: replay.phase pairs
// CHECK-NEXT: %[[P:.*]] = replay.scores %[[KS]] with %[[XS]] decayed %[[DECAYS]] {replay.place = #replay<place shared>}
// CHECK: replay.phase reads
// CHECK-NEXT: %[[Y:.*]] = replay.read %{{.*}}, %[[XS]] {replay.place = #replay<place shared>}
// CHECK-NEXT: replay.apply_scores %[[P]], %[[Y]] :
// CHECK: } else {
// CHECK-NEXT: arith.constant {replay.place = #replay<place remat>}
// What need not be spread is not where it is told so: every thread has all of it.
// REGS-LABEL: replay.kernel @window
// REGS: replay.load_token "a" window(%{{.*}}, %{{.*}}) : tensor<3x1xf32>
// REGS-NOT: #replay<place spread>
// REGS: tile.broadcast
replay.kernel @window shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 3 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<3x8xbf16>
  %a = replay.load_token "a" window(%first, %length) : tensor<3x1xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %n = replay.rnorm l2_rsqrt(%k) {eps = 1.0e-6 : f64} : (tensor<3x8xbf16>) -> tensor<3x1xf32>
  %na = arith.mulf %n, %a : tensor<3x1xf32>
  %kf = arith.extf %k : tensor<3x8xbf16> to tensor<3x8xf32>
  %r = tile.broadcast %na : tensor<3x1xf32> -> tensor<3x8xf32>
  %x = arith.mulf %kf, %r : tensor<3x8xf32>
  %P = replay.scores %kf with %x gated %a : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %y = replay.read %S, %x : (!replay.state<8, 8, f32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %o = replay.apply_scores %P, %y : (tensor<3x3xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x8xf32>
}

// -----

// As many tokens as stand one behind another leave what they read in registers. A place
// that the source gives is kept.
// CHECK-LABEL: replay.kernel @few
// CHECK: replay.load_token "a" {{.*}} {replay.place = #replay<place regs>}
// CHECK: replay.stage %{{.*}} : tensor<2x8xf32> -> tensor<2x8xf32>
// CHECK: replay.read %{{.*}}, %{{.*}} : (
replay.kernel @few shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<2x8xf32>
  %a = replay.load_token "a" window(%first, %length) {replay.place = #replay<place regs>} : tensor<2x1xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %y = replay.read %S, %q : (!replay.state<8, 8, f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %b = tile.broadcast %a : tensor<2x1xf32> -> tensor<2x8xf32>
  %o = arith.mulf %b, %y : tensor<2x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<2x8xf32>
}

// -----

// Where its own dtype is asked for, a token is rounded to it again: what it was.
// CHECK-LABEL: replay.kernel @own_dtype
// CHECK: %[[S:.*]] = replay.stage
// CHECK: %[[K:.*]] = arith.truncf %[[S]] {replay.place = #replay<place remat>}
// CHECK: replay.append %{{.*}}, %{{.*}} ["raw_k"] %[[K]]
#ring = #replay.ring<4, [<"raw_k", bf16, key, K>]>
replay.kernel @own_dtype shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %k = replay.load_token "k" window(%first, %length) : tensor<2x8xbf16>
  replay.append %ring, %wp ["raw_k"] %k rows(%length) : tensor<2x8xbf16>
}

// -----

// Gates along K are shared out among the threads, with what they are loaded from and
// their exponentials. Those are staged where they are formed, and fetched once for the
// uses of a block; a state that a branch forms finds its factor where it is staged.
// CHECK-LABEL: replay.kernel @gates
// CHECK: %[[A:.*]] = replay.load_token "a" {replay.place = #replay<place spread>}
// CHECK: %[[DT:.*]] = replay.load_param "dt_bias" {replay.place = #replay<place spread>}
// CHECK: replay.phase gates
// CHECK-NEXT: %[[G:.*]] = replay.gate softplus(%[[A]], %{{.*}}, %[[DT]]) {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[E:.*]] = math.exp %[[G]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[ES:.*]] = replay.stage %[[E]] {replay.place = #replay<place shared>}
// CHECK-NEXT: %{{.*}}, %[[TOT:.*]] = replay.ring_weights %{{.*}} {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[TS:.*]] = replay.stage %[[TOT]] {replay.place = #replay<place shared>}
// CHECK-NEXT: %[[EE:.*]] = math.exp %[[E]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[EES:.*]] = replay.stage %[[EE]]
// CHECK-NEXT: replay.phase tokens
// CHECK-NEXT: %[[EF:.*]] = replay.fetch %[[ES]] : tensor<1x8xf32>
// CHECK-NEXT: %[[X:.*]] = arith.mulf %{{.*}}, %[[EF]]
// CHECK-NEXT: %[[TF:.*]] = replay.fetch %[[TS]]
// CHECK-NEXT: %[[XT:.*]] = arith.mulf %[[X]], %[[TF]]
// CHECK-NEXT: %[[XE:.*]] = arith.mulf %[[XT]], %[[EF]]
// CHECK-NEXT: %[[EEF:.*]] = replay.fetch %[[EES]]
// CHECK-NEXT: arith.mulf %[[XE]], %[[EEF]]
// CHECK: scf.if
// CHECK-NEXT: %[[SE:.*]] = replay.scale %{{.*}}, %[[ES]]
// CHECK-NEXT: replay.store_state %[[SE]]
// CHECK: %[[SF:.*]] = replay.scale %{{.*}}, %[[EF]]
// CHECK-NEXT: replay.store_state %[[SF]]
// Every thread may form all of them, but for those of the records.
// REGS-LABEL: replay.kernel @gates
// REGS: %[[G:.*]] = replay.gate softplus({{[^{]*}}) :
// REGS-NEXT: %[[E:.*]] = math.exp %[[G]] :
// REGS-NEXT: replay.ring_weights %{{.*}} {replay.place = #replay<place spread>}
// REGS-NEXT: replay.stage
// REGS-NEXT: math.exp %[[E]] :
// REGS: arith.mulf %{{.*}}, %[[E]]
// REGS: replay.scale %{{.*}}, %[[E]]
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
replay.kernel @gates shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %q = replay.load_token "q" : tensor<1x8xf32>
  %a = replay.load_token "a" : tensor<1x8xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x8xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x8xf32>, tensor<1x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %e = math.exp %g : tensor<1x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x8xf32>, tensor<1x8xf32>)
  %x = arith.mulf %q, %e : tensor<1x8xf32>
  %xt = arith.mulf %x, %tot : tensor<1x8xf32>
  %xe = arith.mulf %xt, %e : tensor<1x8xf32>
  %ee = math.exp %e : tensor<1x8xf32>
  %xee = arith.mulf %xe, %ee : tensor<1x8xf32>
  %y = replay.read %S, %xee : (!replay.state<8, 8, f32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
  %Sd = replay.decay %S, %g : <8, 8, f32>, tensor<1x8xf32>
  scf.if %live {
    %Se = replay.decay %S, %g : <8, 8, f32>, tensor<1x8xf32>
    replay.store_state %Se, %slot : <8, 8, f32>
  }
  replay.store_state %Sd, %slot : <8, 8, f32>
}

// -----

// In a window each token finds its rows where they are staged, and so do scores: the
// decays of a chain, the gates of a tree.
// CHECK-LABEL: replay.kernel @gates_of_tokens
// CHECK: replay.phase gates
// CHECK: %[[G:.*]] = replay.gate precomputed
// CHECK-NEXT: %[[GS:.*]] = replay.stage %[[G]]
// CHECK-NEXT: %[[SUM:.*]] = replay.cumulate %[[G]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[D:.*]] = replay.token_decays %[[G]] {replay.place = #replay<place spread>} : tensor<2x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT: %[[DS:.*]] = replay.stage %[[D]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[SUM]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[ES:.*]] = replay.stage %[[E]]
// CHECK-NEXT: replay.phase tokens
// CHECK-NEXT: arith.mulf %{{.*}}, %[[ES]] {replay.place = #replay<place remat>}
// CHECK-NOT: replay.fetch
// CHECK: replay.scores %{{.*}} with %{{.*}} decayed %[[DS]]
// CHECK: replay.scores %{{.*}} with %{{.*}} gated %[[GS]] tree
replay.kernel @gates_of_tokens shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x8xf32>
  %a = replay.load_token "a" window(%first, %length) : tensor<2x8xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %g = replay.gate precomputed(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %G = replay.cumulate %g : tensor<2x8xf32>
  %e = math.exp %G : tensor<2x8xf32>
  %x = arith.mulf %k, %e : tensor<2x8xf32>
  %y = replay.read %S, %x : (!replay.state<8, 8, f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %P = replay.scores %k with %k gated %g : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x2xf32>
  %Q = replay.scores %k with %k gated %g tree %p : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %o = replay.apply_scores %P, %y : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %oq = replay.apply_scores %Q, %o tree %p : (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  replay.store_out %oq as f32 window(%first, %length) : tensor<2x8xf32>
}
