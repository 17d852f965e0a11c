// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-order | FileCheck %s

// What is written last of all waits for the least: it comes first.
// CHECK-LABEL: replay.kernel @phases
// CHECK: scf.if
// CHECK-NEXT: replay.phase loads
// CHECK-NEXT: %[[WP:.*]] = replay.load_slot "wp"
// CHECK-NEXT: %[[S:.*]] = replay.load_state
// CHECK-NEXT: %[[R:.*]] = replay.load_ring
// CHECK-NEXT: %[[RG:.*]] = replay.load_field "g" %[[R]]
// CHECK-NEXT: %[[RD:.*]] = replay.load_field "d" %[[R]]
// CHECK-NEXT: %[[RK:.*]] = replay.load_field "k" %[[R]]
// CHECK-NEXT: replay.phase gates
// CHECK-NEXT: %[[G:.*]] = replay.gate precomputed
// CHECK-NEXT: %[[EG:.*]] = math.exp %[[G]]
// CHECK-NEXT: %[[W:.*]], %{{.*}} = replay.ring_weights %[[R]] of %[[RG]]
// CHECK-NEXT: replay.phase tokens
// CHECK-NEXT: %[[N:.*]] = replay.rnorm
// CHECK-NEXT: %[[X:.*]] = arith.mulf %{{.*}}, %[[EG]]
// CHECK-NEXT: replay.phase pairs
// CHECK-NEXT: %[[P:.*]] = replay.scores
// CHECK-NEXT: replay.phase reads
// CHECK-NEXT: %[[C:.*]] = replay.ring_read %[[R]], %[[W]], %[[X]] of %[[RK]], %[[RD]]
// CHECK-NEXT: %[[Y:.*]] = replay.read %[[S]], %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[C]], %[[Y]]
// A number is repeated where the vector is needed.
// CHECK-NEXT: %[[NB:.*]] = tile.broadcast %[[N]]
// CHECK-NEXT: %[[O:.*]] = arith.mulf %[[NB]], %[[SUM]]
// CHECK-NEXT: %[[PB:.*]] = tile.broadcast %[[P]]
// CHECK-NEXT: arith.mulf %[[PB]], %[[O]]
// A state that decays is virtual, and stays where it is needed.
// CHECK-NEXT: %[[SD:.*]] = replay.scale %[[S]], %[[EG]]
// CHECK-NEXT: replay.phase writes
// CHECK-NEXT: replay.store_out
// CHECK-NEXT: replay.store_state %[[SD]]
// CHECK-NEXT: } else {
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
replay.kernel @phases shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x8xf32>
  %a = replay.load_token "a" : tensor<1x8xf32>
  %n = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6 : f64} : (tensor<1x8xf32>) -> tensor<1x1xf32>
  %nb = tile.broadcast %n : tensor<1x1xf32> -> tensor<1x8xf32>
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <8, 8, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %g = replay.gate precomputed(%a) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %eg = math.exp %g : tensor<1x8xf32>
  %x = arith.mulf %q, %eg : tensor<1x8xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x8xf32>, tensor<1x8xf32>)
  %c = replay.ring_read %R, %w, %x : (!replay.records<#ring>, tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %y = replay.read %S, %x : (!replay.state<8, 8, f32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %sum = arith.addf %c, %y : tensor<1x8xf32>
  %o = arith.mulf %nb, %sum : tensor<1x8xf32>
  %p = replay.scores %q with %q : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x1xf32>
  %pb = tile.broadcast %p : tensor<1x1xf32> -> tensor<1x8xf32>
  %po = arith.mulf %pb, %o : tensor<1x8xf32>
  replay.store_out %po as f32 : tensor<1x8xf32>
  %Sd = replay.decay %S, %g : <8, 8, f32>, tensor<1x8xf32>
  replay.store_state %Sd, %slot : <8, 8, f32>
}

// -----

// Branches that write stand last, in their order; so does what they leave behind.
// CHECK-LABEL: replay.kernel @writes
// CHECK: replay.phase writes
// CHECK-NEXT: %[[N:.*]] = scf.if %{{.*}} -> (index) {
// CHECK: replay.store_state
// CHECK: replay.store_out
// CHECK: %[[NEXT:.*]] = arith.addi %[[N]]
// CHECK: replay.store_row "fold_len", %[[NEXT]]
replay.kernel @writes shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %v = replay.load_token "v" : tensor<1x8xf32>
  %c1 = arith.constant 1 : index
  %n = scf.if %live -> index {
    %S = replay.load_state %slot : <8, 8, f32>
    replay.store_state %S, %slot : <8, 8, f32>
    scf.yield %c1 : index
  } else {
    scf.yield %slot : index
  }
  replay.store_out %v as f32 : tensor<1x8xf32>
  %next = arith.addi %n, %c1 : index
  replay.store_row "fold_len", %next
}
