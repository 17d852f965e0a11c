// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file %s | FileCheck %s

// Rows in registers: a chain from the last row, the first value is the total.
// CHECK-LABEL: gpu.func @registers
// CHECK: %[[X:.*]]:3 = vector.to_elements %{{.*}} : vector<3xf32>
// CHECK: %[[S1:.*]] = arith.addf %[[X]]#1, %[[X]]#2 : f32
// CHECK: %[[TOT:.*]] = arith.addf %[[X]]#0, %[[S1]] : f32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: vector.from_elements %[[S1]], %[[X]]#2, %[[ZERO]] : vector<3xf32>
// CHECK: vector.from_elements %[[TOT]] : vector<1xf32>
gpu.module @m {
  gpu.func @registers(%x0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<3x32xf32, #tile.layout<[r3:1], [l32:1]>>
    %s, %t = tile.scan add %x : tensor<3x32xf32, #tile.layout<[r3:1], [l32:1]>> -> tensor<3x32xf32, #tile.layout<[r3:1], [l32:1]>>, tensor<1x32xf32, #tile.layout<[r1:1], [l32:1]>>
    gpu.return
  }
}

// -----

// Rows in lanes inside registers: lanes by shuffles inside groups, then registers.
// CHECK-LABEL: gpu.func @lanes
// CHECK: %[[X:.*]]:2 = vector.to_elements %{{.*}} : vector<2xf32>
// CHECK: %[[DIGIT:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK: %[[W:.*]] = arith.constant 4 : i32
// CHECK: %[[M1:.*]] = llvm.call @rssm.shfl.down.f32(%[[X]]#0, %c1_i32{{.*}}, %[[W]], %{{.*}})
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[DIGIT]], %{{.*}} : i32
// CHECK: %[[V1:.*]] = arith.select %[[IN]], %[[M1]], %{{.*}} : f32
// CHECK: %[[I1:.*]] = arith.addf %[[X]]#0, %[[V1]] : f32
// CHECK: llvm.call @rssm.shfl.down.f32(%[[I1]], %{{.*}}, %[[W]], %{{.*}})
// CHECK: %[[INC:.*]] = arith.addf %[[I1]], %{{.*}} : f32
// CHECK: %[[EX:.*]] = llvm.call @rssm.shfl.down.f32(%[[INC]], %c1_i32{{.*}}, %[[W]], %{{.*}})
// CHECK: %[[L0:.*]] = arith.select %{{.*}}, %[[EX]], %{{.*}} : f32
// CHECK: llvm.call @rssm.shfl.bfly.f32(%[[X]]#0, %c1_i32{{.*}}, %{{.*}})
// CHECK: %[[T0:.*]] = arith.addf
// CHECK: llvm.call @rssm.shfl.bfly.f32
// CHECK: %[[SUM0:.*]] = arith.addf
// CHECK-COUNT-3: llvm.call @rssm.shfl.down.f32
// CHECK: %[[L1:.*]] = arith.select
// CHECK: llvm.call @rssm.shfl.bfly.f32
// CHECK: llvm.call @rssm.shfl.bfly.f32
// CHECK: %[[SUM1:.*]] = arith.addf
// CHECK: %[[S0:.*]] = arith.addf %[[L0]], %[[SUM1]] : f32
// CHECK: %[[TOT:.*]] = arith.addf %[[SUM0]], %[[SUM1]] : f32
// CHECK: vector.from_elements %[[S0]], %[[L1]] : vector<2xf32>
// CHECK: vector.from_elements %[[TOT]] : vector<1xf32>
gpu.module @m {
  gpu.func @lanes(%x0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<8x1xf32, #tile.layout<[r2:1, l4:1], [r1:1]>>
    %s, %t = tile.scan add %x : tensor<8x1xf32, #tile.layout<[r2:1, l4:1], [r1:1]>> -> tensor<8x1xf32, #tile.layout<[r2:1, l4:1], [r1:1]>>, tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// From row %arg1 on: those rows first, then the ones before, which are later. Each
// is a scan of its own; no sum is a difference.
// CHECK-LABEL: gpu.func @from
// CHECK: %[[X:.*]]:2 = vector.to_elements %{{.*}} : vector<2xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[FROM:.*]] = arith.index_cast %arg1 : index to i32
// CHECK: %[[OLD0:.*]] = arith.cmpi sle, %[[FROM]], %{{.*}} : i32
// CHECK: %[[A0:.*]] = arith.select %[[OLD0]], %[[X]]#0, %[[ZERO]]
// CHECK: %[[B0:.*]] = arith.select %[[OLD0]], %[[ZERO]], %[[X]]#0
// CHECK: %[[OLD1:.*]] = arith.cmpi sle, %[[FROM]], %{{.*}} : i32
// CHECK: %[[A1:.*]] = arith.select %[[OLD1]], %[[X]]#1, %[[ZERO]]
// CHECK: %[[B1:.*]] = arith.select %[[OLD1]], %[[ZERO]], %[[X]]#1
// CHECK: %[[A:.*]] = arith.addf %[[A0]], %[[A1]]
// CHECK: %[[B:.*]] = arith.addf %[[B0]], %[[B1]]
// CHECK: %[[ALL0:.*]] = arith.addf %[[A1]], %[[B]]
// CHECK: %[[S0:.*]] = arith.select %[[OLD0]], %[[ALL0]], %[[B1]]
// CHECK: %[[TOT:.*]] = arith.addf %[[A]], %[[B]]
// CHECK: %[[S1:.*]] = arith.select %[[OLD1]]
// CHECK: vector.from_elements %[[S0]], %[[S1]] : vector<2xf32>
// CHECK: vector.from_elements %[[TOT]] : vector<1xf32>
gpu.module @m {
  gpu.func @from(%x0: f32, %base: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<2x32xf32, #tile.layout<[r2:1], [l32:1]>>
    %s, %t = tile.scan add %x from(%base) : tensor<2x32xf32, #tile.layout<[r2:1], [l32:1]>> -> tensor<2x32xf32, #tile.layout<[r2:1], [l32:1]>>, tensor<1x32xf32, #tile.layout<[r1:1], [l32:1]>>
    gpu.return
  }
}
