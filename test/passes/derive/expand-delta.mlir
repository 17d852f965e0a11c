// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta=form=unroll | FileCheck %s --check-prefix=UNROLL

// One token: d = beta (v - S' k), o = fma(d, k.q, S' q), next = S' + d k^T, S' = S .* exp(g).
// The norm is a scalar per row and a product.
// CHECK-LABEL: replay.kernel @packed_gdn
// CHECK-NOT: replay.l2norm
// CHECK-NOT: replay.delta
// CHECK: %[[S:.*]] = replay.load_state
// CHECK: %[[RAWQ:.*]] = replay.load_token "q"
// CHECK: %[[V:.*]] = replay.load_token "v"
// CHECK: %[[G:.*]] = replay.gate
// CHECK: %[[BETA:.*]] = replay.beta
// CHECK: %[[RQ:.*]] = replay.rnorm l2_rsqrt(%[[RAWQ]]) {eps = {{.*}}, scale = 2.500000e-01 : f64}
// CHECK: %[[QF:.*]] = arith.extf %[[RAWQ]]
// CHECK: %[[RQB:.*]] = tile.broadcast %[[RQ]] : tensor<1x1xf32> -> tensor<1x16xf32>
// CHECK: %[[Q:.*]] = arith.mulf %[[QF]], %[[RQB]]
// CHECK: %[[K:.*]] = arith.mulf
// CHECK: %[[SD:.*]] = replay.decay %[[S]], %[[G]]
// CHECK: %[[YQ:.*]] = replay.read %[[SD]], %[[Q]]
// CHECK: %[[YK:.*]] = replay.read %[[SD]], %[[K]]
// CHECK: %[[VF:.*]] = arith.extf %[[V]]
// CHECK: %[[E:.*]] = arith.subf %[[VF]], %[[YK]]
// CHECK: %[[BB:.*]] = tile.broadcast %[[BETA]]
// CHECK: %[[D:.*]] = arith.mulf %[[BB]], %[[E]]
// CHECK: %[[KQ:.*]] = replay.scores %[[Q]] with %[[K]] :
// CHECK: %[[KQB:.*]] = tile.broadcast %[[KQ]]
// CHECK: %[[O:.*]] = math.fma %[[D]], %[[KQB]], %[[YQ]]
// CHECK: %[[NEXT:.*]] = replay.rank1 %[[SD]], %[[D]], %[[K]]
// CHECK: replay.store_out %[[O]]
// CHECK: replay.store_state %[[NEXT]]

// One token of a set of longer windows: the sums of a window, which round otherwise.
// CHECK-LABEL: replay.kernel @verify1of2_gdn
// CHECK-SAME: window 1 of 2
// CHECK: %[[R0:.*]] = replay.replay
// CHECK: replay.cumulate %{{.*}} : tensor<1x1xf32>
// CHECK: %[[YQ:.*]] = replay.read %[[R0]],
// CHECK: %[[YK:.*]] = replay.read %[[R0]],
// CHECK: %[[PK:.*]] = replay.scores %{{.*}} gated
// CHECK: %[[PQ:.*]] = replay.scores %{{.*}} gated
// CHECK: %[[D:.*]] = replay.ut_solve %[[PK]], %[[YK]],
// CHECK: %[[OWN:.*]] = replay.apply_scores %[[PQ]], %[[D]]
// CHECK: arith.addf %[[YQ]], %[[OWN]]

// A window: reads of the base state, scores of its tokens, a triangular solve.
// CHECK-LABEL: replay.kernel @verify2_gdn
// CHECK: %[[R0:.*]] = replay.replay
// CHECK: %[[G:.*]] = replay.gate
// CHECK: %[[SUM:.*]] = replay.cumulate %[[G]] : tensor<2x1xf32>
// CHECK: %[[EXP:.*]] = math.exp %[[SUM]]
// CHECK: %[[EXPB:.*]] = tile.broadcast %[[EXP]] : tensor<2x1xf32> -> tensor<2x16xf32>
// CHECK: %[[XQ:.*]] = arith.mulf %[[Q:.*]], %[[EXPB]]
// CHECK: %[[YQ:.*]] = replay.read %[[R0]], %[[XQ]]
// CHECK: %[[XK:.*]] = arith.mulf %[[K:.*]], %[[EXPB]]
// CHECK: %[[YK:.*]] = replay.read %[[R0]], %[[XK]]
// CHECK: %[[PK:.*]] = replay.scores %[[K]] with %[[K]] gated %[[G]]
// CHECK: %[[PQ:.*]] = replay.scores %[[Q]] with %[[K]] gated %[[G]]
// CHECK: %[[D:.*]] = replay.ut_solve %[[PK]], %[[YK]], %{{.*}}, %{{.*}}
// CHECK: %[[OWN:.*]] = replay.apply_scores %[[PQ]], %[[D]]
// CHECK: %[[O:.*]] = arith.addf %[[YQ]], %[[OWN]]
// CHECK: replay.store_out %[[O]]

// The definition of the window: T steps on slices of its rows.
// UNROLL-LABEL: replay.kernel @verify2_gdn
// UNROLL-NOT: replay.ut_solve
// UNROLL: %[[R0:.*]] = replay.replay
// UNROLL: %[[SD0:.*]] = replay.decay %[[R0]],
// UNROLL: %[[S1:.*]] = replay.rank1 %[[SD0]],
// UNROLL: %[[SD1:.*]] = replay.decay %[[S1]],
// UNROLL: replay.read %[[SD1]],
// UNROLL: tensor.concat dim(0)
