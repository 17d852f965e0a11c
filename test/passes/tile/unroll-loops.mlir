// Loops are unrolled as often as they say; others stay as they are.
// RUN: replayssm-opt %s -replay-unroll-loops | FileCheck %s

!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @part
  // CHECK: %[[STEP:.*]] = arith.constant 2 : index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[STEP]] {
  // CHECK-COUNT-2: math.exp
  // CHECK-NOT: math.exp
  // CHECK: }
  // CHECK-NOT: tile.unroll
  gpu.func @part(%x: !x) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %e = math.exp %x : !x
    } {tile.unroll = 2 : i64}
    gpu.return
  }

  // As often as it runs at most: then nothing is left of the loop.
  // CHECK-LABEL: gpu.func @all
  // CHECK-NOT: scf.for
  // CHECK-COUNT-3: math.exp
  // CHECK-NOT: math.exp
  // CHECK: gpu.return
  gpu.func @all(%x: !x) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c3 step %c1 {
      %e = math.exp %x : !x
    } {tile.unroll = 4 : i64}
    gpu.return
  }

  // CHECK-LABEL: gpu.func @plain
  // CHECK: scf.for
  // CHECK-COUNT-1: math.exp
  // CHECK-NOT: math.exp
  // CHECK: gpu.return
  gpu.func @plain(%x: !x, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %e = math.exp %x : !x
    }
    gpu.return
  }
}
