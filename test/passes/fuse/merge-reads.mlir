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
