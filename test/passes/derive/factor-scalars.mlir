// RUN: replayssm-opt %s -replay-factor-scalars | FileCheck %s

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

// A scalar per row leaves the operand of a read, on any virtual state, in any position; what
// differs along K stays.
// CHECK-LABEL: replay.kernel @reads
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[A:.*]] = replay.load_token "a"
// CHECK: %[[B:.*]] = replay.load_token "b"
// CHECK: %[[XA:.*]] = arith.mulf %[[Q]], %[[A]] : tensor<1x16xf32>
// CHECK: %[[SS:.*]] = arith.mulf %[[B]], %{{.*}} : tensor<1x1xf32>
// CHECK: %[[Y:.*]]:3 = replay.read %{{.*}}, %[[Q]], %[[XA]], %[[XA]]
// CHECK: %[[S0:.*]] = tile.broadcast %[[B]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK: %[[Y0:.*]] = arith.mulf %[[S0]], %[[Y]]#0
// CHECK: %[[S1:.*]] = tile.broadcast %[[SS]]
// CHECK: %[[Y1:.*]] = arith.mulf %[[S1]], %[[Y]]#1
// CHECK: %[[Z:.*]] = replay.ring_read %{{.*}}, %{{.*}}, %[[Q]] :
// CHECK: %[[Z0:.*]] = arith.mulf %[[S0]], %[[Z]]
// CHECK: replay.store_out %[[Y0]]
// CHECK: replay.store_out %[[Y1]]
// CHECK: replay.store_out %[[Y]]#2
// CHECK: replay.store_out %[[Z0]]
replay.kernel @reads shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %a = replay.load_token "a" : tensor<1x16xf32>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %S0 = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%slot) : <#ring>
  %S = replay.decay %S0, %b : <8, 16, f32>, tensor<1x1xf32>
  %bb = tile.broadcast %b : tensor<1x1xf32> -> tensor<1x16xf32>
  %Ab = tile.broadcast %A : tensor<1x1xf32> -> tensor<1x16xf32>
  %bq = arith.mulf %bb, %q : tensor<1x16xf32>
  %bqa = arith.mulf %bq, %a : tensor<1x16xf32>
  %bqaA = arith.mulf %bqa, %Ab : tensor<1x16xf32>
  %qa = arith.mulf %q, %a : tensor<1x16xf32>
  %y:3 = replay.read %S, %bq, %bqaA, %qa : (!replay.state<8, 16, f32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %z = replay.ring_read %R, %w, %bq : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  replay.store_out %y#0 as f32 : tensor<1x8xf32>
  replay.store_out %y#1 as f32 : tensor<1x8xf32>
  replay.store_out %y#2 as f32 : tensor<1x8xf32>
  replay.store_out %z as f32 : tensor<1x8xf32>
}

// Scores: the scalars of x belong to rows, those of y to columns.
// CHECK-LABEL: replay.kernel @scores
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[B:.*]] = replay.load_token "b"
// CHECK: %[[P:.*]] = replay.scores %[[Q]] with %[[Q]] gated %{{.*}} : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[B]]
// CHECK: %[[ROW:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} into tensor<1x2xf32>
// CHECK: %[[X:.*]] = tile.broadcast %[[B]] : tensor<2x1xf32> -> tensor<2x2xf32>
// CHECK: %[[Y:.*]] = tile.broadcast %[[ROW]] : tensor<1x2xf32> -> tensor<2x2xf32>
// CHECK: %[[XY:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK: %[[PXY:.*]] = arith.mulf %[[XY]], %[[P]]
// CHECK: replay.apply_scores %[[PXY]],
// The same for one row of each.
// CHECK: %[[Q0:.*]] = tensor.extract_slice %[[Q]][0, 0]
// CHECK: %[[B0:.*]] = tensor.extract_slice %[[B]][0, 0]
// CHECK: %[[Q1:.*]] = tensor.extract_slice %[[Q]][1, 0]
// CHECK: %[[B1:.*]] = tensor.extract_slice %[[B]][1, 0]
// CHECK: %[[P1:.*]] = replay.scores %[[Q0]] with %[[Q1]] :
// CHECK: %[[B01:.*]] = arith.mulf %[[B0]], %[[B1]] : tensor<1x1xf32>
// CHECK: arith.mulf %[[B01]], %[[P1]] : tensor<1x1xf32>
replay.kernel @scores shape <H = 2, HV = 4, K = 16, V = 8> null lt0 window 2 kred <lanes = 4, vec = 4> {
  %q = replay.load_token "q" : tensor<2x16xf32>
  %b = replay.load_token "b" : tensor<2x1xf32>
  %v = replay.load_token "v" : tensor<2x8xf32>
  %bb = tile.broadcast %b : tensor<2x1xf32> -> tensor<2x16xf32>
  %bq = arith.mulf %q, %bb : tensor<2x16xf32>
  %P = replay.scores %bq with %bq gated %b : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %o = replay.apply_scores %P, %v : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  replay.store_out %o as f32 : tensor<2x8xf32>
  %q0 = tensor.extract_slice %bq[0, 0] [1, 16] [1, 1] : tensor<2x16xf32> to tensor<1x16xf32>
  %q1 = tensor.extract_slice %bq[1, 0] [1, 16] [1, 1] : tensor<2x16xf32> to tensor<1x16xf32>
  %p = replay.scores %q0 with %q1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x1xf32>
  %p2 = tile.broadcast %p : tensor<1x1xf32> -> tensor<2x8xf32>
  replay.store_out %p2 as f32 : tensor<2x8xf32>
}
