// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file %s | FileCheck %s

// Sums over K: a product, then an fma chain in ascending coordinates, then a
// butterfly with ascending distances.
// CHECK: llvm.func @rssm.shfl.bfly.f32(f32, i32, i32) -> f32
// CHECK-SAME: convergent
// CHECK-LABEL: gpu.func @lanes
// CHECK-DAG: %[[X:.*]]:4 = vector.to_elements %{{.*}} : vector<4xf32>
// CHECK-DAG: %[[S:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf32>
// CHECK: %[[A0:.*]] = arith.mulf %[[X]]#0, %[[S]]#0 : f32
// CHECK: %[[A1:.*]] = math.fma %[[X]]#1, %[[S]]#1, %[[A0]] : f32
// CHECK: %[[A2:.*]] = math.fma %[[X]]#2, %[[S]]#2, %[[A1]] : f32
// CHECK: %[[A3:.*]] = math.fma %[[X]]#3, %[[S]]#3, %[[A2]] : f32
// CHECK: %[[B0:.*]] = arith.mulf %[[X]]#0, %[[S]]#4 : f32
// CHECK: %[[B3:.*]] = math.fma %[[X]]#3, %[[S]]#7, %{{.*}} : f32
// CHECK: %[[D1:.*]] = arith.constant 1 : i32
// CHECK: %[[SA:.*]] = llvm.call @rssm.shfl.bfly.f32(%[[A3]], %[[D1]], %{{.*}})
// CHECK: %[[A4:.*]] = arith.addf %[[A3]], %[[SA]] : f32
// CHECK: %[[SB:.*]] = llvm.call @rssm.shfl.bfly.f32(%[[B3]], %c1_i32{{.*}}, %{{.*}})
// CHECK: %[[B4:.*]] = arith.addf %[[B3]], %[[SB]] : f32
// CHECK: %[[D2:.*]] = arith.constant 2 : i32
// CHECK: llvm.call @rssm.shfl.bfly.f32(%[[A4]], %[[D2]], %{{.*}})
// CHECK: llvm.call @rssm.shfl.bfly.f32(%[[B4]], %c2_i32{{.*}}, %{{.*}})
// CHECK: vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
gpu.module @m {
  gpu.func @lanes(%x0: f32, %s0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<1x16xf32, #tile.layout<[r1:1], [r2:2, l4:1, r2:1]>>
    %s = tensor.splat %s0 : tensor<2x16xf32, #tile.layout<[r2:4], [r2:2, l4:1, r2:1]>>
    %d = tile.dot %x, %s contract [1, 1] : (tensor<1x16xf32, #tile.layout<[r1:1], [r2:2, l4:1, r2:1]>>, tensor<2x16xf32, #tile.layout<[r2:4], [r2:2, l4:1, r2:1]>>) -> tensor<1x2xf32, #tile.layout<[r1:1], [r2:1]>>
    gpu.return
  }
}

// -----

// Sums over ring rows held in registers continue an accumulator.
// CHECK-LABEL: gpu.func @accumulate
// CHECK-DAG: %[[W:.*]]:2 = vector.to_elements %{{.*}} : vector<2xf32>
// CHECK-DAG: %[[D:.*]]:4 = vector.to_elements %{{.*}} : vector<4xf32>
// CHECK: %[[ACC:.*]]:2 = vector.to_elements %{{.*}} : vector<2xf32>
// CHECK: %[[T0:.*]] = math.fma %[[W]]#0, %[[D]]#0, %[[ACC]]#0 : f32
// CHECK: %[[T1:.*]] = math.fma %[[W]]#1, %[[D]]#2, %[[T0]] : f32
// CHECK: %[[U0:.*]] = math.fma %[[W]]#0, %[[D]]#1, %[[ACC]]#1 : f32
// CHECK: %[[U1:.*]] = math.fma %[[W]]#1, %[[D]]#3, %[[U0]] : f32
// CHECK: vector.from_elements %[[T1]], %[[U1]] : vector<2xf32>
// CHECK-NOT: llvm.call
gpu.module @m {
  gpu.func @accumulate(%w0: f32, %d0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %w = tensor.splat %w0 : tensor<2x1xf32, #tile.layout<[r2:1], [r1:1]>>
    %a = tensor.splat %w0 : tensor<1x8xf32, #tile.layout<[r1:1], [l4:1, r2:1]>>
    %d = tensor.splat %d0 : tensor<2x8xf32, #tile.layout<[r2:2], [l4:1, r2:1]>>
    %y = tile.dot %w, %d acc(%a) contract [0, 0] : (tensor<2x1xf32, #tile.layout<[r2:1], [r1:1]>>, tensor<2x8xf32, #tile.layout<[r2:2], [l4:1, r2:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [l4:1, r2:1]>>) -> tensor<1x8xf32, #tile.layout<[r1:1], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Two lanes share the sums of two rows: each keeps one and gives the other away. The
// lanes two apart then both have it.
// CHECK-LABEL: gpu.func @scatter
// CHECK: %[[A:.*]] = arith.mulf %{{.*}}, %{{.*}}#0 : f32
// CHECK: %[[B:.*]] = arith.mulf %{{.*}}, %{{.*}}#1 : f32
// CHECK: %[[UPPER:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i32
// CHECK: %[[OWN:.*]] = arith.select %[[UPPER]], %[[B]], %[[A]] : f32
// CHECK: %[[GIVEN:.*]] = arith.select %[[UPPER]], %[[A]], %[[B]] : f32
// CHECK: %[[GOT:.*]] = llvm.call @rssm.shfl.bfly.f32(%[[GIVEN]], %c1_i32{{.*}}, %{{.*}})
// CHECK: %[[SUM:.*]] = arith.addf %[[OWN]], %[[GOT]] : f32
// CHECK: %[[OTHER:.*]] = llvm.call @rssm.shfl.bfly.f32(%[[SUM]], %c2_i32{{.*}}, %{{.*}})
// CHECK: %[[ALL:.*]] = arith.addf %[[SUM]], %[[OTHER]] : f32
// CHECK: vector.from_elements %[[ALL]] : vector<1xf32>
// CHECK-NOT: llvm.call
gpu.module @m {
  gpu.func @scatter(%x0: f32, %s0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<1x4xf32, #tile.layout<[r1:1], [l4:1]>>
    %s = tensor.splat %s0 : tensor<2x4xf32, #tile.layout<[r2:1], [l4:1]>>
    %d = tile.dot %x, %s contract [1, 1] : (tensor<1x4xf32, #tile.layout<[r1:1], [l4:1]>>, tensor<2x4xf32, #tile.layout<[r2:1], [l4:1]>>) -> tensor<1x2xf32, #tile.layout<[r1:1], [l2:1]>>
    gpu.return
  }
}

// -----

// Row by row: as many sums as rows.
// CHECK-LABEL: gpu.func @rows
// CHECK: %[[A0:.*]] = arith.mulf %{{.*}}#0, %{{.*}}#0 : f32
// CHECK: %[[A1:.*]] = math.fma %{{.*}}#1, %{{.*}}#1, %[[A0]] : f32
// CHECK: %[[B0:.*]] = arith.mulf %{{.*}}#2, %{{.*}}#2 : f32
// CHECK: %[[B1:.*]] = math.fma %{{.*}}#3, %{{.*}}#3, %[[B0]] : f32
// CHECK-COUNT-2: llvm.call @rssm.shfl.bfly.f32
// CHECK: vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-NOT: fma
gpu.module @m {
  gpu.func @rows(%x0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>
    %d = tile.dot %x, %x contract [1, 1] rows : (tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>, tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>) -> tensor<2x1xf32, #tile.layout<[r2:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Sums of rows are shared as others are.
// CHECK-LABEL: gpu.func @rows_scatter
// CHECK: %[[A:.*]] = math.fma %{{.*}}#1, %{{.*}}#1,
// CHECK: %[[B:.*]] = math.fma %{{.*}}#3, %{{.*}}#3,
// CHECK: %[[UPPER:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i32
// CHECK: %[[OWN:.*]] = arith.select %[[UPPER]], %[[B]], %[[A]] : f32
// CHECK: %[[GIVEN:.*]] = arith.select %[[UPPER]], %[[A]], %[[B]] : f32
// CHECK: %[[GOT:.*]] = llvm.call @rssm.shfl.bfly.f32(%[[GIVEN]],
// CHECK: %[[SUM:.*]] = arith.addf %[[OWN]], %[[GOT]] : f32
// CHECK: vector.from_elements %[[SUM]] : vector<1xf32>
gpu.module @m {
  gpu.func @rows_scatter(%x0: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %x = tensor.splat %x0 : tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>
    %d = tile.dot %x, %x contract [1, 1] rows : (tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>, tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>) -> tensor<2x1xf32, #tile.layout<[l2:1], [r1:1]>>
    gpu.return
  }
}
