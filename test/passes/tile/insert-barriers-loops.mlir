// RUN: replayssm-opt %s -split-input-file -replay-insert-barriers | FileCheck %s

// A loop around such iterations comes back to the same rows: the thread that stored an
// element stores it again. What any of them stored is loaded behind a barrier.
// CHECK-LABEL: gpu.func @nested
// CHECK: scf.for
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.barrier
// CHECK: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
gpu.module @m {
  gpu.func @nested(%x: tensor<1x8xf32>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %row = arith.constant 8 : i64
    %a = tile.alloc at 0 : !tile.smem<4, 8, f32>
    scf.for %n = %c0 to %c4 step %c1 {
      scf.for %i = %c0 to %c4 step %c1 {
        %k = arith.index_cast %i : index to i64
        %at = arith.muli %k, %row : i64
        tile.store %x, %a[%at] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
      }
      %y = tile.load %a[%o] strides [8, 1] : !tile.smem<4, 8, f32> -> tensor<1x8xf32>
    }
    gpu.return
  }
}

// -----

// Not the number of this loop, not all of the offset, or backwards: iterations may meet.
// CHECK-LABEL: gpu.func @may_meet
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
gpu.module @m {
  gpu.func @may_meet(%x: tensor<1x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %row = arith.constant 8 : i64
    %back = arith.constant -8 : i64
    %a = tile.alloc at 0 : !tile.smem<4, 8, f32>
    %b = tile.alloc at 128 : !tile.smem<4, 8, f32>
    %c = tile.alloc at 256 : !tile.smem<4, 8, f32>
    scf.for %n = %c0 to %c2 step %c1 {
      %outer = arith.index_cast %n : index to i64
      %first = arith.muli %outer, %row : i64
      scf.for %i = %c0 to %c2 step %c1 {
        tile.store %x, %a[%first] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
      }
      scf.for %i = %c0 to %c2 step %c1 {
        %k = arith.index_cast %i : index to i64
        %inner = arith.muli %k, %row : i64
        %sum = arith.addi %inner, %first : i64
        tile.store %x, %b[%sum] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
      }
      scf.for %i = %c0 to %c2 step %c1 {
        %k = arith.index_cast %i : index to i64
        %down = arith.muli %k, %back : i64
        %at = arith.addi %down, %row : i64
        tile.store %x, %c[%at] strides [8, 1] : tensor<1x8xf32>, !tile.smem<4, 8, f32>
      }
    }
    gpu.return
  }
}

// -----

// The same bytes in rows of another width: a column belongs to another thread.
!narrow = !tile.smem<4, 32, f32>
!wide = !tile.smem<2, 64, f32>
!row = tensor<1x32xf32, #tile.layout<[r1:1], [l32:1]>>
!rows = tensor<1x64xf32, #tile.layout<[r1:1], [l32:1, r2:1]>>
// CHECK-LABEL: gpu.func @other_width
// CHECK: tile.store
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.load
gpu.module @m {
  gpu.func @other_width(%x: !row, %n: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c32 = arith.constant 32 : i64
    %c64 = arith.constant 64 : i64
    %own = arith.muli %n, %c32 : i64
    %other = arith.muli %n, %c64 : i64
    %a = tile.alloc at 0 : !narrow
    %b = tile.alloc at 0 : !wide
    %c = tile.alloc at 0 : !narrow
    tile.store %x, %a[%own] strides [32, 1] : !row, !narrow
    %same = tile.load %a[%c32] strides [32, 1] : !narrow -> !row
    %wider = tile.load %b[%other] strides [64, 1] : !wide -> !rows
    tile.store %x, %c[%own] strides [32, 1] : !row, !narrow
    %again = tile.load %a[%c32] strides [32, 1] : !narrow -> !row
    gpu.return
  }
}
