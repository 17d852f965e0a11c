// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile="chip=sm_100f" | FileCheck %s --check-prefix=CHIP

// One gpu.module for the chip, one kernel function with the manifest; arguments in
// the order of docs/abi.md, only those that are used. Block x is head and V tile,
// block y the row; the tile of v starts behind all q and k. Whoever writes outputs
// asks whether the row is null.
// CHIP: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_100f">]
// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a">]
// CHECK: gpu.func @tokens(%{{.*}}: !llvm.ptr<1>, %[[Q:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[QS:.*]]: i64, %[[OUTS:.*]]: i64) kernel
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-SAME: replay.manifest = {args = {{\[}}["state_idx", "pointer", "i32"], ["mixed_qkv", "pointer", "bf16"], ["out", "pointer", "f32"], ["mixed_qkv_stride", "stride", "i64", 192], ["out_stride", "stride", "i64", 128]], blocksPerRow = 8 : i64, name = "tokens", sharedBytes = 0 : i64, spec = "a=b", threads = 64 : i64}
// CHECK: %[[Y:.*]] = gpu.block_id y
// CHECK: %[[X:.*]] = gpu.block_id x
// CHECK: %[[VT:.*]] = arith.remui %{{.*}}, %{{.*}} : i32
// CHECK: %[[BASE:.*]] = arith.constant 64 : i64
// CHECK: tile.load %[[Q]][%{{.*}}] strides [32, 1] layout <[r1:1], [w2:1, l4:8, r2:1]> : !llvm.ptr<1> -> tensor<1x16xbf16>
// CHECK: scf.if
// CHECK: arith.extf %{{.*}} : tensor<1x16xbf16> to tensor<1x16xf32>
// CHECK: tile.store %{{.*}}, %[[OUT]][%{{.*}}] strides [32, 1] : tensor<1x16xf32>, !llvm.ptr<1>
// CHECK: gpu.return
replay.kernel @tokens shape <H = 1, HV = 4, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> attributes {spec = "a=b"} {
  %v = replay.load_token "v" : tensor<1x32xbf16>
  %f = arith.extf %v : tensor<1x32xbf16> to tensor<1x32xf32>
  replay.store_out %f as f32 : tensor<1x32xf32>
}

// -----

// A null row stores zeros and touches nothing else; what needs no slot is loaded
// before. 0 is null too with le0.
// CHECK-LABEL: gpu.func @null_rows
// CHECK: %[[IDX:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[LIVE:.*]] = arith.cmpi sgt, %[[IDX]], %{{.*}} : i32
// CHECK: tile.load
// CHECK: scf.if %[[LIVE]] {
// CHECK: tile.store
// CHECK: } else {
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x32xf32>
// CHECK: %[[IO:.*]] = arith.truncf %[[ZERO]]
// CHECK: tile.store %[[IO]]
replay.kernel @null_rows shape <H = 1, HV = 1, K = 32, V = 32> null le0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %v = replay.load_token "v" : tensor<1x32xf32>
  replay.store_out %v as bf16 : tensor<1x32xf32>
}

// -----

// The state is loaded once; reads and the update share it. rank1 of decay is
// fma(exp g, S, d k^T); a bf16 state is extended and rounded again.
// CHECK-LABEL: gpu.func @update
// CHECK: arith.cmpi sge
// CHECK: %[[SLOT:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[S16:.*]] = tile.load %{{.*}} strides [32, 1] layout <[w2:1, l4:8, r2:8], [l8:1, r8:1]> : !llvm.ptr<1> -> tensor<16x32xbf16>
// CHECK: %[[EG:.*]] = math.exp
// CHECK-NOT: -> tensor<16x32xbf16>
// CHECK: %[[S:.*]] = arith.extf %[[S16]]
// CHECK: %[[Y:.*]] = tile.dot %{{.*}}, %[[S]] contract [1, 1] : (tensor<1x32xf32>, tensor<16x32xf32>) -> tensor<1x16xf32>
// CHECK: %[[DK:.*]] = tile.dot %[[Y]], %{{.*}} contract [0, 0] : (tensor<1x16xf32>, tensor<1x32xf32>) -> tensor<16x32xf32>
// CHECK: %[[EGS:.*]] = tile.broadcast %[[EG]] : tensor<1x1xf32> -> tensor<16x32xf32>
// CHECK: %[[NEW:.*]] = math.fma %[[EGS]], %{{.*}}, %[[DK]]
// CHECK: %[[NEW16:.*]] = arith.truncf %[[NEW]] : tensor<16x32xf32> to tensor<16x32xbf16>
// CHECK: tile.store %[[NEW16]], %{{.*}} strides [32, 1]
replay.kernel @update shape <H = 1, HV = 1, K = 32, V = 16> null lt0 kred <lanes = 8, vec = 8>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x32xf32>
  %g = replay.load_param "A_log" : tensor<1x1xf32>
  %S = replay.load_state %slot : <16, 32, bf16>
  %y = replay.read %S, %q : (!replay.state<16, 32, bf16>, tensor<1x32xf32>) -> tensor<1x16xf32>
  %Sd = replay.decay %S, %g : <16, 32, bf16>, tensor<1x1xf32>
  %S1 = replay.rank1 %Sd, %y, %q : <16, 32, bf16>, tensor<1x16xf32>, tensor<1x32xf32>
  replay.store_state %S1, %slot : <16, 32, bf16>
}

// -----

// copy = bulk: the state comes through shared memory and is read from there again
// where it is needed again.
// CHECK-LABEL: gpu.func @bulk
// CHECK: %[[M:.*]] = tile.alloc : <16, 32, f32>
// CHECK: %[[T:.*]] = tile.copy %{{.*}} to %[[M]] : <1>, <16, 32, f32>
// CHECK: tile.wait %[[T]]
// CHECK: tile.load %[[M]][%{{.*}}] strides [32, 1] layout <[w2:1, l4:8, r2:4], [l8:1, r4:1]> : !tile.smem<16, 32, f32> -> tensor<16x32xf32>
// CHECK-NOT: tile.wait
// CHECK: tile.load %[[M]]
// CHECK: tile.store
replay.kernel @bulk shape <H = 1, HV = 1, K = 32, V = 16> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x32xf32>
  %S = replay.load_state %slot : <16, 32, f32>
  %y = replay.read %S, %q : (!replay.state<16, 32, f32>, tensor<1x32xf32>) -> tensor<1x16xf32>
  %S1 = replay.rank1 %S, %y, %q : <16, 32, f32>, tensor<1x16xf32>, tensor<1x32xf32>
  replay.store_state %S1, %slot : <16, 32, f32>
}

// -----

// Gate, beta and norm in their stated forms.
// CHECK-LABEL: gpu.func @scalars
// Where exp(A_log) vanishes a and dt_bias are scaled down.
// CHECK: %[[LOW:.*]] = arith.cmpf olt, %[[ALOG:.*]], %{{.*}} : tensor<1x1xf32>
// CHECK: %[[DOWN:.*]] = arith.select %[[LOW]]
// CHECK: %[[A:.*]] = arith.mulf %{{.*}}, %[[DOWN]]
// CHECK: %[[DT:.*]] = arith.mulf %{{.*}}, %[[DOWN]]
// CHECK: %[[X:.*]] = arith.addf %[[A]], %[[DT]] : tensor<1x1xf32>
// What a + dt_bias loses comes back, unless it is infinite.
// CHECK: %[[PART:.*]] = arith.subf %[[X]], %[[A]]
// CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[PART]]
// CHECK: arith.subf %[[A]], %[[REST]]
// CHECK: arith.subf %[[DT]], %[[PART]]
// CHECK: %[[LOST:.*]] = arith.addf
// CHECK: %[[SIZE:.*]] = math.absf %[[LOST]]
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %[[SIZE]],
// CHECK: %[[LO:.*]] = arith.select %[[FINITE]], %[[LOST]],
// CHECK: %[[ABS:.*]] = math.absf %[[X]]
// CHECK: %[[NEG:.*]] = arith.negf %[[ABS]]
// CHECK: %[[SMALL:.*]] = math.exp %[[NEG]]
// CHECK: %[[MAX:.*]] = arith.maximumf %[[X]],
// CHECK: %[[LOG:.*]] = math.log1p %[[SMALL]]
// CHECK: %[[SUM:.*]] = arith.addf %[[MAX]], %[[LOG]]
// CHECK: %[[SP:.*]] = math.fma %[[LO]], %[[SMALL]], %[[SUM]]
// Where exp(A_log) is vast the exponents are added.
// CHECK: %[[RAISED:.*]] = arith.select %[[LOW]], %{{.*}}, %[[ALOG]]
// CHECK: %[[HIGH:.*]] = arith.cmpf ogt, %[[ALOG]],
// CHECK: %[[BOTH:.*]] = arith.addf %[[ALOG]], %[[X]]
// CHECK: %[[BOTHLO:.*]] = arith.addf %[[BOTH]], %[[LO]]
// CHECK: %[[EXPONENT:.*]] = arith.select %[[HIGH]], %[[BOTHLO]], %[[RAISED]]
// CHECK: %[[SHARE:.*]] = arith.select %[[HIGH]], %{{.*}}, %[[SP]]
// CHECK: %[[RATE:.*]] = math.exp %[[EXPONENT]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[RATE]]
// CHECK: arith.mulf %[[SHARE]], %[[MINUS]]
// CHECK: %[[B:.*]] = arith.negf
// CHECK: %[[E:.*]] = math.exp %[[B]]
// CHECK: %[[DEN:.*]] = arith.addf %[[ONE:.*]], %[[E]]
// CHECK: arith.divf %[[ONE]], %[[DEN]]
// CHECK: %[[SUM:.*]] = tile.dot %[[V:.*]], %[[V]] contract [1, 1] : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
// CHECK: %[[EPS:.*]] = arith.addf %[[SUM]],
// CHECK: math.rsqrt %[[EPS]]
replay.kernel @scalars shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %b = replay.load_token "b" : tensor<1x1xbf16>
  %q = replay.load_token "q" : tensor<1x32xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x1xf32>
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %r = replay.rnorm l2_rsqrt(%q) {eps = 1.0e-6 : f64, scale = 0.5 : f64} : (tensor<1x32xbf16>) -> tensor<1x1xf32>
}

// -----

// A safe gate: exp(A_log) and its product with the sum are carried as pairs, 2^n is
// put together from bits, less what scaled the sum, and no exponential is of a positive number.
// CHECK-LABEL: gpu.func @safe
// CHECK: %[[LOW:.*]] = arith.cmpf olt, %[[ALOG:.*]], %{{.*}} : tensor<1x1xf32>
// CHECK: %[[HIGH:.*]] = arith.cmpf ogt, %[[ALOG]], %{{.*}} : tensor<1x1xf32>
// CHECK: %[[DOWN:.*]] = arith.select %[[LOW]]
// CHECK: %[[UP:.*]] = arith.select %[[HIGH]]
// CHECK: %[[X:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<1x32xf32>
// CHECK-DAG: %[[M32:.*]] = arith.constant dense<-32> : tensor<1x1xi32>
// CHECK-DAG: %[[P32:.*]] = arith.constant dense<32> : tensor<1x1xi32>
// CHECK: %[[MOVED:.*]] = arith.select %[[HIGH]], %[[M32]],
// CHECK: %[[POWER:.*]] = arith.select %[[LOW]], %[[P32]], %[[MOVED]]
// CHECK: %[[WORD:.*]] = arith.bitcast %{{.*}} : tensor<1x1xf32> to tensor<1x1xi32>
// CHECK: %[[BITS:.*]] = arith.addi %[[WORD]], %[[POWER]]
// CHECK: %[[EXP:.*]] = arith.shli %[[BITS]],
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[EXP]]
// CHECK: arith.mulf %[[HI:.*]], %[[SCALE]]
// CHECK: arith.mulf %[[LO:.*]], %[[SCALE]]
// CHECK: %[[Z:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<1x32xf32>
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<1x32xf32>
// CHECK: arith.select %[[FINITE]]
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[Z]],
// CHECK: %[[TOWARD:.*]] = arith.select %[[BELOW]]
// CHECK: %[[ABS:.*]] = math.absf %[[Z]]
// CHECK: arith.constant dense<-5.000000e+00>
// CHECK: %[[NEG:.*]] = arith.negf %[[ABS]]
// CHECK: %[[E0:.*]] = math.exp %[[NEG]]
// CHECK: %[[E:.*]] = math.fma %[[E0]], %[[TOWARD]], %[[E0]]
// CHECK: %[[SHARE:.*]] = arith.select %[[BELOW]]
// CHECK: arith.divf %[[SHARE]], %{{.*}} : tensor<1x32xf32>
replay.kernel @safe shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %a = replay.load_token "a" : tensor<1x32xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x32xf32>
  %g = replay.gate safe(%a, %A, %dt) {lower_bound = -5.0 : f64} : (tensor<1x32xbf16>, tensor<1x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
}

// -----

// A vast bound lifts a vanishing exponential to where it counts: it comes in two factors.
// CHECK-LABEL: gpu.func @vast
// CHECK: arith.constant dense<-5.000000e-01>
// CHECK-NEXT: %[[HALF:.*]] = arith.mulf
// CHECK-NEXT: %[[ROOT:.*]] = math.exp %[[HALF]]
// CHECK-NEXT: %[[PART:.*]] = arith.mulf %[[ROOT]], %{{.*}} : tensor<1x1xf32>
// CHECK-NEXT: %[[VAST:.*]] = arith.mulf %[[PART]], %[[ROOT]]
// CHECK: %[[FAR:.*]] = arith.cmpf ogt,
// CHECK: %[[WHOLE:.*]] = math.fma %[[VAST]], %{{.*}}, %[[VAST]]
// CHECK: arith.select %[[FAR]], %[[WHOLE]],
// CHECK: arith.divf
replay.kernel @vast shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x1xf32>
  %g = replay.gate safe(%a, %A, %dt) {lower_bound = -1.0e+38 : f64} : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
}

// -----

// What is precomputed is taken as it is; sigmoid_io goes through the type of b.
// CHECK-LABEL: gpu.func @given
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: tile.load
// CHECK: tile.load
// CHECK-NOT: math.exp
// CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00>
// CHECK: arith.mulf %{{.*}}, %[[TWO]]
// CHECK: %[[SIG:.*]] = arith.divf
// CHECK: %[[IO:.*]] = arith.truncf %[[SIG]] : tensor<1x1xf32> to tensor<1x1xbf16>
// CHECK: arith.extf %[[IO]] : tensor<1x1xbf16> to tensor<1x1xf32>
replay.kernel @given shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %a = replay.load_token "a" : tensor<1x1xf32>
  %b = replay.load_token "b" : tensor<1x1xbf16>
  %g = replay.gate precomputed(%a) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %twice = replay.beta precomputed(%g) {factor = 2 : i64} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_io(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
}

// -----

// A broadcast is repeated where it is used, to the shape of that use: the tile of V
// here, all of K there, though both are 32 wide in the source.
// CHECK-LABEL: gpu.func @broadcasts
// CHECK-DAG: tile.broadcast %{{.*}} : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK-DAG: tile.broadcast %{{.*}} : tensor<1x1xf32> -> tensor<1x32xf32>
replay.kernel @broadcasts shape <H = 1, HV = 1, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %x = replay.load_param "A_log" : tensor<1x1xf32>
  %q = replay.load_token "q" : tensor<1x32xf32>
  %v = replay.load_token "v" : tensor<1x32xf32>
  %S = replay.load_state %slot : <32, 32, f32>
  %xs = tile.broadcast %x : tensor<1x1xf32> -> tensor<1x32xf32>
  %xq = arith.mulf %q, %xs : tensor<1x32xf32>
  %xv = arith.mulf %v, %xs : tensor<1x32xf32>
  %y = replay.read %S, %xq : (!replay.state<32, 32, f32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %o = arith.addf %y, %xv : tensor<1x32xf32>
  replay.store_out %o as f32 : tensor<1x32xf32>
}

// -----

// A kernel whose ops do not depend on the head has one block a row, and moves the
// cursor of a live row.
// CHECK-LABEL: gpu.func @advance
// CHECK-SAME: blocksPerRow = 1 : i64
// CHECK: %[[RING:.*]] = arith.extsi
// CHECK: %[[FLAG:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i8
// CHECK: %[[FORCE:.*]] = arith.index_cast %[[FLAG]]
// CHECK: scf.if
// CHECK: %[[WP:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[LAST:.*]] = arith.constant 3 : i32
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[WP]], %{{.*}} : i32
// CHECK: %[[HELD:.*]] = arith.minsi %[[LEAST]], %[[LAST]] : i32
// CHECK: %[[HELDX:.*]] = arith.index_cast %[[HELD]]
// CHECK: %[[FORCED:.*]] = arith.cmpi ne, %[[FORCE]]
// CHECK: %[[FULL:.*]] = arith.cmpi sge, %[[HELDX]], %{{.*}}
// CHECK: arith.ori %[[FULL]], %[[FORCED]]
// CHECK: %[[NEXT:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: llvm.store %[[NEXT]], %{{.*}} : i32, !llvm.ptr<1>
replay.kernel @advance shape <H = 2, HV = 4, K = 32, V = 32> null lt0 ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %c0 = arith.constant 0 : index
  %next = arith.select %flush, %c0, %wp : index
  replay.set_cursor "wp" %ring, %next
}

// -----

// A cursor in a branch asks for force_flush there.
// CHECK-LABEL: gpu.func @cursor_in_branch
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[FLAG:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i8
// CHECK: %[[FORCED:.*]] = arith.cmpi ne,
// CHECK: %[[FULL:.*]] = arith.cmpi sge
// CHECK: arith.ori %[[FULL]], %[[FORCED]]
#ring_of_branch = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @cursor_in_branch shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring_of_branch kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <8, 8, f32>
  scf.if %live {
    %wp, %flush = replay.cursor %ring wrap(4)
    scf.if %flush {
      replay.store_state %S, %slot : <8, 8, f32>
    }
  }
}
