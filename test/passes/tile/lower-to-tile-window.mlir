// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// Tokens stand where query_start_loc says. Those along K go to shared memory, rows
// over the threads; those along V are loaded row by row, rows of lanes that share a sum
// along K shared among them; null rows write as many zeros.
// CHECK-LABEL: gpu.func @tokens
// CHECK-SAME: %[[STRIDE:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: i64) kernel
// CHECK-SAME: ["ring_idx", "pointer", "i32"], ["query_start_loc", "pointer", "i32"], ["wp", "pointer", "i32"]
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: %[[BEGIN:.*]] = llvm.load
// CHECK: %[[END:.*]] = llvm.load
// CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[BEGIN]] : i32
// CHECK: %[[SOME:.*]] = arith.maxsi %[[COUNT]], %{{.*}} : i32
// CHECK: %[[CLAMPED:.*]] = arith.minsi %[[SOME]], %{{.*}} : i32
// CHECK: %[[FIRST:.*]] = arith.extsi %[[BEGIN]] : i32 to i64
// CHECK: %[[N:.*]] = arith.index_cast %[[CLAMPED]] : i32 to index
// CHECK: %[[K:.*]] = tile.load %{{.*}} strides [0, 1] stride(%[[STRIDE]]) rows(%[[N]]) layout <[l4:8], [l8:1, r4:1]> : !llvm.ptr<1> -> tensor<2x32xbf16>
// CHECK: tile.load %{{.*}} strides [32, 1] rows(%[[N]]) layout <[r1:1], [w2:1, l4:8, l4:1]> : !llvm.ptr<1> -> tensor<1x32xbf16>
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]],
// CHECK: %[[REST:.*]] = arith.maxsi
// CHECK: arith.muli %[[SECOND]], %[[STRIDE]] : i64
// CHECK: tile.load %{{.*}} strides [32, 1] rows(%[[REST]])
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %{{.*}} : index
// CHECK: %[[LIVE:.*]] = arith.andi %{{.*}}, %[[ANY]] : i1
// CHECK: scf.if %[[LIVE]] {
// CHECK: %[[WP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[M:.*]] = tile.alloc : <2, 32, f32>
// CHECK: %[[KF:.*]] = arith.extf %[[K]]
// CHECK: tile.store %[[KF]], %[[M]]
// CHECK: tile.store %{{.*}}, %{{.*}} strides [32, 1] rows(%[[N]]) : tensor<1x32xf32>, !llvm.ptr<1>
// CHECK: tile.store
// A record past the ring is dropped; keys are read back where they are stored.
// CHECK: %[[ROOM:.*]] = arith.subi %{{.*}}, %[[WP]] : index
// CHECK: %[[FITS:.*]] = arith.minsi %[[N]], %[[ROOM]] : index
// CHECK: %[[THERE:.*]] = arith.select %{{.*}}, %[[FITS]], %{{.*}} : index
// CHECK: tile.store %{{.*}} rows(%[[THERE]]) : tensor<1x32xf32>
// CHECK: tile.store
// CHECK: %[[K0:.*]] = tile.load %[[M]]{{.*}} -> tensor<1x32xf32>
// CHECK: tile.store %[[K0]], {{.*}} rows(%[[THERE]]) owner(%{{.*}})
// CHECK: %[[K1:.*]] = tile.load %[[M]]
// CHECK: tile.store %[[K1]],
// CHECK: } else {
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
// CHECK: tile.store %[[ZERO]], {{.*}} rows(%[[N]])
// CHECK: %[[ZERO1:.*]] = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
// CHECK: tile.store %[[ZERO1]],
// CHECK-NOT: tile.store
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>]>
replay.kernel @tokens shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp, %flush = replay.cursor %ring wrap(4)
  %k = replay.load_token "k" window(%first, %length) : tensor<2x32xbf16>
  %vb = replay.load_token "v" window(%first, %length) : tensor<2x32xbf16>
  %v = arith.extf %vb : tensor<2x32xbf16> to tensor<2x32xf32>
  %kf = arith.extf %k : tensor<2x32xbf16> to tensor<2x32xf32>
  replay.store_out %v as f32 window(%first, %length) : tensor<2x32xf32>
  replay.append %ring, %wp ["d", "k"] %v, %kf rows(%length) : tensor<2x32xf32>, tensor<2x32xf32>
}

// -----

// Scores of all pairs: each token, in a loop, against the rows of all, through shared
// memory. The decay of a pair is a product over two parts of the interval. Gates and
// beta, one number for each token, come with one token in few threads.
// CHECK-LABEL: gpu.func @scalar_gates
// CHECK: %[[V0:.*]] = tile.load {{.*}} -> tensor<1x32xf32>
// CHECK: %[[V1:.*]] = tile.load {{.*}} -> tensor<1x32xf32>
// CHECK: %[[V2:.*]] = tile.load {{.*}} -> tensor<1x32xf32>
// CHECK: %[[G:.*]] = tile.load {{.*}} strides [0, 1] stride(%{{.*}}) rows(%{{.*}}) layout <[l4:8], [r1:1]> : !llvm.ptr<1> -> tensor<3x1xf32>
// CHECK: tile.load {{.*}} -> tensor<3x1xf32>
// CHECK: %[[M:.*]] = tile.alloc : <3, 32, f32>
// CHECK: %[[MG:.*]] = tile.alloc : <3, 1, f32>
// CHECK: tile.store %[[G]], %[[MG]]
// CHECK: %[[G1:.*]] = tile.load %[[MG]]{{.*}} -> tensor<1x1xf32>
// CHECK: %[[NEAR:.*]] = math.exp %[[G1]]
// CHECK: %[[G2:.*]] = tile.load %[[MG]]{{.*}} -> tensor<1x1xf32>
// CHECK: %[[G1A:.*]] = tile.load %[[MG]]{{.*}} -> tensor<1x1xf32>
// CHECK: %[[TO_MIDDLE:.*]] = math.exp %[[G1A]]
// CHECK: %[[FROM_MIDDLE:.*]] = math.exp %[[G2]]
// CHECK: %[[P:.*]] = tile.alloc : <3, 3, f32>
// CHECK: %[[KEYS:.*]] = tile.load %[[M]]{{.*}} layout <[l4:8], [l8:1, r4:1]>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[X:.*]] = tile.load %[[M]]{{.*}} -> tensor<1x32xf32>
// CHECK: %[[C:.*]] = tile.dot %[[KEYS]], %[[X]] contract [1, 1] : (tensor<3x32xf32>, tensor<1x32xf32>) -> tensor<3x1xf32>
// CHECK: tile.store %[[C]], %[[P]]
// CHECK: } {tile.unroll = 1 : i64}
// CHECK: %[[E0:.*]] = arith.subf %[[V0]], %[[V0]]
// CHECK: %[[D0:.*]] = arith.mulf %{{.*}}, %[[E0]]
// CHECK: %[[E1:.*]] = arith.subf %[[V1]], %[[V1]]
// CHECK: %[[S10:.*]] = tile.load %[[P]]
// CHECK: arith.mulf %[[S10]], %[[NEAR]] : tensor<1x1xf32>
// CHECK: %[[F1:.*]] = math.fma %{{.*}}, %[[D0]], %[[E1]]
// CHECK: %[[D1:.*]] = arith.mulf %{{.*}}, %[[F1]]
// CHECK: %[[E2:.*]] = arith.subf %[[V2]], %[[V2]]
// CHECK: %[[S20:.*]] = tile.load %[[P]]
// CHECK: %[[DECAY:.*]] = arith.mulf %[[FROM_MIDDLE]], %[[TO_MIDDLE]] : tensor<1x1xf32>
// CHECK: arith.mulf %[[S20]], %[[DECAY]]
// CHECK: %[[F20:.*]] = math.fma %{{.*}}, %[[D0]], %[[E2]]
// CHECK: %[[S21:.*]] = tile.load %[[P]]
// CHECK: arith.mulf %[[S21]], %[[FROM_MIDDLE]]
// CHECK: math.fma %{{.*}}, %[[D1]], %[[F20]]
// Outputs take earlier tokens and their own, in order.
// CHECK: %[[O0:.*]] = arith.mulf %{{.*}}, %[[D0]] : tensor<1x32xf32>
// CHECK: %[[O10:.*]] = arith.mulf %{{.*}}, %[[D0]] : tensor<1x32xf32>
// CHECK: math.fma %{{.*}}, %[[D1]], %[[O10]]
replay.kernel @scalar_gates shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<3x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<3x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<3x1xf32>
  %beta = replay.load_token "b" window(%first, %length) : tensor<3x1xf32>
  %P = replay.scores %k with %k gated %g : (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %D = replay.ut_solve %P, %v, %v, %beta : (tensor<3x3xf32>, tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x1xf32>) -> tensor<3x32xf32>
  %o = replay.apply_scores %P, %D : (tensor<3x3xf32>, tensor<3x32xf32>) -> tensor<3x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x32xf32>
}

// -----

// Gates along K are applied to the tokens themselves, once per level. The own record of
// a token has not decayed.
// CHECK-LABEL: gpu.func @vector_gates
// CHECK: %[[M:.*]] = tile.alloc : <3, 32, f32>
// CHECK: %[[NONE:.*]] = arith.constant dense<1.000000e+00> : tensor<1x32xf32>
// CHECK: %[[NEAR:.*]] = math.exp
// CHECK: math.exp
// CHECK: math.exp
// CHECK: %[[DECAYS:.*]] = tile.alloc : <6, 32, f32>
// CHECK: tile.store %[[NONE]], %[[DECAYS]]
// CHECK: tile.store %[[NEAR]], %[[DECAYS]]
// CHECK-COUNT-4: tile.store {{.*}}, %[[DECAYS]]
// CHECK: %[[P:.*]] = tile.alloc : <7, 3, f32>
// CHECK: %[[OWN:.*]] = tile.dot %{{.*}}, %{{.*}} contract [1, 1] rows : (tensor<3x32xf32>, tensor<3x32xf32>) -> tensor<3x1xf32>
// CHECK: tile.store %[[OWN]], %[[P]]
// CHECK: %[[K:.*]] = tile.load %[[M]]
// CHECK: %[[TO_MIDDLE:.*]] = tile.load %[[DECAYS]]{{.*}} -> tensor<3x32xf32>
// CHECK: %[[KD:.*]] = arith.mulf %[[K]], %[[TO_MIDDLE]] : tensor<3x32xf32>
// CHECK: %[[DECAY:.*]] = tile.load %[[DECAYS]]{{.*}} -> tensor<1x32xf32>
// CHECK: %[[X:.*]] = tile.load %[[M]]
// CHECK: %[[XD:.*]] = arith.mulf %[[X]], %[[DECAY]] : tensor<1x32xf32>
// CHECK: %[[C:.*]] = tile.dot %[[KD]], %[[XD]] contract [1, 1]
// CHECK: tile.store %[[C]], %[[P]]
// CHECK: arith.constant 96 : i64
// CHECK: tile.load %[[DECAYS]]{{.*}} -> tensor<3x32xf32>
// CHECK: tile.dot {{.*}} -> tensor<3x1xf32>
// CHECK-NOT: tile.dot
replay.kernel @vector_gates shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<3x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<3x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<3x32xf32>
  %P = replay.scores %q with %q gated %g : (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>) -> tensor<3x3xf32>
  %o = replay.apply_scores %P, %v : (tensor<3x3xf32>, tensor<3x32xf32>) -> tensor<3x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x32xf32>
}

// -----

// Reads of a window are a loop over tokens. Each thread leaves what it has of a row in
// shared memory, and finds it there again. Norms are numbers of one token each.
// CHECK-LABEL: gpu.func @reads
// CHECK: scf.if
// CHECK: %[[STATE:.*]] = tile.load {{.*}} -> tensor<32x32xf32>
// CHECK: %[[M:.*]] = tile.alloc : <3, 32, f32>
// CHECK: tile.store %{{.*}}, %[[M]]
// CHECK: %[[ROWS:.*]] = tile.load %[[M]]{{.*}} layout <[l4:8], [l8:1, r4:1]> : !tile.smem<3, 32, f32> -> tensor<3x32xf32>
// CHECK: %[[SQUARES:.*]] = tile.dot %[[ROWS]], %[[ROWS]] contract [1, 1] rows
// CHECK: %[[SUM:.*]] = arith.addf %[[SQUARES]],
// CHECK: %[[NORM:.*]] = math.rsqrt %[[SUM]] : tensor<3x1xf32>
// CHECK: %[[NORMS:.*]] = tile.alloc : <3, 1, f32>
// CHECK: tile.store %[[NORM]], %[[NORMS]]
// CHECK: %[[Y:.*]] = tile.alloc : <3, 32, f32>
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: %[[X:.*]] = tile.load %[[M]][{{.*}} -> tensor<1x32xf32>
// CHECK: %[[D:.*]] = tile.dot %[[X]], %[[STATE]] contract [1, 1] layout <[r1:1], [w2:1, l4:8, l4:1]> :
// CHECK: tile.store %[[D]], %[[Y]]
// CHECK: } {tile.unroll = 2 : i64}
// CHECK: %[[N0:.*]] = tile.load %[[NORMS]]{{.*}} -> tensor<1x1xf32>
// CHECK: %[[Y0:.*]] = tile.load %[[Y]]{{.*}} layout <[r1:1], [w2:1, l4:8, l4:1]>
// CHECK: %[[NB:.*]] = tile.broadcast %[[N0]]
// CHECK: arith.mulf %[[NB]], %[[Y0]]
replay.kernel @reads shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 3 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<3x32xbf16>
  %S = replay.load_state %slot : <32, 32, f32>
  %n = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6 : f64, scale = 1.0 : f64} : (tensor<3x32xbf16>) -> tensor<3x1xf32>
  %x = arith.extf %q : tensor<3x32xbf16> to tensor<3x32xf32>
  %y = replay.read %S, %x : (!replay.state<32, 32, f32>, tensor<3x32xf32>) -> tensor<3x32xf32>
  %nb = tile.broadcast %n : tensor<3x1xf32> -> tensor<3x32xf32>
  %o = arith.mulf %nb, %y : tensor<3x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x32xf32>
}

// -----

// As few as `unroll` stand one behind another, and stay in registers. An operand that is
// more than a token is formed once, each element in one thread.
// CHECK-LABEL: gpu.func @few_reads
// CHECK: scf.if
// CHECK: %[[M:.*]] = tile.alloc : <2, 32, f32>
// CHECK: %[[FORMED:.*]] = tile.alloc : <2, 32, f32>
// CHECK: %[[X0:.*]] = tile.load %[[M]]{{.*}} layout <[r1:1], [l32:1]>
// CHECK: %[[F0:.*]] = arith.mulf %[[X0]], %{{.*}} : tensor<1x32xf32>
// CHECK: tile.store %[[F0]], %[[FORMED]]
// CHECK: tile.store %{{.*}}, %[[FORMED]]
// CHECK-NOT: scf.for
// CHECK: %[[A:.*]] = tile.load %[[FORMED]]
// CHECK: %[[Y0:.*]] = tile.dot %[[A]],
// CHECK: %[[B:.*]] = tile.load %[[FORMED]]
// CHECK: %[[Y1:.*]] = tile.dot %[[B]],
// CHECK: tile.store %[[Y0]], %{{.*}} : tensor<1x32xf32>, !llvm.ptr<1>
// CHECK: tile.store %[[Y1]], %{{.*}} : tensor<1x32xf32>, !llvm.ptr<1>
replay.kernel @few_reads shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<2x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x32xf32>
  %S = replay.load_state %slot : <32, 32, f32>
  %x = arith.mulf %q, %g : tensor<2x32xf32>
  %y = replay.read %S, %x : (!replay.state<32, 32, f32>, tensor<2x32xf32>) -> tensor<2x32xf32>
  replay.store_out %y as f32 window(%first, %length) : tensor<2x32xf32>
}

// -----

// Numbers of the row: no head, one block; a null row writes 0.
// CHECK-LABEL: gpu.func @rows
// CHECK-SAME: ["query_start_loc", "pointer", "i32"], ["accept_len", "pointer", "i32"], ["force_flush", "pointer", "i8"], ["fold_len", "pointer", "i32"]
// CHECK-SAME: blocksPerRow = 1
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i8
// CHECK: scf.if %{{.*}} {
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[VALUE:.*]] = arith.index_cast %[[SUM]] : index to i32
// CHECK: llvm.store %[[VALUE]], %[[AT:.*]] : i32
// CHECK: } else {
// CHECK: %[[NONE:.*]] = arith.constant 0 : index
// CHECK: %[[NONE32:.*]] = arith.index_cast %[[NONE]]
// CHECK: llvm.store %[[NONE32]],
#ring = #replay.ring<4, [<"d", f32, value, V>]>
replay.kernel @rows shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %n = replay.load_row "accept_len"
  %force = replay.load_row "force_flush"
  %m = arith.minsi %n, %length : index
  %sum = arith.addi %m, %force : index
  replay.store_row "fold_len", %sum
}

// -----

// Numbers that need no slot: what a null row says is not theirs; a position is -1.
// CHECK-LABEL: gpu.func @numbers
// CHECK-SAME: args = {{\[\[}}"state_idx", "pointer", "i32"], ["accept_len", "pointer", "i32"], ["fold_len", "pointer", "i32"], ["track_pos", "pointer", "i32"]]
// CHECK: %[[SLOT:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[LIVE:.*]] = arith.cmpi sge, %[[SLOT]]
// CHECK: scf.if %[[LIVE]] {
// CHECK-COUNT-2: llvm.store
// CHECK: } else {
// CHECK: %[[NONE:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: llvm.store %[[NONE]],
// CHECK: arith.constant -1 : index
// CHECK: %[[NOWHERE:.*]] = arith.index_cast
// CHECK: llvm.store %[[NOWHERE]],
#ring = #replay.ring<4, [<"d", f32, value, V>]>
replay.kernel @numbers shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %n = replay.load_row "accept_len"
  replay.store_row "fold_len", %n
  replay.store_row "track_pos", %n
}

// -----

// One token of a set of windows of four: its score is a dot that nothing else is
// in, and its output the sum of a product and the read, as in a longer window.
// CHECK-LABEL: gpu.func @one_of_four
// CHECK: %[[N:.*]] = arith.minsi %{{.*}}, %c1_i32
// CHECK: scf.if
// CHECK: %[[P:.*]] = tile.dot %[[K:.*]], %[[K]] contract [1, 1]
// CHECK: %[[E:.*]] = arith.subf
// CHECK: %[[BETA:.*]] = tile.broadcast
// CHECK: %[[D:.*]] = arith.mulf %[[BETA]], %[[E]]
// CHECK: %[[PB:.*]] = tile.broadcast %[[P]]
// CHECK: %[[O:.*]] = arith.mulf %[[PB]], %[[D]]
// CHECK: tile.store %[[O]]
replay.kernel @one_of_four shape <H = 1, HV = 2, K = 32, V = 32> null lt0 window 1 of 4 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<1x32xf32>
  %v = replay.load_token "v" window(%first, %length) : tensor<1x32xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<1x1xf32>
  %beta = replay.load_token "b" window(%first, %length) : tensor<1x1xf32>
  %P = replay.scores %k with %k gated %g : (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %D = replay.ut_solve %P, %v, %v, %beta : (tensor<1x1xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x1xf32>) -> tensor<1x32xf32>
  %o = replay.apply_scores %P, %D : (tensor<1x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<1x32xf32>
}
