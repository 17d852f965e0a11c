// Stores to shared memory stand at the barrier that orders them, or at the access that they must precede.
// RUN: replayssm-opt %s -split-input-file -replay-sink-stores | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-sink-stores=registers=1 | FileCheck %s --check-prefix=ONE

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// Dots of scores come together, in front of all stores; stores keep their order.
// CHECK-LABEL: gpu.func @barrier
// CHECK: %[[A:.*]] = tile.load %[[IN:[0-9]+]][
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT: %[[B:.*]] = tile.load %[[IN]][
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[B]], %[[B]]
// CHECK-NEXT: %[[Z:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK-NEXT: tile.store %[[X]]
// CHECK-NEXT: tile.store %[[Y]]
// CHECK-NEXT: tile.store %[[Z]]
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load

// What waits for its store stays in registers: so many at most.
// ONE-LABEL: gpu.func @barrier
// ONE: tile.load
// ONE-NEXT: arith.addf
// ONE-NEXT: tile.load
// ONE-NEXT: arith.addf
// ONE-NEXT: tile.store
// ONE-NEXT: tile.store
// ONE-NEXT: arith.mulf
// ONE-NEXT: tile.store
// ONE-NEXT: tile.barrier
gpu.module @m {
  gpu.func @barrier(%o: i64) kernel {
    %in = tile.alloc at 0 : !buf
    %s = tile.alloc at 32 : !buf
    %t = tile.alloc at 64 : !buf
    %a = tile.load %in[%o] strides [8, 1] : !buf -> !x
    %x = arith.addf %a, %a : !x
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %b = tile.load %in[%o] strides [8, 1] : !buf -> !x
    %y = arith.addf %b, %b : !x
    tile.store %y, %t[%o] strides [8, 1] : !x, !buf
    %z = arith.mulf %b, %b : !x
    tile.store %z, %t[%o] strides [8, 1] : !x, !buf
    tile.barrier
    %c = tile.load %s[%o] strides [8, 1] : !buf -> !x
    gpu.return
  }
}

// -----

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// A function says how many may wait; here none does.
// CHECK-LABEL: gpu.func @chosen
// CHECK-NOT: replay.sink
// CHECK: tile.store
// CHECK-NEXT: arith.mulf
gpu.module @m {
  gpu.func @chosen(%o: i64) kernel attributes {replay.sink = 0 : i64} {
    %in = tile.alloc at 0 : !buf
    %s = tile.alloc at 32 : !buf
    %a = tile.load %in[%o] strides [8, 1] : !buf -> !x
    tile.store %a, %s[%o] strides [8, 1] : !x, !buf
    %z = arith.mulf %a, %a : !x
    tile.barrier
    tile.store %z, %s[%o] strides [8, 1] : !x, !buf
    gpu.return
  }
}

// -----

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// A thread that loads its own elements again needs no barrier: the store stays in front of the load, and so
// do the stores before it.
// CHECK-LABEL: gpu.func @own
// CHECK: arith.mulf
// CHECK-NEXT: tile.store %{{.*}}, %[[S:[0-9]+]][
// CHECK-NEXT: tile.store %{{.*}}, %[[T:[0-9]+]][
// CHECK-NEXT: tile.load %[[T]][
// CHECK-NEXT: gpu.return
gpu.module @m {
  gpu.func @own(%o: i64, %x: !x) kernel {
    %s = tile.alloc at 0 : !buf
    %t = tile.alloc at 32 : !buf
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    tile.store %x, %t[%o] strides [8, 1] : !x, !buf
    %y = arith.mulf %x, %x : !x
    %z = tile.load %t[%o] strides [8, 1] : !buf -> !x
    gpu.return
  }
}

// -----

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// Two stores of one element stay in their order; a store to global memory is no store to shared memory.
// CHECK-LABEL: gpu.func @same
// CHECK: tile.store %{{.*}}, %{{.*}} : {{.*}}, !llvm.ptr<1>
// CHECK-NEXT: %[[Y:.*]] = arith.mulf
// CHECK-NEXT: tile.store %{{.*}}, %[[S:[0-9]+]][
// CHECK-NEXT: tile.store %[[Y]], %[[S]][
// CHECK-NEXT: tile.barrier
gpu.module @m {
  gpu.func @same(%p: !llvm.ptr<1>, %o: i64, %x: !x) kernel {
    %s = tile.alloc at 0 : !buf
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    tile.store %x, %p[%o] strides [8, 1] : !x, !llvm.ptr<1>
    %y = arith.mulf %x, %x : !x
    tile.store %y, %s[%o] strides [8, 1] : !x, !buf
    tile.barrier
    gpu.return
  }
}

// -----

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// Neither into nor over branches and loops, nor out of them; a wait takes its time, and copies are ordered
// with nothing.
// CHECK-LABEL: gpu.func @regions
// CHECK: arith.mulf
// CHECK-NEXT: tile.store
// CHECK-NEXT: scf.if
// CHECK-NEXT:   arith.addf
// CHECK-NEXT:   tile.store
// CHECK-NEXT: }
// CHECK: arith.mulf
// CHECK-NEXT: tile.store
// CHECK-NEXT: scf.for
// CHECK-NEXT:   arith.addf
// CHECK-NEXT:   tile.store
// CHECK-NEXT: }
// CHECK: arith.mulf
// CHECK-NEXT: tile.store
// CHECK-NEXT: %[[TOKEN:.*]] = tile.copy
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.wait %[[TOKEN]]
gpu.module @m {
  gpu.func @regions(%p: !llvm.ptr<1>, %o: i64, %x: !x, %c: i1, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc at 0 : !buf
    %t = tile.alloc at 128 : !buf
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %a = arith.mulf %x, %x : !x
    scf.if %c {
      tile.store %x, %s[%o] strides [8, 1] : !x, !buf
      %y = arith.addf %x, %x : !x
    }
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %b = arith.mulf %x, %x : !x
    scf.for %i = %c0 to %n step %c1 {
      tile.store %x, %s[%o] strides [8, 1] : !x, !buf
      %y = arith.addf %x, %x : !x
    }
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %d = arith.mulf %x, %x : !x
    %token = tile.copy %p[%o] to %t mbarrier 0 : !llvm.ptr<1>, !buf
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %e = arith.mulf %x, %x : !x
    tile.wait %token
    gpu.return
  }
}
