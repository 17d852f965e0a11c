// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// A state goes around a loop as a tile; the one that is stored is the one that is
// carried on. A null row writes zeros to all of its tokens.
// CHECK-LABEL: gpu.func @carried
// CHECK-SAME: ["state", "pointer", "f32"], ["snapshots", "pointer", "f32"]
// CHECK: scf.if
// CHECK: %[[S0:.*]] = tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[N:.*]] step %{{.*}} iter_args(%[[S:.*]] = %[[S0]]) -> (tensor<16x32xf32>)
// CHECK: tile.load %{{.*}} strides [32, 1] rows(%{{.*}}) {{.*}} -> tensor<1x16xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]], %{{.*}} : tensor<16x32xf32>
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: tile.store %[[NEXT]],
// CHECK: scf.yield %[[NEXT]] : tensor<16x32xf32>
// CHECK: } else {
// CHECK: tile.store %{{.*}} rows(%[[N]])
// CHECK: tile.store
// CHECK: tile.store
// CHECK-NOT: tile.store
replay.kernel @carried shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %S0 = replay.load_state %slot : <32, 32, f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %R = scf.for %t = %c0 to %length step %c1 iter_args(%S = %S0) -> (!replay.state<32, 32, f32>) {
    %at = arith.addi %first, %t : index
    %v = replay.load_token "v" window(%at, %c1) : tensor<1x32xf32>
    %k = replay.load_token "k" window(%at, %c1) : tensor<1x32xf32>
    replay.store_out %v as f32 window(%at, %c1) : tensor<1x32xf32>
    %S1 = replay.rank1 %S, %v, %k : <32, 32, f32>, tensor<1x32xf32>, tensor<1x32xf32>
    replay.store_state %S1, %ring at(%t) : <32, 32, f32>
    scf.yield %S1 : !replay.state<32, 32, f32>
  }
}

// -----

// What a branch yields: the state of before, the checkpoint, which is loaded again
// instead of being kept, or a snapshot.
// CHECK-LABEL: gpu.func @chosen
// CHECK: %[[S0:.*]] = tile.load %[[STATE:arg[0-9]+]][%[[AT:.*]]] strides [32, 1] {{.*}} -> tensor<16x32xbf16>
// CHECK: %[[F0:.*]] = arith.extf %[[S0]]
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %[[F0]])
// CHECK: %[[PARENT:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[BASE:.*]] = scf.if %{{.*}} -> (tensor<16x32xf32>) {
// CHECK:   scf.yield %[[S]]
// CHECK: } else {
// CHECK:   scf.if %{{.*}} -> (tensor<16x32xf32>) {
// CHECK:     tile.load %[[STATE]][
// CHECK:     %[[AGAIN:.*]] = arith.extf
// CHECK:     scf.yield %[[AGAIN]]
// CHECK:   } else {
// CHECK:     %[[TOKEN:.*]] = arith.index_cast %[[PARENT]] : index to i64
// CHECK:     arith.muli %[[TOKEN]],
// CHECK:     tile.load %{{.*}} -> tensor<16x32xbf16>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[BASE]]
// CHECK: tile.store %[[ROUNDED]],
// CHECK: scf.yield %[[BASE]]
replay.kernel @chosen shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %S0 = replay.load_state %slot : <32, 32, bf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %R = scf.for %t = %c0 to %length step %c1 iter_args(%S = %S0) -> (!replay.state<32, 32, bf16>) {
    %parent = replay.load_row "parent"[%t]
    %same = arith.cmpi eq, %parent, %t : index
    %B = scf.if %same -> (!replay.state<32, 32, bf16>) {
      scf.yield %S : !replay.state<32, 32, bf16>
    } else {
      %none = arith.cmpi slt, %parent, %c0 : index
      %C = scf.if %none -> (!replay.state<32, 32, bf16>) {
        scf.yield %S0 : !replay.state<32, 32, bf16>
      } else {
        %P = replay.load_state %ring at(%parent) : <32, 32, bf16>
        scf.yield %P : !replay.state<32, 32, bf16>
      }
      scf.yield %C : !replay.state<32, 32, bf16>
    }
    replay.store_state %B, %ring at(%t) : <32, 32, bf16>
    scf.yield %B : !replay.state<32, 32, bf16>
  }
}

// -----

// A checkpoint that the kernel writes over is not loaded twice.
// CHECK-LABEL: gpu.func @overwritten
// CHECK: %[[S0:.*]] = tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %[[S0]])
// CHECK: tile.store %[[S]],
// CHECK: scf.yield %[[S0]]
// CHECK-NOT: tensor<16x32xf32>, #
replay.kernel @overwritten shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %S0 = replay.load_state %slot : <32, 32, f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %R = scf.for %t = %c0 to %length step %c1 iter_args(%S = %S0) -> (!replay.state<32, 32, f32>) {
    replay.store_state %S, %slot : <32, 32, f32>
    scf.yield %S0 : !replay.state<32, 32, f32>
  }
}

// -----

// The fields of one record of a circular ring lie at (base + j) mod length, each in
// its own dtype. Gates along K are computed by one thread each and shared.
// CHECK-LABEL: gpu.func @record
// CHECK-SAME: ["g_ring", "pointer", "f32"], ["raw_v_ring", "pointer", "f16"], ["raw_k_ring", "pointer", "f16"], ["beta_ring", "pointer", "f32"]
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
// CHECK: %[[WRAPS:.*]] = arith.cmpi sge, %[[SUM]], %[[L:.*]] : i64
// CHECK: %[[LESS:.*]] = arith.subi %[[SUM]], %[[L]] : i64
// CHECK: %[[AT:.*]] = arith.select %[[WRAPS]], %[[LESS]], %[[SUM]] : i64
// CHECK: arith.muli %[[AT]], %{{.*}} : i64
// CHECK: tile.load %{{.*}} strides [32, 1] rows(%{{.*}}) layout <[r1:1], [l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x32xf16>
// CHECK: tile.load %{{.*}} layout <[r1:1], [w2:1, l4:8, r2:1]> : !llvm.ptr<1> -> tensor<1x16xf16>
// CHECK: %[[G:.*]] = tile.load %{{.*}} layout <[r1:1], [l32:1]> : !llvm.ptr<1> -> tensor<1x32xf32>
// CHECK: %[[BETA:.*]] = tile.load %{{.*}} layout <[r1:1], [r1:1]> : !llvm.ptr<1> -> tensor<1x1xf32>
// CHECK: %[[E:.*]] = math.exp %[[G]]
// CHECK: tile.store %[[E]], %[[M:[0-9a-z_]+]][
// CHECK: tile.load %[[M]][{{.*}} layout <[r1:1], [l8:1, r4:1]>
#ring = #replay.ring<6, [<"g", f32, value, K>, <"raw_v", f16, value, V>, <"raw_k", f16, key, K>, <"beta", f32, value, one>], circular>
replay.kernel @record shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %base = replay.load_slot "base" %ring
  %S0 = replay.load_state %slot : <32, 32, f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %R = scf.for %j = %c0 to %wp step %c1 iter_args(%S = %S0) -> (!replay.state<32, 32, f32>) {
    %k = replay.load_record "raw_k" %ring, %j base(%base) : tensor<1x32xf16>
    %v = replay.load_record "raw_v" %ring, %j base(%base) : tensor<1x32xf16>
    %g = replay.load_record "g" %ring, %j base(%base) : tensor<1x32xf32>
    %beta = replay.load_record "beta" %ring, %j base(%base) : tensor<1x1xf32>
    %e = math.exp %g : tensor<1x32xf32>
    %kf = arith.extf %k : tensor<1x32xf16> to tensor<1x32xf32>
    %ke = arith.mulf %kf, %e : tensor<1x32xf32>
    %vf = arith.extf %v : tensor<1x32xf16> to tensor<1x32xf32>
    %b = tile.broadcast %beta : tensor<1x1xf32> -> tensor<1x32xf32>
    %d = arith.mulf %b, %vf : tensor<1x32xf32>
    %S1 = replay.rank1 %S, %d, %ke : <32, 32, f32>, tensor<1x32xf32>, tensor<1x32xf32>
    scf.yield %S1 : !replay.state<32, 32, f32>
  }
  replay.store_state %R, %slot : <32, 32, f32>
}

// -----

// Keys of a window are staged in f32: a raw field gets them back in its own dtype.
// CHECK-LABEL: gpu.func @raw_append
// CHECK: %[[K:.*]] = tile.load %{{.*}} : !tile.smem<2, 32, f32> -> tensor<1x32xf32>
// CHECK: %[[RAW:.*]] = arith.truncf %[[K]] : tensor<1x32xf32> to tensor<1x32xbf16>
// CHECK: tile.store %[[RAW]], {{.*}} owner(
#ring = #replay.ring<4, [<"raw_k", bf16, key, K>]>
replay.kernel @raw_append shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xbf16>
  replay.append %ring, %wp ["raw_k"] %k rows(%length) : tensor<2x32xbf16>
}

// -----

// One branch writes over the checkpoint and a later one goes back to it: it is
// loaded in front of both.
// CHECK-LABEL: gpu.func @late
// CHECK: %[[S0:.*]] = tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: scf.if
// CHECK: tile.store
// CHECK: scf.if
// CHECK-NOT: tile.load
// CHECK: tile.store %[[S0]],
replay.kernel @late shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %dst = replay.load_row "dst_idx"
  %n = replay.load_row "accept_len"
  %g = replay.load_param "A_log" : tensor<1x1xf32>
  %c0 = arith.constant 0 : index
  %some = arith.cmpi sgt, %n, %c0 : index
  %S0 = replay.load_state %slot : <32, 32, f32>
  scf.if %some {
    %S1 = replay.decay %S0, %g : <32, 32, f32>, tensor<1x1xf32>
    replay.store_state %S1, %slot : <32, 32, f32>
  }
  scf.if %some {
    replay.store_state %S0, %dst : <32, 32, f32>
  }
}

// -----

// A slot that is written in each iteration is read before the first of them; where
// nothing writes to it, it is read where it is needed.
// CHECK-LABEL: gpu.func @again
// CHECK: tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK: tile.store
// CHECK: }
replay.kernel @again shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "accept_len"
  %g = replay.load_param "A_log" : tensor<1x1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %S0 = replay.load_state %slot : <32, 32, f32>
  scf.for %i = %c0 to %n step %c1 {
    %S1 = replay.decay %S0, %g : <32, 32, f32>, tensor<1x1xf32>
    replay.store_state %S1, %slot : <32, 32, f32>
  }
}

// -----

// Bounds that are narrower than an index.
// CHECK-LABEL: gpu.func @narrow
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (i32) {
// CHECK: %[[NARROW:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: arith.addi %[[NARROW]], %[[SUM]] : i32
replay.kernel @narrow shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %n = replay.load_row "accept_len"
  %m = arith.index_cast %n : index to i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = scf.for %i = %c0 to %m step %c1 iter_args(%s = %c0) -> i32 : i32 {
    %t = arith.addi %i, %s : i32
    scf.yield %t : i32
  }
  %y = arith.index_cast %x : i32 to index
  replay.store_row "fold_len", %y
}

// -----

// Records of a loop: a bulk copy is waited for once, so keys come by plain loads.
// CHECK-LABEL: gpu.func @folds
// CHECK: scf.for
// CHECK-NOT: tile.copy
// CHECK: tile.load %{{.*}} -> tensor<4x32xf32>
// CHECK: gpu.return
#dkg = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @folds shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #dkg kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "fold_len"
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %S0 = replay.load_state %slot : <32, 32, f32>
  %R = replay.load_ring %ring valid(%n) : <#dkg>
  scf.for %i = %c0 to %n step %c1 {
    %S1 = replay.replay %S0, %R : <32, 32, f32>, <#dkg>
    replay.store_state %S1, %i : <32, 32, f32>
  }
}

// -----

// What scores are made of is formed in each region that needs it: what the first
// loop has in shared memory is nothing to the second.
// CHECK-LABEL: gpu.func @scores_twice
// CHECK: scf.for
// CHECK: %[[A:.*]] = tile.alloc : <3, 2, f32>
// CHECK: tile.store %{{.*}}, %[[A]][
// CHECK: scf.for
// CHECK: %[[B:.*]] = tile.alloc : <3, 2, f32>
// CHECK: tile.store %{{.*}}, %[[B]][
replay.kernel @scores_twice shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %length step %c1 {
    %P = replay.scores %k with %k gated %g : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x2xf32>
    %o = replay.apply_scores %P, %v : (tensor<2x2xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
    replay.store_out %o as f32 window(%first, %length) : tensor<2x32xf32>
  }
  scf.for %i = %c0 to %length step %c1 {
    %P = replay.scores %k with %k gated %g : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x2xf32>
    %o = replay.apply_scores %P, %v : (tensor<2x2xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
    replay.store_out %o as f32 window(%first, %length) : tensor<2x32xf32>
  }
}
