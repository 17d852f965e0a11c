// RUN: replayssm-opt %s -replay-hoist-loads | FileCheck %s

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

// Row, cursor, tokens, parameters, then states and rings; also out of branches, with the
// arithmetic of their addresses.
// CHECK-LABEL: replay.kernel @order
// CHECK-NEXT: %[[SLOT:.*]], %[[RING:.*]], %{{.*}} = replay.row
// CHECK-NEXT: %[[WP:.*]], %{{.*}} = replay.cursor %[[RING]] wrap(4)
// CHECK-NEXT: %[[B:.*]] = replay.load_token "b"
// CHECK-NEXT: %[[Q:.*]] = replay.load_token "q"
// CHECK-NEXT: replay.load_param "A_log"
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[ADDR:.*]] = arith.addi %[[SLOT]], %[[ONE]] : index
// CHECK-NEXT: %[[S:.*]] = replay.load_state %[[ADDR]]
// CHECK-NEXT: replay.load_ring %[[RING]] valid(%[[WP]])
// CHECK-NEXT: math.exp %[[B]]
replay.kernel @order shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  %b = replay.load_token "b" : tensor<1x1xf32>
  %e = math.exp %b : tensor<1x1xf32>
  %slot, %ring, %live = replay.row
  %c1 = arith.constant 1 : index
  %addr = arith.addi %slot, %c1 : index
  %S = replay.load_state %addr : <8, 16, f32>
  %wp, %flush = replay.cursor %ring wrap(4)
  scf.if %flush {
    %q = replay.load_token "q" : tensor<1x16xf32>
    %A = replay.load_param "A_log" : tensor<1x1xf32>
    %R = replay.load_ring %ring valid(%wp) : <#ring>
    %S1 = replay.replay %S, %R : <8, 16, f32>, <#ring>
    %S2 = replay.decay %S1, %A : <8, 16, f32>, tensor<1x1xf32>
    %y = replay.read %S2, %q : (!replay.state<8, 16, f32>, tensor<1x16xf32>) -> tensor<1x8xf32>
    replay.store_out %y as f32 : tensor<1x8xf32>
    replay.store_state %S2, %slot : <8, 16, f32>
  }
}
