// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -o %t
// RUN: sed -n '/kernel @packed_gdn/,/^  }/p' %t | sed 1d > %t.packed
// RUN: sed -n '/kernel @replay1_gdn/,/^  }/p' %t | sed 1d > %t.replay1
// With a ring of one record replay is packed decode, op by op.
// RUN: diff %t.packed %t.replay1

// The layer is gone; its shape and null rule are the kernels' now.
// CHECK-NOT: replay.layer

// Packed: load, step, store.
// CHECK-LABEL: replay.kernel @packed_gdn of @gdn kind packed shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred
// CHECK-NOT: replay.cursor
// CHECK: %[[SLOT:.*]], %{{.*}}, %{{.*}} = replay.row
// CHECK: %[[S:.*]] = replay.load_state %[[SLOT]] : <8, 16, f32>
// CHECK: %[[NEXT:.*]], %[[O:.*]], %{{.*}} = replay.delta chain(%[[S]],
// CHECK: replay.store_out %[[O]] as bf16 : tensor<1x8xf32>
// CHECK: replay.store_state %[[NEXT]], %[[SLOT]]

// Replay: checkpoint + ring; the store is an append unless the ring is full.
// CHECK-LABEL: replay.kernel @replay_gdn of @gdn kind replay
// CHECK: %[[SLOT:.*]], %[[RING:.*]], %{{.*}} = replay.row
// CHECK: %[[WP:.*]], %[[FLUSH:.*]] = replay.cursor %[[RING]] wrap(4)
// CHECK: %[[S0:.*]] = replay.load_state %[[SLOT]]
// CHECK: %[[R:.*]] = replay.load_ring %[[RING]] valid(%[[WP]])
// CHECK: %[[S:.*]] = replay.replay %[[S0]], %[[R]]
// CHECK: %[[G:.*]] = replay.gate
// CHECK: %[[KN:.*]] = replay.l2norm l2_rsqrt(%{{.*}}) {eps = {{[^,]*}}} :
// CHECK: %[[NEXT:.*]], %[[O:.*]], %[[D:.*]] = replay.delta chain(%[[S]], %{{.*}}, %[[KN]], %{{.*}}, %[[G]], %{{.*}})
// CHECK: replay.store_out %[[O]] as bf16
// CHECK: scf.if %[[FLUSH]] {
// CHECK-NEXT: replay.store_state %[[NEXT]], %[[SLOT]]
// CHECK-NEXT: } else {
// CHECK-NEXT: replay.append %[[RING]], %[[WP]] ["d", "k", "g"] %[[D]], %[[KN]], %[[G]]

// Cursors: wp <- flush ? 0 : wp + 1, and nothing else.
// CHECK-LABEL: replay.kernel @cursors_gdn of @gdn kind cursors
// CHECK-NEXT: %{{.*}}, %[[RING:.*]], %{{.*}} = replay.row
// CHECK-NEXT: %[[WP:.*]], %[[FLUSH:.*]] = replay.cursor %[[RING]] wrap(4)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %[[NEXT:.*]] = arith.addi %[[WP]], %[[ONE]] : index
// CHECK-NEXT: %[[VALUE:.*]] = arith.select %[[FLUSH]], %[[ZERO]], %[[NEXT]] : index
// CHECK-NEXT: replay.set_cursor "wp" %[[RING]], %[[VALUE]]
// CHECK-NEXT: }

// A window: the same body on T rows, as many as there are; parameters keep one.
// CHECK-LABEL: replay.kernel @verify3_gdn of @gdn kind verify
// CHECK: %{{.*}}, %[[RING:.*]], %{{.*}} = replay.row
// CHECK: %[[FIRST:.*]], %[[LENGTH:.*]] = replay.window
// CHECK: %[[WP:.*]] = replay.load_slot "wp"
// CHECK: replay.load_token "q" window(%[[FIRST]], %[[LENGTH]]) : tensor<3x16xbf16>
// CHECK: replay.load_token "b" window(%[[FIRST]], %[[LENGTH]]) : tensor<3x1xbf16>
// CHECK: replay.load_param "dt_bias" : tensor<1x1xf32>
// CHECK: replay.gate {{.*}} : (tensor<3x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
// CHECK: replay.l2norm {{.*}} : (tensor<3x16xbf16>) -> tensor<3x16xf32>
// CHECK: replay.delta {{.*}} -> (!replay.state<8, 16, f32>, tensor<3x8xf32>, tensor<3x8xf32>)
// CHECK: replay.store_out %{{.*}} as bf16 window(%[[FIRST]], %[[LENGTH]]) : tensor<3x8xf32>
// CHECK-NEXT: replay.append %[[RING]], %[[WP]] ["d", "k", "g"] %{{.*}}, %{{.*}}, %{{.*}} rows(%[[LENGTH]]) : tensor<3x8xf32>, tensor<3x16xf32>, tensor<3x1xf32>
// CHECK-NEXT: }

// The committed records go into the checkpoint.
// CHECK-LABEL: replay.kernel @fold_gdn of @gdn kind fold
// CHECK: %[[N:.*]] = replay.load_row "fold_len"
// CHECK: %[[ROOM:.*]] = arith.minsi %[[N]], %{{.*}} : index
// CHECK: replay.load_ring %{{.*}} valid(%[[ROOM]])
// CHECK: %[[S:.*]] = replay.replay
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[ROOM]], %{{.*}} : index
// CHECK: scf.if %[[ANY]] {
// CHECK-NEXT: replay.store_state %[[S]],

// Cursors of a window: accepted tokens count, and whoever has no room for another window folds.
// CHECK-LABEL: replay.kernel @commit_gdn of @gdn kind cursors
// CHECK: %[[ACCEPTED:.*]] = replay.load_row "accept_len"
// CHECK: replay.expect "accept_len" %[[ACCEPTED]] in %{{.*}} to %
// CHECK: %[[N0:.*]] = arith.maxsi %[[ACCEPTED]], %{{.*}} : index
// CHECK: %[[N:.*]] = arith.minsi %[[N0]], %{{.*}} : index
// CHECK: %[[TOTAL:.*]] = arith.addi %{{.*}}, %[[N]] : index
// CHECK: %[[FORCE:.*]] = replay.load_row "force_flush"
// CHECK: %[[FORCED:.*]] = arith.cmpi ne, %[[FORCE]], %{{.*}} : index
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[FULL:.*]] = arith.cmpi sgt, %[[TOTAL]], %[[TWO]] : index
// CHECK: %[[FOLDS:.*]] = arith.ori %[[FULL]], %[[FORCED]] : i1
// CHECK: %[[NEXT:.*]] = arith.select %[[FOLDS]], %{{.*}}, %[[TOTAL]] : index
// CHECK: %[[LENGTH:.*]] = arith.select %[[FOLDS]], %[[TOTAL]], %{{.*}} : index
// CHECK-NEXT: replay.set_cursor "wp" %{{.*}}, %[[NEXT]]
// CHECK-NEXT: replay.store_row "fold_len", %[[LENGTH]]

// KDA differs in the width of the gate and of its record.
// CHECK-LABEL: replay.kernel @replay_kda of @kda kind replay shape <H = 4, HV = 4, K = 16, V = 8> null le0
// CHECK: replay.load_token "a" : tensor<1x16xbf16>
// CHECK: replay.append {{.*}} : tensor<1x8xf32>, tensor<1x16xf32>, tensor<1x16xf32>
