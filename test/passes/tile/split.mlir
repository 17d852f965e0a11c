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
