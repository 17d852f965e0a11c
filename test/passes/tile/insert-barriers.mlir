// One barrier wherever threads exchange bytes, and nowhere else.
// RUN: replayssm-opt %s -split-input-file -replay-insert-barriers | FileCheck %s

!buf = !tile.smem<1, 8, f32>
!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

// Write, barrier, reads, barrier, write.
// CHECK-LABEL: gpu.func @straight
gpu.module @m {
  gpu.func @straight(%p: !llvm.ptr<1>, %o: i64, %x: !x) kernel {
    // CHECK-NOT: tile.barrier
    %s = tile.alloc at 0 : !buf
    %g = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> !x
    // CHECK: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: gpu.return
    tile.store %x, %s[%o] strides [8, 1] : !x, !buf
    %a = tile.load %s[%o] strides [8, 1] : !buf -> !x
    %b = tile.load %s[%o] strides [8, 1] : !buf -> !x
    tile.store %a, %s[%o] strides [8, 1] : !x, !buf
    gpu.return
  }
}

// -----

// Another buffer on the same bytes counts; one beside them does not.
// CHECK-LABEL: gpu.func @bytes
gpu.module @m {
  gpu.func @bytes(%o: i64, %x: tensor<1x8xf32>) kernel {
    %a = tile.alloc at 0 : !tile.smem<1, 8, f32>
    %b = tile.alloc at 32 : !tile.smem<1, 8, f32>
    %c = tile.alloc at 16 : !tile.smem<1, 4, bf16>
    // CHECK: tile.store
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    tile.store %x, %a[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    tile.store %x, %b[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    %y = tile.load %c[%o] strides [4, 1] : !tile.smem<1, 4, bf16> -> tensor<1x4xbf16>
    gpu.return
  }
}

// -----

// Stores to different elements of one buffer need one barrier behind them.
// CHECK-LABEL: gpu.func @pieces
gpu.module @m {
  gpu.func @pieces(%x: tensor<1x8xf32>) kernel {
    %c0 = arith.constant 0 : i64
    %c8 = arith.constant 8 : i64
    %a = tile.alloc at 0 : !tile.smem<1, 16, f32>
    // CHECK: tile.store
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    tile.store %x, %a[%c0] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 16, f32>
    tile.store %x, %a[%c8] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 16, f32>
    %y = tile.load %a[%c0] strides [8, 1] : !tile.smem<1, 16, f32> -> tensor<1x16xf32>
    gpu.return
  }
}

// -----

// Branches: what either may have touched is pending behind them.
// CHECK-LABEL: gpu.func @branches
gpu.module @m {
  gpu.func @branches(%o: i64, %c: i1, %x: tensor<1x8xf32>) kernel {
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    // CHECK: scf.if
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    scf.if %c {
      tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    }
    %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    // A barrier in one branch only does not help the other path.
    // CHECK: scf.if
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: } else {
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    scf.if %c {
      tile.store %y, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    } else {
    }
    tile.store %y, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    gpu.return
  }
}

// -----

// What a loop reads from outside waits once, in front of it.
// CHECK-LABEL: gpu.func @loop_reads
gpu.module @m {
  gpu.func @loop_reads(%o: i64, %x: tensor<1x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    // CHECK: tile.store
    tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: scf.for
    scf.for %i = %c0 to %c4 step %c1 {
      // CHECK-NEXT: tile.load
      // CHECK-NEXT: }
      %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    }
    gpu.return
  }
}

// -----

// An iteration waits for the one before.
// CHECK-LABEL: gpu.func @loop_carried
gpu.module @m {
  gpu.func @loop_carried(%o: i64, %x: tensor<1x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    // CHECK: scf.for
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    scf.for %i = %c0 to %c4 step %c1 {
      tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
      %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    }
    tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    gpu.return
  }
}

// -----

// An inner loop comes back to itself and to the outer one.
// CHECK-LABEL: gpu.func @nested
gpu.module @m {
  gpu.func @nested(%o: i64, %x: tensor<1x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    // CHECK: scf.for
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: }
    // CHECK-NEXT: }
    scf.for %i = %c0 to %c4 step %c1 {
      tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
      scf.for %j = %c0 to %c4 step %c1 {
        %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
      }
    }
    gpu.return
  }
}

// -----

// A wait orders a copy for all threads; bytes that threads have read are copied
// over behind a barrier.
// CHECK-LABEL: gpu.func @copies
gpu.module @m {
  gpu.func @copies(%p: !llvm.ptr<1>, %o: i64) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // CHECK: tile.copy
    // CHECK-NEXT: tile.wait
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.wait
    // CHECK-NEXT: gpu.return
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    tile.wait %t
    %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    %u = tile.copy %p[%o] to %s mbarrier 8 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    tile.wait %u
    gpu.return
  }
}

// -----

// Every thread loads an integer scalar before one of them overwrites it; a
// scalar of another buffer does not count.
// CHECK-LABEL: gpu.func @scalars
gpu.module @m {
  gpu.func @scalars(%wp: !llvm.ptr<1>, %other: !llvm.ptr<1>, %i: i64) kernel {
    // CHECK: llvm.load
    // CHECK-NEXT: llvm.store
    // CHECK-NOT: tile.barrier
    // CHECK: llvm.getelementptr
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: llvm.store
    %p = llvm.getelementptr %wp[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %x, %other : i32, !llvm.ptr<1>
    %q = llvm.getelementptr %wp[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %x, %q : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// What each iteration of a loop of unknown length exchanges: one barrier behind the
// loads of the iteration before, one between the threads of this one.
// CHECK-LABEL: gpu.func @unknown_trips
gpu.module @m {
  gpu.func @unknown_trips(%p: !llvm.ptr<1>, %n: index) kernel {
    // CHECK: scf.for
    // CHECK: tile.barrier
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.load
    // CHECK: scf.yield
    // CHECK: }
    // CHECK-NEXT: tile.barrier
    // CHECK-NEXT: tile.store
    %o = arith.constant 0 : i64
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32>
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> tensor<1x8xf32> {
      tile.store %acc, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
      %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
      scf.yield %y : tensor<1x8xf32>
    }
    tile.store %sum, %s[%o] strides [8, 1] : tensor<1x8xf32>, !tile.smem<1, 8, f32>
    gpu.return
  }
}

// -----

// Iterations that store to rows of their own need no barrier among themselves.
// CHECK-LABEL: gpu.func @own_rows
// CHECK-NOT: tile.barrier
// CHECK: scf.for
// CHECK-NOT: tile.barrier
// CHECK: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK: scf.for
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
gpu.module @m {
  gpu.func @own_rows(%x: tensor<1x8xf32>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %row = arith.constant 8 : i64
    %half = arith.constant 4 : i64
    %a = tile.alloc at 0 : !tile.smem<4, 8, f32>
    %b = tile.alloc at 128 : !tile.smem<4, 8, f32>
    scf.for %i = %c0 to %c4 step %c1 {
      %n = arith.index_cast %i : index to i64
      %at = arith.muli %n, %row : i64
      tile.store %x, %a[%at] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
    }
    %y = tile.load %a[%o] strides [8, 1] : !tile.smem<4, 8, f32> -> tensor<1x8xf32>
    scf.for %i = %c0 to %c4 step %c1 {
      %n = arith.index_cast %i : index to i64
      %at = arith.muli %n, %half : i64
      tile.store %x, %b[%at] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
    }
    gpu.return
  }
}

// -----

// Whole rows whose elements have one thread each: who stored one loads it. Not so
// where another layout loads, or where other threads hold copies.
!rows = !tile.smem<4, 64, f32>
!own = tensor<1x64xf32, #tile.layout<[r1:1], [w2:1, l32:1]>>
!other = tensor<1x64xf32, #tile.layout<[r1:1], [r2:1, l32:1]>>
// CHECK-LABEL: gpu.func @own_columns
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
gpu.module @m {
  gpu.func @own_columns(%x: !own, %y: !other, %n: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %row = arith.constant 64 : i64
    %c64 = arith.constant 64 : i64
    %at = arith.muli %n, %row : i64
    %a = tile.alloc at 0 : !rows
    tile.store %x, %a[%at] strides [64, 1] : !own, !rows
    %same = tile.load %a[%c64] strides [64, 1] : !rows -> !own
    %moved = tile.load %a[%c64] strides [64, 1] : !rows -> !other
    tile.store %y, %a[%at] strides [64, 1] : !other, !rows
    %copies = tile.load %a[%c64] strides [64, 1] : !rows -> !other
    gpu.return
  }
}
