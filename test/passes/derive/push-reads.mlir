// RUN: replayssm-opt %s -replay-push-reads | FileCheck %s

#gdn = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
#kda = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>

// read(S + d k^T, x) = fma(d, k.x, read(S, x)); norms in k stay scalars.
// CHECK-LABEL: replay.kernel @rank1
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[K:.*]] = replay.load_token "k"
// CHECK: %[[D:.*]] = replay.load_token "v"
// CHECK: %[[B:.*]] = replay.load_token "b"
// CHECK: %[[S:.*]] = replay.load_state
// CHECK: %[[Y:.*]] = replay.read %[[S]], %[[Q]]
// CHECK: %[[P:.*]] = replay.scores %[[Q]] with %[[K]]
// CHECK: %[[BP:.*]] = arith.mulf %[[B]], %[[P]] : tensor<1x1xf32>
// CHECK: %[[C:.*]] = tile.broadcast %[[BP]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK: %[[O:.*]] = math.fma %[[D]], %[[C]], %[[Y]]
// CHECK: replay.store_out %[[O]]
replay.kernel @rank1 shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xf32>
  %k = replay.load_token "k" : tensor<1x16xf32>
  %d = replay.load_token "v" : tensor<1x8xf32>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %bb = tile.broadcast %b : tensor<1x1xf32> -> tensor<1x16xf32>
  %kn = arith.mulf %k, %bb : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %S1 = replay.rank1 %S, %d, %kn : <8, 16, f32>, tensor<1x8xf32>, tensor<1x16xf32>
  %y = replay.read %S1, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
}

// A scalar gate goes behind the read and joins the scalar that is there.
// CHECK-LABEL: replay.kernel @decay_scalar
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[B:.*]] = replay.load_token "b"
// CHECK: %[[A:.*]] = replay.load_param "A_log"
// CHECK: %[[S:.*]] = replay.load_state
// CHECK: %[[E:.*]] = math.exp %[[B]] : tensor<1x1xf32>
// CHECK: %[[Y:.*]] = replay.read %[[S]], %[[Q]]
// CHECK: %[[AE:.*]] = arith.mulf %[[A]], %[[E]] : tensor<1x1xf32>
// CHECK: %[[AEB:.*]] = tile.broadcast %[[AE]]
// CHECK: %[[O:.*]] = arith.mulf %[[AEB]], %[[Y]]
// CHECK: replay.store_out %[[O]]
replay.kernel @decay_scalar shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %b = replay.load_token "b" : tensor<1x1xf32>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %S1 = replay.decay %S, %b : <8, 16, f32>, tensor<1x1xf32>
  %y = replay.read %S1, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  %Ab = tile.broadcast %A : tensor<1x1xf32> -> tensor<1x8xf32>
  %o = arith.mulf %Ab, %y : tensor<1x8xf32>
  replay.store_out %o as f32 : tensor<1x8xf32>
}

// A gate along K goes in front of it, behind the operand in the product.
// CHECK-LABEL: replay.kernel @decay_vector
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[A:.*]] = replay.load_token "a"
// CHECK: %[[E:.*]] = math.exp %[[A]] : tensor<1x16xf32>
// CHECK: %[[QF:.*]] = arith.extf %[[Q]]
// CHECK: %[[X:.*]] = arith.mulf %[[QF]], %[[E]] : tensor<1x16xf32>
// CHECK: replay.read %{{.*}}, %[[X]]
replay.kernel @decay_vector shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x16xbf16>
  %a = replay.load_token "a" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %S1 = replay.decay %S, %a : <8, 16, f32>, tensor<1x16xf32>
  %y = replay.read %S1, %q : (!replay.state<8, 16, f32>, tensor<1x16xbf16>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
}

// Checkpoint and ring, scalar gate: fma(tot, S0 x, ring x), the operand raw in both.
// CHECK-LABEL: replay.kernel @replay_scalar
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[S:.*]] = replay.load_state
// CHECK: %[[R:.*]] = replay.load_ring
// CHECK: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights %[[R]] : ({{.*}}) -> (tensor<4x1xf32>, tensor<1x1xf32>)
// CHECK: %[[Z:.*]] = replay.ring_read %[[R]], %[[W]], %[[Q]]
// CHECK: %[[Y:.*]] = replay.read %[[S]], %[[Q]]
// CHECK: %[[TOTB:.*]] = tile.broadcast %[[TOT]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK: %[[O:.*]] = math.fma %[[TOTB]], %[[Y]], %[[Z]]
// CHECK: replay.store_out %[[O]]
replay.kernel @replay_scalar shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #gdn kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%wp) : <#gdn>
  %S1 = replay.replay %S, %R : <8, 16, f32>, <#gdn>
  %y = replay.read %S1, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
}

// Gate along K: read(S0, tot .* x) + ring x. The states that a flush stores are made there.
// CHECK-LABEL: replay.kernel @replay_vector
// CHECK: %[[Q:.*]] = replay.load_token "q"
// CHECK: %[[A:.*]] = replay.load_token "a"
// CHECK: %[[S:.*]] = replay.load_state
// CHECK: %[[R:.*]] = replay.load_ring
// CHECK-NOT: replay.decay
// CHECK: %[[E:.*]] = math.exp %[[A]]
// CHECK: %[[X:.*]] = arith.mulf %[[Q]], %[[E]]
// CHECK: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights %[[R]] : ({{.*}}) -> (tensor<4x16xf32>, tensor<1x16xf32>)
// CHECK: %[[Z:.*]] = replay.ring_read %[[R]], %[[W]], %[[X]]
// CHECK: %[[X0:.*]] = arith.mulf %[[X]], %[[TOT]]
// CHECK: %[[Y:.*]] = replay.read %[[S]], %[[X0]]
// CHECK: %[[O:.*]] = arith.addf %[[Y]], %[[Z]]
// CHECK: replay.store_out %[[O]]
// CHECK: scf.if
// CHECK-NEXT: %[[S1:.*]] = replay.replay %[[S]], %[[R]]
// CHECK-NEXT: %[[S2:.*]] = replay.decay %[[S1]], %[[A]]
// CHECK-NEXT: replay.store_state %[[S2]]
replay.kernel @replay_vector shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #kda kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x16xf32>
  %a = replay.load_token "a" : tensor<1x16xf32>
  %S = replay.load_state %slot : <8, 16, f32>
  %R = replay.load_ring %ring valid(%wp) : <#kda>
  %S1 = replay.replay %S, %R : <8, 16, f32>, <#kda>
  %S2 = replay.decay %S1, %a : <8, 16, f32>, tensor<1x16xf32>
  %y = replay.read %S2, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
  replay.store_out %y as f32 : tensor<1x8xf32>
  scf.if %flush {
    replay.store_state %S2, %slot : <8, 16, f32>
  }
}
