// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// Records are loaded up to the cursor. Scores go from the owners of the rows to all
// threads through shared memory; the sum over records has eight lanes.
// CHECK-LABEL: gpu.func @reads
// CHECK: %[[WP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[G:.*]] = tile.load %{{.*}} strides [1, 1] rows(%[[WP]]) layout <[r2:1, l8:1], [r1:1]> : !llvm.ptr<1> -> tensor<16x1xf32>
// CHECK: %[[D:.*]] = tile.load %{{.*}} strides [32, 1] rows(%[[WP]]) layout <[r2:2, l8:1], [w2:1, l4:8, r2:1]> : !llvm.ptr<1> -> tensor<16x16xf32>
// CHECK: %[[K:.*]] = tile.load %{{.*}} strides [32, 1] rows(%[[WP]]) layout <[r2:4, w2:1, l4:8], [l8:1, r4:1]> : !llvm.ptr<1> -> tensor<16x32xf32>
// CHECK: %[[SUF:.*]], %[[SUM:.*]] = tile.scan add %[[G]]
// CHECK: %[[W:.*]] = math.exp %[[SUF]]
// CHECK: math.exp %[[SUM]]
// CHECK: %[[M:.*]] = tile.alloc : <1, 16, f32>
// CHECK: %[[C:.*]] = tile.dot %[[K]], %{{.*}} contract [1, 1] : (tensor<16x32xf32>, tensor<1x32xf32>) -> tensor<16x1xf32>
// CHECK: tile.store %[[C]], %[[M]]
// CHECK: %[[CS:.*]] = tile.load %[[M]][%{{.*}}] strides [1, 1] layout <[r2:1, l8:1], [r1:1]>
// CHECK: %[[CW:.*]] = arith.mulf %[[W]], %[[CS]]
// CHECK: tile.dot %[[CW]], %[[D]] contract [0, 0] : (tensor<16x1xf32>, tensor<16x16xf32>) -> tensor<1x16xf32>
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @reads shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 16, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(16)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<16x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<16x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  replay.store_out %y as f32 : tensor<1x32xf32>
}

// -----

// 17 records in passes of 8: the keys of the next pass are asked for before those
// of this one are used, the last pass has one row.
// CHECK-LABEL: gpu.func @passes
// CHECK: %[[K0:.*]] = tile.load %{{.*}} -> tensor<8x32xf32>
// CHECK: tile.alloc : <1, 17, f32>
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[EIGHT]] : index
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[LEFT]], %{{.*}} : index
// CHECK: %[[K1:.*]] = tile.load %{{.*}} rows(%[[ROWS]]) {{.*}} -> tensor<8x32xf32>
// CHECK: tile.dot %[[K0]]
// CHECK: %[[K2:.*]] = tile.load %{{.*}} -> tensor<1x32xf32>
// CHECK: tile.dot %[[K1]]
// CHECK: tile.dot %[[K2]]
#ring = #replay.ring<17, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @passes shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(17)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<17x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<17x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  replay.store_out %y as f32 : tensor<1x32xf32>
}

// -----

// The fold: keys and weighted values are left in shared memory where the row
// flushes, then S tot and one fma per record in order, unrolled as scheduled.
// CHECK-LABEL: gpu.func @folds
// CHECK: %[[FLUSH:.*]] = arith.ori
// CHECK: %[[S:.*]] = tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: %[[MK:.*]] = tile.alloc : <4, 32, f32>
// CHECK: scf.if %[[FLUSH]] {
// CHECK: tile.store %{{.*}}, %[[MK]]
// CHECK: %[[MD:.*]] = tile.alloc : <4, 16, f32>
// CHECK: scf.if %[[FLUSH]] {
// CHECK: %[[DW:.*]] = arith.mulf {{.*}} : tensor<4x16xf32>
// CHECK: tile.store %[[DW]], %[[MD]]
// CHECK: scf.if %[[FLUSH]] {
// CHECK: %[[S0:.*]] = arith.mulf %[[S]], %{{.*}} : tensor<16x32xf32>
// CHECK: scf.for %[[J:[a-z0-9]+]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %[[S0]])
// CHECK: %[[DJ:.*]] = tile.load %[[MD]]{{.*}} -> tensor<1x16xf32>
// CHECK: %[[KJ:.*]] = tile.load %[[MK]]{{.*}} -> tensor<1x32xf32>
// CHECK: %[[NEXT:.*]] = tile.dot %[[DJ]], %[[KJ]] acc(%[[ACC]]) contract [0, 0]
// CHECK: scf.yield %[[NEXT]]
// CHECK: } {tile.unroll = 2 : i64}
// CHECK: tile.store
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @folds shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %S = replay.load_state %slot : <32, 32, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %s = replay.read %S, %q : (!replay.state<32, 32, f32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  scf.if %flush {
    %S1 = replay.replay %S, %R : <32, 32, f32>, <#ring>
    replay.store_state %S1, %slot : <32, 32, f32>
  }
}

// -----

// A fold without reads loads what it needs in its branch.
// CHECK-LABEL: gpu.func @folds_alone
// CHECK-NOT: tile.load
// CHECK: scf.if
// CHECK: scf.if
// CHECK: tile.load %{{.*}} -> tensor<16x32xf32>
// CHECK: tile.scan
// CHECK: scf.for
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @folds_alone shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %S = replay.load_state %slot : <32, 32, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  scf.if %flush {
    %S1 = replay.replay %S, %R : <32, 32, f32>, <#ring>
    replay.store_state %S1, %slot : <32, 32, f32>
  }
}

// -----

// copy = bulk: the keys are copied up to the cursor, and the fold reads the copy;
// what lies past the cursor was never written and is not read.
// CHECK-LABEL: gpu.func @bulk
// CHECK: %[[WP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[MK:.*]] = tile.alloc : <4, 32, f32>
// CHECK: %[[TK:.*]] = tile.copy %{{.*}} to %[[MK]] rows(%[[WP]])
// CHECK: tile.wait %[[TK]]
// CHECK: tile.load %[[MK]][%{{.*}}] strides [32, 1] rows(%[[WP]])
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[LEFT:.*]] = arith.subi %[[WP]], %[[J]] : index
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[LEFT]]
// CHECK: tile.load %[[MK]][%{{.*}}] strides [32, 1] rows(%[[ROWS]])
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @bulk shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x32xf32>
  %S = replay.load_state %slot : <32, 32, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<4x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %S1 = replay.replay %S, %R : <32, 32, f32>, <#ring>
  replay.store_state %S1, %slot : <32, 32, f32>
}

// -----

// Gates along K: each is computed once, by one thread, and published before any of
// them is fetched; the keys take their weights, the read's operand its decay.
// CHECK-LABEL: gpu.func @gates_along_k
// CHECK: tile.load %{{.*}} layout <[r1:1], [w2:1, l32:1]> : !llvm.ptr<1> -> tensor<1x64xbf16>
// CHECK: tile.load %{{.*}} rows(%{{.*}}) layout <[r4:1], [w2:1, l32:1]> : !llvm.ptr<1> -> tensor<4x64xf32>
// CHECK: math.log1p
// CHECK: %[[G:.*]] = arith.mulf
// CHECK: %[[EG:.*]] = math.exp %[[G]]
// CHECK: %[[MG:.*]] = tile.alloc : <1, 64, f32>
// CHECK: tile.store %[[EG]], %[[MG]]
// CHECK: tile.scan
// CHECK: %[[MW:.*]] = tile.alloc : <4, 64, f32>
// CHECK: tile.store %{{.*}}, %[[MW]]
// CHECK: %[[MT:.*]] = tile.alloc : <1, 64, f32>
// CHECK: tile.store %{{.*}}, %[[MT]]
// CHECK: tile.load %[[MG]]{{.*}} layout <[r1:1], [r2:4, l8:1, r4:1]>
// CHECK: arith.mulf %{{.*}} : tensor<1x64xf32>
// CHECK: tile.load %[[MT]]
// CHECK: %[[WK:.*]] = tile.load %[[MW]]{{.*}} -> tensor<4x64xf32>
// CHECK: %[[KW:.*]] = arith.mulf %{{.*}}, %[[WK]] : tensor<4x64xf32>
// CHECK: tile.dot %[[KW]]
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
replay.kernel @gates_along_k shape <H = 1, HV = 2, K = 64, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %q = replay.load_token "q" : tensor<1x64xf32>
  %a = replay.load_token "a" : tensor<1x64xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x64xf32>
  %S = replay.load_state %slot : <32, 64, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x64xbf16>, tensor<1x1xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %eg = math.exp %g : tensor<1x64xf32>
  %x = arith.mulf %q, %eg : tensor<1x64xf32>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<4x64xf32>, tensor<1x64xf32>)
  %y = replay.ring_read %R, %w, %x : (!replay.records<#ring>, tensor<4x64xf32>, tensor<1x64xf32>) -> tensor<1x32xf32>
  %x0 = arith.mulf %x, %tot : tensor<1x64xf32>
  %s = replay.read %S, %x0 : (!replay.state<32, 64, f32>, tensor<1x64xf32>) -> tensor<1x32xf32>
  replay.store_out %s as f32 : tensor<1x32xf32>
}

// -----

// A field is stored by the first block whose address it is: keys by the first value
// head of a key head and its first V tile, scalars by the first V tile, values by all.
// CHECK-LABEL: gpu.func @appends
// CHECK: %[[TILE:.*]] = arith.cmpi eq, %{{.*}} : i32
// CHECK: %[[HEAD:.*]] = arith.cmpi eq, %{{.*}} : i32
// CHECK: tile.store %{{.*}} strides [32, 1] rows(%[[FITS:.*]]) : tensor<1x16xf32>, !llvm.ptr<1>
// CHECK: %[[BOTH:.*]] = arith.andi %[[HEAD]], %[[TILE]]
// CHECK: tile.store %{{.*}} strides [32, 1] rows(%[[FITS]]) owner(%[[BOTH]]) : tensor<1x32xf32>
// CHECK: tile.store %{{.*}} owner(%[[TILE]]) : tensor<1x1xf32>
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @appends shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  %k = replay.load_token "k" : tensor<1x32xf32>
  %v = replay.load_token "v" : tensor<1x32xf32>
  %g = replay.load_param "A_log" : tensor<1x1xf32>
  replay.append %ring, %wp ["d", "k", "g"] %v, %k, %g : tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x1xf32>
}

// -----

// Records of a circular ring stay where they are: which are there is a mask, their
// weights follow the base, and no load waits for the base to know its address.
// CHECK-LABEL: gpu.func @circular_reads
// CHECK: %[[WP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[BASE:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[N:.*]] = arith.index_cast %[[WP]] : index to i64
// CHECK: %[[B:.*]] = arith.index_cast %[[BASE]] : index to i64
// CHECK: %[[ONES:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK: %[[UP:.*]] = arith.shli %[[ONES]], %[[B]] : i64
// CHECK: %[[HALF:.*]] = arith.shrui %[[ONES]], %{{.*}} : i64
// CHECK: %[[DOWN:.*]] = arith.shrui %[[HALF]], %{{.*}} : i64
// CHECK: %[[BOTH:.*]] = arith.ori %[[UP]], %[[DOWN]] : i64
// CHECK: %[[MASK:.*]] = arith.andi %[[BOTH]], %{{.*}} : i64
// CHECK: %[[G:.*]] = tile.load %{{.*}} strides [1, 1] mask(%[[MASK]]) {{.*}} -> tensor<16x1xf32>
// CHECK: tile.load %{{.*}} strides [32, 1] mask(%[[MASK]]) {{.*}} -> tensor<16x16xf32>
// CHECK: tile.load %{{.*}} strides [32, 1] mask(%[[MASK]]) {{.*}} -> tensor<8x32xf32>
// CHECK: tile.scan add %[[G]] from(%[[BASE]])
// CHECK: %[[REST:.*]] = arith.shrui %[[MASK]], %{{.*}} : i64
// CHECK: tile.load %{{.*}} strides [32, 1] mask(%[[REST]]) {{.*}} -> tensor<8x32xf32>
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>], circular>
replay.kernel @circular_reads shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 2, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %base = replay.load_slot "base" %ring
  %q = replay.load_token "q" : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) base(%base) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<16x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %q : (!replay.records<#ring>, tensor<16x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  replay.store_out %y as f32 : tensor<1x32xf32>
}

// -----

// Records behind those of a circular ring go round its end, one by one; those that
// do not fit behind the history are dropped, wherever they would lie.
// CHECK-LABEL: gpu.func @circular_appends
// CHECK: scf.if
// CHECK: %[[WP:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[BASE:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[N:.*]] = arith.index_cast %[[WP]] : index to i64
// CHECK: %[[B:.*]] = arith.index_cast %[[BASE]] : index to i64
// CHECK: %[[FIRST:.*]] = arith.addi %[[N]], %[[B]] : i64
// CHECK: %[[WRAPS0:.*]] = arith.cmpi sge, %[[FIRST]], %[[L:.*]] : i64
// CHECK: %[[LESS0:.*]] = arith.subi %[[FIRST]], %[[L]] : i64
// CHECK: arith.select %[[WRAPS0]], %[[LESS0]], %[[FIRST]] : i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %{{.*}} : i64
// CHECK: %[[WRAPS1:.*]] = arith.cmpi sge, %[[NEXT]], %[[L]] : i64
// CHECK: %[[LESS1:.*]] = arith.subi %[[NEXT]], %[[L]] : i64
// CHECK: %[[AT1:.*]] = arith.select %[[WRAPS1]], %[[LESS1]], %[[NEXT]] : i64
// CHECK: %[[ROOM:.*]] = arith.subi %{{.*}}, %[[WP]] : index
// CHECK: %[[FITS:.*]] = arith.minsi %{{.*}}, %[[ROOM]] : index
// CHECK: %[[STARTS:.*]] = arith.cmpi sge, %[[WP]], %{{.*}} : index
// CHECK: %[[THERE:.*]] = arith.select %[[STARTS]], %[[FITS]], %{{.*}} : index
// CHECK: tile.store %{{.*}} rows(%[[THERE]])
// CHECK: arith.muli %[[AT1]],
// CHECK: tile.store %{{.*}} rows(%{{.*}})
#ring = #replay.ring<4, [<"d", f32, value, V>], circular>
replay.kernel @circular_appends shape <H = 2, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %base = replay.load_slot "base" %ring
  %v = replay.load_token "v" window(%first, %length) : tensor<2x32xf32>
  replay.append %ring, %wp ["d"] %v rows(%length) base(%base) : tensor<2x32xf32>
}

// -----

// One token of a window reads the records as a token alone does: once.
// CHECK-LABEL: gpu.func @one_token
// CHECK-NOT: scf.for
// CHECK: tile.dot {{.*}} -> tensor<8x1xf32>
// CHECK: tile.dot {{.*}} contract [0, 0] {{.*}} -> tensor<1x32xf32>
// CHECK-NOT: tile.dot
#ring = #replay.ring<8, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @one_token shape <H = 1, HV = 2, K = 32, V = 32> null lt0 ring #ring window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 2, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %k = replay.load_token "k" window(%first, %length) : tensor<1x32xf32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %w, %tot = replay.ring_weights %R : (!replay.records<#ring>) -> (tensor<8x1xf32>, tensor<1x1xf32>)
  %y = replay.ring_read %R, %w, %k : (!replay.records<#ring>, tensor<8x1xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  replay.store_out %y as f32 window(%first, %length) : tensor<1x32xf32>
}
