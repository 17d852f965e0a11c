// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file %s | FileCheck %s

// Broadcasts repeat registers, converts rename them, both move no data.
// CHECK-LABEL: gpu.func @rename
// CHECK: %[[X:.*]] = vector.broadcast %{{.*}} : f32 to vector<2xf32>
// CHECK: %[[E:.*]]:2 = vector.to_elements %[[X]]
// CHECK: %[[B:.*]] = vector.from_elements %[[E]]#0, %[[E]]#0, %[[E]]#0, %[[E]]#1, %[[E]]#1, %[[E]]#1 : vector<6xf32>
// CHECK: %[[F:.*]]:6 = vector.to_elements %[[B]]
// CHECK: vector.from_elements %[[F]]#0, %[[F]]#3, %[[F]]#1, %[[F]]#4, %[[F]]#2, %[[F]]#5 : vector<6xf32>
// CHECK-NOT: tensor
gpu.module @m {
  gpu.func @rename(%x0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    %y = tile.broadcast %x : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>> -> tensor<3x16xf32, #tile.layout<[r3:1], [r2:3, l8:1]>>
    %z = tile.convert %y : tensor<3x16xf32, #tile.layout<[r3:1], [r2:3, l8:1]>> -> tensor<3x16xf32, #tile.layout<[r3:2], [r2:1, l8:1]>>
    gpu.return
  }
}

// -----

// Elementwise ops, constants and control flow take the vector type.
// CHECK-LABEL: gpu.func @control
// CHECK: %[[INIT:.*]] = arith.constant dense<1.000000e+00> : vector<2xf32>
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[INIT]]) -> (vector<2xf32>)
// CHECK: %[[S1:.*]] = arith.addf %[[ACC]], %[[ACC]] : vector<2xf32>
// CHECK: scf.yield %[[S1]] : vector<2xf32>
// CHECK: %[[I:.*]] = scf.if %{{.*}} -> (vector<2xf32>)
// CHECK: %[[C:.*]] = arith.cmpf olt, %[[I]], %[[R]] : vector<2xf32>
// CHECK: arith.select %[[C]], %[[R]], %[[I]] : vector<2xi1>, vector<2xf32>
gpu.module @m {
  gpu.func @control(%c: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i8 = arith.constant 8 : index
    %init = arith.constant dense<1.0> : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    %r = scf.for %i = %i0 to %i8 step %i1 iter_args(%acc = %init) -> tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>> {
      %s = arith.addf %acc, %acc : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
      scf.yield %s : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    }
    %y = scf.if %c -> tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>> {
      %e = math.exp %r : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
      scf.yield %e : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    } else {
      scf.yield %init : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    }
    %m = arith.cmpf olt, %y, %r : tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    %z = arith.select %m, %r, %y : tensor<1x16xi1, #tile.layout<[r1:1], [r2:1, l8:1]>>, tensor<1x16xf32, #tile.layout<[r1:1], [r2:1, l8:1]>>
    gpu.return
  }
}

// -----

// A coordinate is what the thread has of it and what the register adds, or the latter alone.
// CHECK-LABEL: gpu.func @iota
// CHECK: %[[TID:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[LANE:.*]] = arith.andi %[[TID]], %c31_i32
// CHECK: %[[WARP:.*]] = arith.shrui %[[TID]], %c5_i32
// CHECK: %[[GROUP:.*]] = arith.shrui %[[LANE]], %c2_i32
// CHECK: %[[FAR:.*]] = arith.muli %[[WARP]], %c16_i32
// CHECK: %[[MINE:.*]] = arith.addi %[[GROUP]], %[[FAR]] : i32
// CHECK: arith.addi %[[MINE]], %c0_i32{{.*}} : i32
// CHECK: %[[X0:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.addi %[[MINE]], %c8_i32{{.*}} : i32
// CHECK: %[[X1:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: vector.from_elements %[[X0]], %[[X1]], %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: %[[Y0:.*]] = arith.sitofp %c0_i32{{.*}} : i32 to f32
// CHECK: %[[Y1:.*]] = arith.sitofp %c0_i32{{.*}} : i32 to f32
// CHECK: %[[Y2:.*]] = arith.sitofp %c1_i32{{.*}} : i32 to f32
// CHECK: %[[Y3:.*]] = arith.sitofp %c1_i32{{.*}} : i32 to f32
// CHECK: vector.from_elements %[[Y0]], %[[Y1]], %[[Y2]], %[[Y3]] : vector<4xf32>
gpu.module @m {
  gpu.func @iota() kernel attributes {known_block_size = array<i32: 64, 1, 1>, replay.manifest = {}} {
    %i = tile.iota 1 : tensor<2x32xf32, #tile.layout<[r2:2], [w2:1, r2:1, l8:4]>>
    %j = tile.iota 0 : tensor<2x32xf32, #tile.layout<[r2:2], [w2:1, r2:1, l8:4]>>
    gpu.return
  }
}
