// A program that may be lowered to threads passes unchanged.
// RUN: replayssm-opt %s -replay-verify-tile | FileCheck %s

!x = tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>

gpu.module @m {
  // Conditions come from block ids, arguments, constants, loads at uniform
  // addresses, and what loops and branches carry of them; so do bounds of loops.
  // CHECK-LABEL: gpu.func @uniform
  gpu.func @uniform(%p: !llvm.ptr<1>, %o: i64, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %row = gpu.block_id y
    %row64 = arith.index_cast %row : index to i64
    %at = llvm.getelementptr %p[%row64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %slot = llvm.load %at : !llvm.ptr<1> -> i32
    %live = arith.cmpi sge, %slot, %zero : i32
    %last = scf.if %live -> i32 {
      scf.yield %slot : i32
    } else {
      scf.yield %zero : i32
    }
    // So may the trip count of a loop.
    %trips = arith.index_cast %last : i32 to index
    %sum = scf.for %i = %c0 to %trips step %c1 iter_args(%acc = %last) -> i32 {
      %next = arith.addi %acc, %slot : i32
      scf.yield %next : i32
    }
    %any = arith.cmpi sgt, %sum, %zero : i32
    // CHECK: tile.copy
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    %t = tile.copy %p[%row64] to %s rows(%n) mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    scf.if %any {
      tile.wait %t
      %x = tile.load %s[%o] strides [8, 1] rows(%n) : !tile.smem<1, 8, f32> -> !x
      %y = tile.convert %x : !x -> tensor<1x8xf32, #tile.layout<[r2:1], [l8:1]>>
      tile.store %x, %p[%o] strides [8, 1] owner(%live) : !x, !llvm.ptr<1>
    } else {
      tile.wait %t
    }
    scf.for %i = %c0 to %n step %c1 {
    }
    gpu.return
  }
}
