// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-place | FileCheck %s

// An update is formed in the branch that stores it. The read of the same records stages
// what the fold takes, where it will be folded; copies are waited for in front of their
// first use.
// CHECK-LABEL: replay.kernel @decode
// CHECK: %[[IF:.*]] = arith.cmpi
// CHECK: %[[S:.*]] = replay.load_state %{{.*}} {replay.place = #replay<place shared>}
// CHECK-NEXT: %[[R:.*]] = replay.load_ring
// CHECK-NEXT: %[[G:.*]] = replay.load_field "g" %[[R]] :
// CHECK-NEXT: %[[D:.*]] = replay.load_field "d" %[[R]] :
// CHECK-NEXT: %[[K:.*]] = replay.load_field "k" %[[R]] {replay.place = #replay<place shared>}
// CHECK: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights %[[R]] of %[[G]]
// CHECK: %[[KL:.*]] = replay.wait %[[K]] : tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]]:2 = replay.ring_read %[[R]], %[[W]], %{{.*}} of %[[KL]], %[[D]] when %[[IF]]
// CHECK-NEXT: %[[SL:.*]] = replay.wait %[[S]]
// CHECK-NEXT: replay.read %[[SL]]
// CHECK: scf.if %[[IF]] {
// CHECK-NEXT: %[[F:.*]] = replay.replay %[[SL]], %[[Y]]#1 decayed(%[[TOT]] : tensor<1x1xf32>)
// CHECK-NEXT: %[[U:.*]] = replay.rank1 %[[F]]
// CHECK-NEXT: replay.store_state %[[U]]
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @decode shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x8xf32>
  %v = replay.load_token "v" : tensor<1x8xf32>
  %wp = replay.load_slot "wp" %ring most(3)
  %c3 = arith.constant 3 : index
  %isFull = arith.cmpi eq, %wp, %c3 : index
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %F = replay.replay %S, %R : <8, 8, f32>, <#ring>
  %U = replay.rank1 %F, %v, %q : <8, 8, f32>, tensor<1x8xf32>, tensor<1x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %r = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %y = replay.read %S, %q : (!replay.state<8, 8, f32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %o = arith.addf %r, %y : tensor<1x8xf32>
  replay.store_out %o as f32 : tensor<1x8xf32>
  scf.if %isFull {
    replay.store_state %U, %slot : <8, 8, f32>
  }
}

// -----

// A checkpoint that only a branch needs is loaded in it, straight to registers; but in
// front of a store to its slot.
// CHECK-LABEL: replay.kernel @branches
// CHECK-NOT: replay.load_state
// CHECK: replay.phase writes
// CHECK-NEXT: scf.if
// CHECK-NEXT: replay.load_state %{{.*}} {replay.place = #replay<place regs>}
// CHECK-NEXT: replay.store_state
// CHECK-LABEL: replay.kernel @overwritten
// CHECK: replay.phase loads
// CHECK: %[[S:.*]] = replay.load_state %[[SLOT:.*]] :
// CHECK: replay.phase writes
// CHECK-NEXT: replay.store_state %{{.*}}, %[[SLOT]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: replay.store_state %[[S]]
replay.kernel @branches shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %dst = replay.load_row "dst_idx"
  %S = replay.load_state %slot : <8, 8, f32>
  %isOther = arith.cmpi ne, %slot, %dst : index
  scf.if %isOther {
    replay.store_state %S, %dst : <8, 8, f32>
  }
}
replay.kernel @overwritten shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %dst = replay.load_row "dst_idx"
  %S = replay.load_state %slot : <8, 8, f32>
  %S2 = replay.load_state %dst : <8, 8, f32>
  %isOther = arith.cmpi ne, %slot, %dst : index
  replay.store_state %S2, %slot : <8, 8, f32>
  scf.if %isOther {
    replay.store_state %S, %dst : <8, 8, f32>
  }
}

// -----

// A loop that carries another state loads a checkpoint again that nothing overwrites.
// Records that nothing reads are staged in front of their fold.
// CHECK-LABEL: replay.kernel @loop
// CHECK: scf.for
// CHECK: %[[AGAIN:.*]] = replay.load_state
// CHECK-NEXT: replay.read %[[AGAIN]]
// CHECK-LABEL: replay.kernel @fold
// CHECK: replay.load_field "d"
// CHECK: replay.load_field "k"
// CHECK: %[[STAGED:.*]] = replay.stage_records
// CHECK-NEXT: %[[F:.*]] = replay.replay %{{.*}}, %[[STAGED]] decayed
// CHECK-NEXT: replay.store_state %[[F]]
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @loop shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 4 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %S = replay.load_state %slot : <8, 8, f32>
  %y = scf.for %t = %c0 to %length step %c1 iter_args(%T = %S) -> (!replay.state<8, 8, f32>) {
    %at = arith.addi %first, %t : index
    %k = replay.load_token "k" window(%at, %c1) : tensor<1x8xf32>
    %z = replay.read %S, %k : (!replay.state<8, 8, f32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %U = replay.rank1 %T, %z, %k : <8, 8, f32>, tensor<1x8xf32>, tensor<1x8xf32>
    replay.store_state %U, %ring at(%t) : <8, 8, f32>
    scf.yield %U : !replay.state<8, 8, f32>
  }
}
replay.kernel @fold shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %F = replay.replay %S, %R : <8, 8, f32>, <#ring>
  replay.store_state %F, %slot : <8, 8, f32>
}
