// Offsets by lifetime where more blocks fit for it; mbarriers come first, 8 bytes each.
// RUN: replayssm-opt %s -split-input-file -replay-plan-shared | FileCheck %s

// Buffers that are never live together lie at one place; the manifest says how much is needed.
// CHECK-LABEL: gpu.func @reuse
// CHECK-SAME: replay.manifest = {name = "reuse", sharedBytes = 8192 : i64}
gpu.module @m {
  gpu.func @reuse(%o: i64, %x: tensor<16x64xf32>) kernel attributes {replay.manifest = {name = "reuse", sharedBytes = 0 : i64}} {
    // CHECK: tile.alloc at 0 : <16, 64, f32>
    %a = tile.alloc : !tile.smem<16, 64, f32>
    tile.store %x, %a[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    // CHECK: tile.alloc at 4096 : <16, 64, f32>
    %b = tile.alloc : !tile.smem<16, 64, f32>
    %y = tile.load %a[%o] strides [64, 1] : !tile.smem<16, 64, f32> -> tensor<16x64xf32>
    tile.store %y, %b[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    // CHECK: tile.alloc at 0 : <16, 64, f32>
    %c = tile.alloc : !tile.smem<16, 64, f32>
    tile.store %y, %c[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    gpu.return
  }
}

// -----

// Reuse costs barriers: not where as many blocks fit without it, here two of 1024 threads.
// CHECK-LABEL: gpu.func @roomy
// CHECK-SAME: sharedBytes = 4144 : i64
gpu.module @m {
  gpu.func @roomy(%o: i64, %x: tensor<16x64xf32>) kernel attributes {known_block_size = array<i32: 1024, 1, 1>} {
    // CHECK: tile.alloc at 0 : <16, 64, f32>
    %a = tile.alloc : !tile.smem<16, 64, f32>
    tile.store %x, %a[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    // CHECK: tile.alloc at 4096 : <1, 9, f32>
    %b = tile.alloc : !tile.smem<1, 9, f32>
    gpu.return
  }
}

// -----

// What the copy engine writes is the buffer's own from the start, at 128 bytes.
// CHECK-LABEL: gpu.func @copies
// CHECK-SAME: sharedBytes = 12416 : i64
gpu.module @m {
  gpu.func @copies(%p: !llvm.ptr<1>, %o: i64, %x: tensor<16x64xf32>) kernel {
    // CHECK: tile.alloc at 8320 : <16, 64, f32>
    %a = tile.alloc : !tile.smem<16, 64, f32>
    tile.store %x, %a[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    // CHECK: tile.alloc at 128 : <16, 64, f32>
    %b = tile.alloc : !tile.smem<16, 64, f32>
    // CHECK: tile.copy {{.*}} mbarrier 0
    %s = tile.copy %p[%o] to %b : !llvm.ptr<1>, !tile.smem<16, 64, f32>
    // CHECK: tile.alloc at 4224 : <16, 64, f32>
    %c = tile.alloc : !tile.smem<16, 64, f32>
    // CHECK: tile.copy {{.*}} mbarrier 8
    %t = tile.copy %p[%o] to %c : !llvm.ptr<1>, !tile.smem<16, 64, f32>
    tile.wait %s
    tile.wait %t
    // Both copies have landed and nobody reads them: their bytes are free again.
    // CHECK: tile.alloc at 16 : <16, 64, f32>
    %d = tile.alloc : !tile.smem<16, 64, f32>
    gpu.return
  }
}

// -----

// A wait on one path leaves the copy in flight on the other.
// CHECK-LABEL: gpu.func @partial_wait
gpu.module @m {
  gpu.func @partial_wait(%p: !llvm.ptr<1>, %o: i64, %c: i1) kernel {
    %b = tile.alloc : !tile.smem<16, 64, f32>
    %s = tile.copy %p[%o] to %b : !llvm.ptr<1>, !tile.smem<16, 64, f32>
    scf.if %c {
      tile.wait %s
    }
    // CHECK: tile.alloc at 4224
    %d = tile.alloc : !tile.smem<16, 64, f32>
    gpu.return
  }
}

// -----

// A loop comes back to a buffer from outside, not to one of its own.
// CHECK-LABEL: gpu.func @loop
gpu.module @m {
  gpu.func @loop(%o: i64, %x: tensor<16x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // CHECK: tile.alloc at 0
    %a = tile.alloc : !tile.smem<16, 64, f32>
    scf.for %i = %c0 to %c4 step %c1 {
      %y = tile.load %a[%o] strides [64, 1] : !tile.smem<16, 64, f32> -> tensor<16x64xf32>
      // CHECK: tile.alloc at 4096
      %b = tile.alloc : !tile.smem<16, 64, f32>
      tile.store %y, %b[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
      // CHECK: tile.alloc at 4096
      %c = tile.alloc : !tile.smem<16, 64, f32>
      tile.store %y, %c[%o] strides [64, 1] : tensor<16x64xf32>, !tile.smem<16, 64, f32>
    }
    gpu.return
  }
}

// -----

// And where there is no room otherwise.
// CHECK-LABEL: gpu.func @tight
// CHECK-SAME: sharedBytes = 232448 : i64
gpu.module @m {
  gpu.func @tight(%o: i64, %x: tensor<1x256xf32>) kernel {
    %a = tile.alloc : !tile.smem<1, 256, f32>
    tile.store %x, %a[%o] strides [256, 1] : tensor<1x256xf32>, !tile.smem<1, 256, f32>
    %b = tile.alloc : !tile.smem<227, 256, f32>
    gpu.return
  }
}
