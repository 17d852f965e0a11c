// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// A parent is an earlier token and of the row, or none. Each path is that of the
// parent and the token itself.
// CHECK-LABEL: gpu.func @scalar_gates
// CHECK-SAME: ["query_start_loc", "pointer", "i32"], ["parent", "pointer", "i32"]
// CHECK: %[[LIVE:.*]] = arith.cmpi sge
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[GIVEN1:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[EARLIER1:.*]] = arith.cmpi ult, %[[GIVEN1]], %{{.*}} : i32
// CHECK: %[[THERE1:.*]] = arith.cmpi slt, %{{.*}}, %[[LENGTH]] : i32
// A null row may hold anything.
// CHECK: %[[USED1:.*]] = arith.andi %[[THERE1]], %[[LIVE]]
// CHECK: %[[ASKED1:.*]] = arith.select %[[USED1]], %[[GIVEN1]], %{{.*}} : i32
// CHECK: tile.expect "parent" %[[ASKED1]]
// CHECK: %[[ANY1:.*]] = arith.andi %[[EARLIER1]], %[[THERE1]]
// CHECK: %[[PARENT1:.*]] = arith.select %[[ANY1]], %[[GIVEN1]], %{{.*}} : i32
// CHECK: %[[IS0:.*]] = arith.cmpi eq, %[[PARENT1]], %{{.*}} : i32
// CHECK: %[[UP1:.*]] = arith.select %[[IS0]], %{{.*}}, %{{.*}} : i32
// CHECK: %[[PATH1:.*]] = arith.ori %[[UP1]], %{{.*}} : i32
// CHECK: %[[GIVEN2:.*]] = llvm.load {{.*}} -> i32
// CHECK: tile.expect "parent"
// CHECK: %[[PARENT2:.*]] = arith.select %{{.*}}, %[[GIVEN2]], %{{.*}} : i32
// CHECK: arith.cmpi eq, %[[PARENT2]],
// CHECK: %[[UP20:.*]] = arith.select
// CHECK: arith.cmpi eq, %[[PARENT2]],
// CHECK: %[[UP21:.*]] = arith.select %{{.*}}, %[[PATH1]], %[[UP20]]
// CHECK: %[[PATH2:.*]] = arith.ori %[[UP21]],
// CHECK: scf.if
// Decays to a token are those to its parent and its own gate, in the rows of the
// tokens before it alone.
// CHECK: %[[G:.*]] = tile.alloc : <3, 1, f32>
// CHECK: tile.store %{{.*}}, %[[G]]
// CHECK: %[[G1:.*]] = tile.load %[[G]][%{{.*}}] strides [0, 1] rows(%[[ONE:.*]]) layout <[l4:8], [r1:1]> : !tile.smem<3, 1, f32> -> tensor<3x1xf32>
// CHECK: %[[BEHIND1:.*]] = arith.select {{.*}} : tensor<3x1xf32>
// CHECK: %[[SUM1:.*]] = arith.addf %[[BEHIND1]], %[[G1]]
// CHECK: %[[DECAY1:.*]] = math.exp %[[SUM1]]
// CHECK: %[[G2:.*]] = tile.load %[[G]]
// CHECK: %[[BEHIND20:.*]] = arith.select
// CHECK: %[[BEHIND2:.*]] = arith.select %{{.*}}, %[[SUM1]], %[[BEHIND20]] : tensor<3x1xf32>
// CHECK: %[[SUM2:.*]] = arith.addf %[[BEHIND2]], %[[G2]]
// CHECK: %[[DECAY2:.*]] = math.exp %[[SUM2]]
// CHECK: %[[C1:.*]] = tile.dot
// CHECK: tile.dot
// CHECK: arith.mulf %{{.*}}, %[[DECAY1]] : tensor<3x1xf32>
// CHECK: tile.dot
// CHECK: arith.mulf %{{.*}}, %[[DECAY2]] : tensor<3x1xf32>
// What is not on the path does not take part at all.
// CHECK: arith.subf
// CHECK: %[[E1:.*]] = arith.subf
// CHECK: %[[F1:.*]] = math.fma %{{.*}}, %{{.*}}, %[[E1]]
// CHECK: %[[ON1:.*]] = arith.andi %[[PATH1]], %{{.*}} : i32
// CHECK: %[[IN1:.*]] = arith.cmpi eq, %[[ON1]],
// CHECK: arith.select %[[IN1]], %[[F1]], %[[E1]] : tensor<1x32xf32>
// CHECK: %[[O:.*]] = math.fma
// CHECK: arith.andi %[[PATH2]],
// CHECK: arith.select %{{.*}} : tensor<1x32xf32>
replay.kernel @scalar_gates shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) live(%live) : tensor<3x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<3x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<3x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<3x1xf32>
  %beta = replay.load_token "b" window(%first, %length) : tensor<3x1xf32>
  %P = replay.scores %k with %k gated %g tree %p : (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xf32>, tensor<3x1xi32>) -> tensor<3x3xf32>
  %D = replay.ut_solve %P, %v, %v, %beta tree %p : (tensor<3x3xf32>, tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xf32>, tensor<3x1xi32>) -> tensor<3x32xf32>
  %o = replay.apply_scores %P, %D tree %p : (tensor<3x3xf32>, tensor<3x32xf32>, tensor<3x1xi32>) -> tensor<3x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x32xf32>
}

// -----

// Sums of gates along each path; with gates along K each path is walked, and what
// is not on it is not even loaded.
// CHECK-LABEL: gpu.func @vector_gates
// CHECK-COUNT-2: llvm.load
// CHECK: arith.ori
// CHECK: llvm.load
// CHECK: %[[PATH1:.*]] = arith.ori
// CHECK: llvm.load
// CHECK: %[[PATH2:.*]] = arith.ori
// CHECK: scf.if
// CHECK: tile.alloc
// CHECK: tile.alloc
// CHECK: %[[G:.*]] = tile.alloc : <3, 32, f32>
// CHECK-COUNT-3: tile.store %{{.*}}, %[[G]]
// CHECK: %[[SUM1:.*]] = arith.addf %[[BEHIND1:.*]], %[[G1:.*]] : tensor<1x32xf32>
// CHECK: %[[BEHIND20:.*]] = arith.select
// CHECK: %[[BEHIND2:.*]] = arith.select %{{.*}}, %[[SUM1]], %[[BEHIND20]] : tensor<1x32xf32>
// CHECK: arith.addf %[[BEHIND2]], %{{.*}} : tensor<1x32xf32>
// One walk serves both scores.
// CHECK: tile.dot
// CHECK: tile.dot
// CHECK: %[[SUM:.*]] = scf.for %[[L:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (tensor<2x32xf32>)
// CHECK: %[[L32:.*]] = arith.index_cast %[[L]] : index to i32
// CHECK: %[[BITS:.*]] = arith.shrui %[[PATH1]], %[[L32]]
// CHECK: %[[BIT:.*]] = arith.andi %[[BITS]],
// CHECK: %[[IS_ON:.*]] = arith.cmpi eq, %[[BIT]],
// CHECK: %[[BEFORE:.*]] = arith.select %[[IS_ON]], %[[L]], %{{.*}} : index
// CHECK: %[[GL:.*]] = tile.load %[[G]]{{.*}} strides [0, 1] rows(%[[BEFORE]]) layout <{{.*}}> : !tile.smem<3, 32, f32> -> tensor<2x32xf32>
// CHECK: arith.addf %[[SO_FAR]], %[[GL]]
// CHECK: %[[DECAY:.*]] = math.exp %[[SUM]] : tensor<2x32xf32>
// CHECK: %[[KEYS:.*]] = arith.mulf %{{.*}}, %[[DECAY]]
// CHECK: tile.dot %[[KEYS]], {{.*}} -> tensor<2x1xf32>
// CHECK: tile.dot %[[KEYS]], {{.*}} -> tensor<2x1xf32>
// CHECK: scf.for
// CHECK: arith.shrui %[[PATH2]],
// CHECK-NOT: scf.for
replay.kernel @vector_gates shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<3x1xi32>
  %q = replay.load_token "q" window(%first, %length) : tensor<3x32xf32>
  %k = replay.load_token "k" window(%first, %length) : tensor<3x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<3x32xf32>
  %a = replay.load_token "a" window(%first, %length) : tensor<3x32xf32>
  %beta = replay.load_token "b" window(%first, %length) : tensor<3x1xf32>
  %g = replay.gate precomputed(%a) : (tensor<3x32xf32>) -> tensor<3x32xf32>
  %G = replay.cumulate %g tree(%p : tensor<3x1xi32>) : tensor<3x32xf32>
  %P, %Q = replay.scores %k, %q with %k gated %g tree %p : (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xi32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  %D = replay.ut_solve %P, %G, %v, %beta tree %p : (tensor<3x3xf32>, tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xf32>, tensor<3x1xi32>) -> tensor<3x32xf32>
  %o = replay.apply_scores %Q, %D tree %p : (tensor<3x3xf32>, tensor<3x32xf32>, tensor<3x1xi32>) -> tensor<3x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x32xf32>
}

// -----

// Every field of a record, once: keys by the first value head of their group, what
// is not along V by the first V tile. A record that was never kept is not touched.
// CHECK-LABEL: gpu.func @move
// CHECK-SAME: ["d_ring", "pointer", "f32"], ["k_ring", "pointer", "f32"], ["g_ring", "pointer", "f32"], ["raw_k_ring", "pointer", "bf16"]
// CHECK: %[[FIRST_TILE:.*]] = arith.cmpi eq
// CHECK: %[[FIRST_HEAD:.*]] = arith.cmpi eq
// CHECK: scf.for
// CHECK: %[[KEPT:.*]] = arith.cmpi ult, %[[FROM:.*]], %{{.*}} : i64
// CHECK: %[[ROWS:.*]] = arith.select %[[KEPT]], %{{.*}}, %{{.*}} : index
// CHECK: %[[D_FROM:.*]] = arith.muli %[[FROM]], %{{.*}} : i64
// CHECK: %[[D:.*]] = tile.load %{{.*}} rows(%[[ROWS]]) {{.*}} -> tensor<1x16xf32>
// CHECK: tile.store %[[D]], %{{.*}} rows(%[[ROWS]])
// CHECK: %[[OWNS:.*]] = arith.andi %[[FIRST_HEAD]], %[[FIRST_TILE]]
// CHECK: scf.if %[[OWNS]] {
// CHECK: %[[K:.*]] = tile.load {{.*}} -> tensor<1x32xf32>
// CHECK: tile.store %[[K]]
// CHECK: }
// CHECK: scf.if %[[FIRST_TILE]] {
// CHECK: tile.load {{.*}} -> tensor<1x1xf32>
// CHECK: }
// CHECK: scf.if
// CHECK: tile.load {{.*}} -> tensor<1x32xbf16>
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"raw_k", bf16, key, K>]>
replay.kernel @move shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2
    tiling <bv = 16, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "accept_len"
  %wp = replay.load_slot "wp" %ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = replay.load_row "accept_idx"[%i]
    %from = arith.addi %wp, %at : index
    %to = arith.addi %wp, %i : index
    replay.move_record %ring, %from to %to
  }
}

// -----

// A circular ring goes on at its beginning.
// CHECK-LABEL: gpu.func @move_around
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[BASE:.*]] : i64
// CHECK: %[[PAST:.*]] = arith.cmpi sge, %[[SUM]], %[[LENGTH:.*]] : i64
// CHECK: %[[OVER:.*]] = arith.subi %[[SUM]], %[[LENGTH]]
// CHECK: %[[FROM:.*]] = arith.select %[[PAST]], %[[OVER]], %[[SUM]] : i64
// CHECK: arith.muli %[[FROM]],
// CHECK: tile.load {{.*}} -> tensor<1x32xf32>
#circle = #replay.ring<4, [<"d", f32, value, V>], circular>
replay.kernel @move_around shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #circle window 2
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %base = replay.load_slot "base" %ring
  %n = replay.load_row "accept_len"
  %from = arith.addi %wp, %n : index
  replay.move_record %ring, %from to %wp base(%base)
}

// -----

// The bits of an accepted path: entry i is at least i, and a token of the window.
// CHECK-LABEL: gpu.func @path
// CHECK: scf.if
// CHECK: %[[GIVEN:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[IS:.*]] = arith.cmpi sgt, %{{.*}} : i64
// CHECK: tile.expect "accept_idx"
// CHECK: %[[WIDE:.*]] = arith.extsi %[[GIVEN]]
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[WIDE]],
// CHECK: %[[AT:.*]] = arith.minsi %[[LEAST]],
// CHECK: %[[BIT:.*]] = arith.shli %{{.*}}, %[[AT]] : i64
// CHECK: %[[COUNTED:.*]] = arith.select %[[IS]], %[[BIT]],
// CHECK: arith.ori %{{.*}}, %[[COUNTED]]
#ring = #replay.ring<4, [<"d", f32, value, V>]>
replay.kernel @path shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "fold_len"
  %mask = replay.path_mask %n
  %c63 = arith.constant 63 : i64
  %low = arith.andi %mask, %c63 : i64
  %bits = arith.index_cast %low : i64 to index
  replay.store_row "track_pos", %bits
}

// -----

// The parents of a row are as many as the set's windows have tokens.
// CHECK-LABEL: gpu.func @two_of_five
// CHECK: %[[PITCH:.*]] = arith.constant 5 : i64
// CHECK: %[[BEGIN:.*]] = arith.muli %{{.*}}, %[[PITCH]] : i64
// CHECK: arith.addi %[[BEGIN]], %c1_i64
replay.kernel @two_of_five shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 of 5 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  %beta = replay.load_token "b" window(%first, %length) : tensor<2x1xf32>
  %P = replay.scores %k with %k gated %g tree %p : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %D = replay.ut_solve %P, %v, %v, %beta tree %p : (tensor<2x2xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x32xf32>
  %o = replay.apply_scores %P, %D tree %p : (tensor<2x2xf32>, tensor<2x32xf32>, tensor<2x1xi32>) -> tensor<2x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<2x32xf32>
}
