// The step forms that everything later keeps to the bit: what is read, in which order scalars
// and decays are multiplied, which sums are fma. Reads are merged, loads stand first.
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-verify-layer -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -replay-merge-reads -replay-hoist-loads -replay-erase-kind | FileCheck %s

// CHECK-LABEL: replay.kernel @packed_gdn shape
// CHECK: %[[RQ:.*]] = replay.rnorm l2_rsqrt(%[[QB:.*]]) {{.*}}scale
// CHECK: %[[Q:.*]] = arith.extf %[[QB]]
// CHECK: %[[RK:.*]] = replay.rnorm l2_rsqrt(%[[KB:.*]]) {
// CHECK: %[[K:.*]] = arith.extf %[[KB]]
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[S:.*]]:2 = replay.read %{{.*}}, %[[Q]], %[[K]] :
// CHECK: %[[NQ:.*]] = arith.mulf %[[RQ]], %[[E]] : tensor<1x1xf32>
// CHECK: %[[NQB:.*]] = tile.broadcast %[[NQ]]
// CHECK: arith.mulf %[[NQB]], %[[S]]#0 : tensor<1x8xf32>
// CHECK: %[[NK:.*]] = arith.mulf %[[RK]], %[[E]] : tensor<1x1xf32>
// CHECK: %[[NKB:.*]] = tile.broadcast %[[NK]]
// CHECK: arith.mulf %[[NKB]], %[[S]]#1 : tensor<1x8xf32>

// CHECK-LABEL: replay.kernel @replay_gdn shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring <4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]> kred <lanes = 4, vec = 4> {
// CHECK-NEXT: %[[SLOT:.*]], %[[RING:.*]], %{{.*}} = replay.row
// CHECK-NEXT: %[[WP:.*]], %[[FLUSH:.*]] = replay.cursor %[[RING]] wrap(4)
// CHECK-NEXT: %[[QB:.*]] = replay.load_token "q" : tensor<1x16xbf16>
// CHECK-NEXT: %[[KB:.*]] = replay.load_token "k" : tensor<1x16xbf16>
// CHECK-NEXT: %[[VB:.*]] = replay.load_token "v" : tensor<1x8xbf16>
// CHECK-NEXT: %[[A:.*]] = replay.load_token "a" : tensor<1x1xbf16>
// CHECK-NEXT: %[[B:.*]] = replay.load_token "b" : tensor<1x1xbf16>
// CHECK-NEXT: %[[ALOG:.*]] = replay.load_param "A_log" : tensor<1x1xf32>
// CHECK-NEXT: %[[DT:.*]] = replay.load_param "dt_bias" : tensor<1x1xf32>
// CHECK-NEXT: %[[S0:.*]] = replay.load_state %[[SLOT]] : <8, 16, f32>
// CHECK-NEXT: %[[R:.*]] = replay.load_ring %[[RING]] valid(%[[WP]])
// CHECK-NEXT: %[[G:.*]] = replay.gate softplus(%[[A]], %[[ALOG]], %[[DT]])
// CHECK-NEXT: %[[BETA:.*]] = replay.beta sigmoid_f32(%[[B]])
// CHECK-NEXT: %[[RQ:.*]] = replay.rnorm l2_rsqrt(%[[QB]]) {{.*}}scale = 2.500000e-01
// CHECK-NEXT: %[[Q:.*]] = arith.extf %[[QB]]
// CHECK-NEXT: %[[RK:.*]] = replay.rnorm l2_rsqrt(%[[KB]])
// CHECK-NEXT: %[[K:.*]] = arith.extf %[[KB]]
// CHECK-NEXT: %[[RKB:.*]] = tile.broadcast %[[RK]] : tensor<1x1xf32> -> tensor<1x16xf32>
// CHECK-NEXT: %[[KN:.*]] = arith.mulf %[[K]], %[[RKB]] : tensor<1x16xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[G]] : tensor<1x1xf32>
// CHECK-NEXT: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights %[[R]]
// CHECK-NEXT: %[[Z:.*]]:2 = replay.ring_read %[[R]], %[[W]], %[[Q]], %[[K]] :
// CHECK-NEXT: %[[S:.*]]:2 = replay.read %[[S0]], %[[Q]], %[[K]] :
// CHECK-NEXT: %[[TOTB:.*]] = tile.broadcast %[[TOT]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK-NEXT: %[[UQ:.*]] = math.fma %[[TOTB]], %[[S]]#0, %[[Z]]#0 : tensor<1x8xf32>
// CHECK-NEXT: %[[NQ:.*]] = arith.mulf %[[RQ]], %[[E]] : tensor<1x1xf32>
// CHECK-NEXT: %[[NQB:.*]] = tile.broadcast %[[NQ]]
// CHECK-NEXT: %[[YQ:.*]] = arith.mulf %[[NQB]], %[[UQ]]
// CHECK-NEXT: %[[UK:.*]] = math.fma %[[TOTB]], %[[S]]#1, %[[Z]]#1 : tensor<1x8xf32>
// CHECK-NEXT: %[[NK:.*]] = arith.mulf %[[RK]], %[[E]] : tensor<1x1xf32>
// CHECK-NEXT: %[[NKB:.*]] = tile.broadcast %[[NK]]
// CHECK-NEXT: %[[YK:.*]] = arith.mulf %[[NKB]], %[[UK]]
// CHECK-NEXT: %[[V:.*]] = arith.extf %[[VB]]
// CHECK-NEXT: %[[ERR:.*]] = arith.subf %[[V]], %[[YK]]
// CHECK-NEXT: %[[BETAB:.*]] = tile.broadcast %[[BETA]]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[BETAB]], %[[ERR]]
// CHECK-NEXT: %[[QK:.*]] = replay.scores %[[Q]] with %[[K]] :
// CHECK-NEXT: %[[RQK:.*]] = arith.mulf %[[RQ]], %[[RK]] : tensor<1x1xf32>
// CHECK-NEXT: %[[KQ:.*]] = arith.mulf %[[RQK]], %[[QK]] : tensor<1x1xf32>
// CHECK-NEXT: %[[KQB:.*]] = tile.broadcast %[[KQ]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK-NEXT: %[[O:.*]] = math.fma %[[D]], %[[KQB]], %[[YQ]] : tensor<1x8xf32>
// CHECK-NEXT: replay.store_out %[[O]] as bf16 : tensor<1x8xf32>
// CHECK-NEXT: scf.if %[[FLUSH]] {
// CHECK-NEXT: %[[S1:.*]] = replay.replay %[[S0]], %[[R]]
// CHECK-NEXT: %[[S2:.*]] = replay.decay %[[S1]], %[[G]]
// CHECK-NEXT: %[[S3:.*]] = replay.rank1 %[[S2]], %[[D]], %[[KN]]
// CHECK-NEXT: replay.store_state %[[S3]], %[[SLOT]]
// CHECK-NEXT: } else {
// CHECK-NEXT: replay.append %[[RING]], %[[WP]] ["d", "k", "g"] %[[D]], %[[KN]], %[[G]]
// CHECK-NEXT: }
// CHECK-NEXT: }

// A window keeps the form of the single token: (norm * exp(G)) fma(tot, S0 x, ring x).
// CHECK-LABEL: replay.kernel @verify3_gdn
// CHECK: %[[RQ:.*]] = replay.rnorm l2_rsqrt({{.*}}scale
// CHECK: %[[RK:.*]] = replay.rnorm
// CHECK: %[[E:.*]] = math.exp %{{.*}} : tensor<3x1xf32>
// CHECK: %[[NQ:.*]] = arith.mulf %[[RQ]], %[[E]] : tensor<3x1xf32>
// CHECK: %[[Z:.*]]:2 = replay.ring_read %{{.*}}, %{{.*}}, %[[Q:.*]], %[[K:.*]] :
// CHECK: %[[S:.*]]:2 = replay.read %{{.*}}, %[[Q]], %[[K]] :
// CHECK: %[[U:.*]] = math.fma %{{.*}}, %[[S]]#0, %[[Z]]#0 : tensor<3x8xf32>
// CHECK: %[[NQB:.*]] = tile.broadcast %[[NQ]] : tensor<3x1xf32> -> tensor<3x8xf32>
// CHECK: arith.mulf %[[NQB]], %[[U]] : tensor<3x8xf32>
// CHECK: arith.mulf %[[RK]], %[[E]] : tensor<3x1xf32>

// KDA: decays in front of the reads, behind the operand in the product; norms behind the reads.
// CHECK-LABEL: replay.kernel @replay_kda shape
// CHECK: %[[G:.*]] = replay.gate
// CHECK: %[[RQ:.*]] = replay.rnorm l2_rsqrt(%[[QB:.*]]) {{.*}}scale
// CHECK: %[[Q:.*]] = arith.extf %[[QB]]
// CHECK: %[[RK:.*]] = replay.rnorm l2_rsqrt(%[[KB:.*]]) {
// CHECK: %[[K:.*]] = arith.extf %[[KB]]
// CHECK: %[[RKB:.*]] = tile.broadcast %[[RK]] : tensor<1x1xf32> -> tensor<1x16xf32>
// CHECK: %[[E:.*]] = math.exp %[[G]] : tensor<1x16xf32>
// CHECK: %[[XQ:.*]] = arith.mulf %[[Q]], %[[E]] : tensor<1x16xf32>
// CHECK: %[[W:.*]], %[[TOT:.*]] = replay.ring_weights
// CHECK: %[[XK:.*]] = arith.mulf %[[K]], %[[E]] : tensor<1x16xf32>
// CHECK: %[[Z:.*]]:2 = replay.ring_read %{{.*}}, %[[W]], %[[XQ]], %[[XK]] :
// CHECK: %[[X0Q:.*]] = arith.mulf %[[XQ]], %[[TOT]] : tensor<1x16xf32>
// CHECK: %[[X0K:.*]] = arith.mulf %[[XK]], %[[TOT]] : tensor<1x16xf32>
// CHECK: %[[S:.*]]:2 = replay.read %{{.*}}, %[[X0Q]], %[[X0K]] :
// CHECK: %[[UQ:.*]] = arith.addf %[[S]]#0, %[[Z]]#0 : tensor<1x8xf32>
// CHECK: %[[NQB:.*]] = tile.broadcast %[[RQ]] : tensor<1x1xf32> -> tensor<1x8xf32>
// CHECK: %[[YQ:.*]] = arith.mulf %[[NQB]], %[[UQ]] : tensor<1x8xf32>
// CHECK: %[[UK:.*]] = arith.addf %[[S]]#1, %[[Z]]#1 : tensor<1x8xf32>
// CHECK: arith.mulf %{{.*}}, %[[UK]] : tensor<1x8xf32>
// CHECK: %[[QK:.*]] = replay.scores %[[Q]] with %[[K]] :
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[YQ]] : tensor<1x8xf32>
