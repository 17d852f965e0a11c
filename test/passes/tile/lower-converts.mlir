// Elements that change threads go through shared memory; renamed registers do not.
// RUN: replayssm-opt %s -split-input-file -replay-lower-converts | FileCheck %s

// CHECK-LABEL: gpu.func @through_memory
gpu.module @m {
  gpu.func @through_memory(%x: tensor<16x1xf32, #tile.layout<[w4:1, l4:8], [r1:1]>>) {
    // CHECK-NEXT: %[[S:.*]] = tile.alloc : <16, 1, f32>
    // CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : i64
    // CHECK-NEXT: tile.store %{{.*}}, %[[S]][%[[C0]]] strides [1, 1] : tensor<16x1xf32, #tile.layout<[w4:1, l4:8], [r1:1]>>, !tile.smem<16, 1, f32>
    // CHECK-NEXT: tile.load %[[S]][%[[C0]]] strides [1, 1] : !tile.smem<16, 1, f32> -> tensor<16x1xf32, #tile.layout<[r2:1, l8:1], [r1:1]>>
    %y = tile.convert %x : tensor<16x1xf32, #tile.layout<[w4:1, l4:8], [r1:1]>> -> tensor<16x1xf32, #tile.layout<[r2:1, l8:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Rows of whole bank cycles get 16 bytes more.
// CHECK-LABEL: gpu.func @padded
gpu.module @m {
  gpu.func @padded(%x: tensor<4x64xbf16, #tile.layout<[r4:2], [r2:1, l32:1]>>) {
    // CHECK: tile.alloc : <4, 72, bf16>
    // CHECK: tile.store {{.*}} strides [72, 1]
    // CHECK: tile.load {{.*}} strides [72, 1]
    %y = tile.convert %x : tensor<4x64xbf16, #tile.layout<[r4:2], [r2:1, l32:1]>> -> tensor<4x64xbf16, #tile.layout<[l4:8], [r8:1, l8:1]>>
    gpu.return
  }
}

// -----

// Registers in another order and missing padding stay in the thread.
// CHECK-LABEL: gpu.func @renamed
gpu.module @m {
  gpu.func @renamed(%x: tensor<4x64xf32, #tile.layout<[r4:8], [r2:4, l8:1, r4:1]>>,
                    %p: tensor<3x8xf32, #tile.layout<[r3:1], [l8:1]>>) {
    // CHECK-NOT: tile.alloc
    // CHECK: tile.convert
    %y = tile.convert %x : tensor<4x64xf32, #tile.layout<[r4:8], [r2:4, l8:1, r4:1]>> -> tensor<4x64xf32, #tile.layout<[r4:1], [r2:16, l8:1, r4:4]>>
    // CHECK: tile.convert
    %q = tile.convert %p : tensor<3x8xf32, #tile.layout<[r3:1], [l8:1]>> -> tensor<3x8xf32, #tile.layout<[r4:1], [l8:1]>>
    gpu.return
  }
}

// -----

// Copies in other lanes are another layout, and equal layouts are nothing.
// CHECK-LABEL: gpu.func @copies
gpu.module @m {
  gpu.func @copies(%x: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>> {
    // CHECK: tile.alloc
    // CHECK: tile.load {{.*}} -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:4]>>
    %y = tile.convert %x : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:4]>>
    // CHECK-NEXT: gpu.return %{{arg0|x}}
    %z = tile.convert %x : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return %z : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
  }
}
