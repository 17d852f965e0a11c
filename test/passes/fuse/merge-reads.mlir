// RUN: replayssm-opt %s -replay-merge-reads | FileCheck %s

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

// Reads of one state become one; what a later operand needs moves up; equal operands are read once.
// CHECK-LABEL: replay.kernel @merged
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[K:.*]] = replay.load_token "k"
// CHECK: %[[X:.*]] = arith.mulf %[[Q]], %[[K]]
// CHECK: %[[Y:.*]]:2 = replay.read %{{.*}}, %[[Q]], %[[X]] :
// CHECK-NOT: replay.read
// CHECK: %[[Z:.*]]:2 = replay.ring_read %{{.*}}, %{{.*}}, %[[Q]], %[[K]] :
// CHECK-NOT: replay.ring_read
// CHECK: arith.addf %[[Y]]#0, %[[Y]]#0
// CHECK: arith.addf %[[Y]]#1, %[[Z]]#0
// CHECK: replay.store_out %[[Z]]#1
replay.kernel @merged shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %k = replay.load_token "k" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%slot) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %y0 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %z0 = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %z1 = replay.ring_read %R, %w, %k : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %x = arith.mulf %q, %k : tensor<1x16xf32>
  %y1 = replay.read %S, %x : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %y2 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %a = arith.addf %y0, %y2 : tensor<1x8xf32>
  %b = arith.addf %y1, %z0 : tensor<1x8xf32>
  replay.store_out %a as f32 : tensor<1x8xf32>
  replay.store_out %b as f32 : tensor<1x8xf32>
  replay.store_out %z1 as f32 : tensor<1x8xf32>
}

// A read that needs another's result cannot share its pass; a third one joins the last pass.
// CHECK-LABEL: replay.kernel @chained
// CHECK: %[[Y0:.*]] = replay.read %[[S:.*]], %[[Q:.*]] :
// CHECK: %[[X:.*]] = tensor.concat dim(1) %[[Y0]], %[[Y0]]
// CHECK: %[[Y1:.*]]:2 = replay.read %[[S]], %[[X]], %[[Q]] :
// CHECK: arith.addf %[[Y1]]#0, %[[Y1]]#1
replay.kernel @chained shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %y0 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %x = tensor.concat dim(1) %y0, %y0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
  %y1 = replay.read %S, %x : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %y2 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %a = arith.addf %y1, %y2 : tensor<1x8xf32>
  replay.store_out %a as f32 : tensor<1x8xf32>
}

// Reads of two states stay apart.
// CHECK-LABEL: replay.kernel @two_states
// CHECK: replay.read %{{.*}}, %{{.*}} : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
// CHECK: replay.read %{{.*}}, %{{.*}} : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
replay.kernel @two_states shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %T = replay.load_state %ring : <8, 16, f32>
  %y0 = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %y1 = replay.read %T, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %a = arith.addf %y0, %y1 : tensor<1x8xf32>
  replay.store_out %a as f32 : tensor<1x8xf32>
}

// A pass that reads another state in between does not get in the way.
// CHECK-LABEL: replay.kernel @interleaved
// CHECK: %[[A:.*]] = replay.read %[[S:.*]], %[[Q:.*]] :
// CHECK: %[[B:.*]]:2 = replay.read %[[T:.*]], %[[Q]], %[[K:.*]] :
// CHECK: %[[X:.*]] = tensor.concat dim(1) %[[B]]#0, %[[B]]#1
// CHECK: %[[C:.*]] = replay.read %[[S]], %[[X]] :
replay.kernel @interleaved shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %T = replay.load_state %ring : <8, 16, f32>
  %a = replay.read %S, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %b0 = replay.read %T, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %k = math.exp %q : tensor<1x16xf32>
  %b1 = replay.read %T, %k : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %x = tensor.concat dim(1) %b0, %b1 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
  %c = replay.read %S, %x : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  %d = arith.addf %a, %c : tensor<1x8xf32>
  replay.store_out %d as f32 : tensor<1x8xf32>
}

// Scores of a window are merged where y, gates and parents are the same, so that what
// decays is formed once; plain products have nothing in common.
// CHECK-LABEL: replay.kernel @scores
// CHECK: %[[P:.*]]:2 = replay.scores %[[K:.*]], %[[Q:.*]] with %[[K]] gated %[[G:.*]] tree %[[T:.*]] :
// CHECK: %[[C:.*]]:2 = replay.scores %[[K]], %[[Q]] with %[[K]] gated %[[G]] :
// CHECK: %[[Y:.*]] = replay.scores %[[K]] with %[[Q]] gated %[[G]] :
// CHECK: replay.scores %[[K]] with %[[K]] : (
// CHECK: replay.scores %[[Q]] with %[[K]] : (
// CHECK: replay.apply_scores %[[P]]#0,
// CHECK: replay.apply_scores %[[P]]#1,
// CHECK: replay.apply_scores %[[C]]#1,
// CHECK: replay.apply_scores %[[C]]#0,
// CHECK: replay.apply_scores %[[Y]],
replay.kernel @scores shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %first, %length = replay.window
  %t = replay.load_parents rows(%length) : tensor<2x1xi32>
  %q = replay.load_token "q" : tensor<2x16xf32>
  %k = replay.load_token "k" : tensor<2x16xf32>
  %g = replay.load_token "a" : tensor<2x1xf32>
  %v = replay.load_token "v" : tensor<2x8xf32>
  %pk = replay.scores %k with %k gated %g tree %t : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %ck = replay.scores %k with %k gated %g : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %pq = replay.scores %q with %k gated %g tree %t : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %cq = replay.scores %q with %k gated %g : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %yq = replay.scores %k with %q gated %g : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %nk = replay.scores %k with %k : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %nq = replay.scores %q with %k : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
  %a = replay.apply_scores %pk, %v tree %t : (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  %b = replay.apply_scores %pq, %a tree %t : (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  %c = replay.apply_scores %cq, %b : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %d = replay.apply_scores %ck, %c : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %e = replay.apply_scores %yq, %d : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %f = replay.apply_scores %nk, %e : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %h = replay.apply_scores %nq, %f : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  replay.store_out %h as f32 : tensor<2x8xf32>
}
