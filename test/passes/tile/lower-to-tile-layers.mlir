// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// Many layers: grid z; buffers are a stride apart, cursors are shared.
// CHECK-LABEL: gpu.func @stride(
// CHECK-SAME: %[[IDX:[a-z0-9]+]]: !llvm.ptr<1>, %[[STATE:[a-z0-9]+]]: !llvm.ptr<1>, %[[STRIDE:[a-z0-9]+]]: i64, %[[LAYERS:[a-z0-9]+]]: i64)
// CHECK-SAME: args = {{\[}}["state_idx", "pointer", "i32"], ["state", "pointer", "f32"], ["state_stride", "stride", "i64", 1024], ["state_layer_stride", "stride", "i64", 1024]]
// CHECK: %[[Z:.*]] = gpu.block_id z
// CHECK: %[[LAYER:.*]] = arith.index_cast %[[Z]] : index to i64
// CHECK: %[[FAR:.*]] = arith.muli %[[LAYER]], %[[LAYERS]] : i64
// CHECK: %[[OWN:.*]] = llvm.getelementptr %[[STATE]][%[[FAR]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: tile.load %[[OWN]][
// CHECK: tile.store %{{.*}}, %[[OWN]][
replay.kernel @stride shape <H = 1, HV = 1, K = 32, V = 32> null lt0 layers stride kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <32, 32, f32>
  replay.store_state %S, %slot : <32, 32, f32>
}

// -----

// CHECK-LABEL: gpu.func @table(
// CHECK-SAME: %[[IDX:[a-z0-9]+]]: !llvm.ptr<1>, %[[STATE:[a-z0-9]+]]: !llvm.ptr<1>, %[[STRIDE:[a-z0-9]+]]: i64)
// CHECK-SAME: args = {{\[}}["state_idx", "pointer", "i32"], ["state", "table", "f32"], ["state_stride", "stride", "i64", 1024]]
// CHECK: %[[LAYER:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[ENTRY:.*]] = llvm.getelementptr %[[STATE]][%[[LAYER]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
// CHECK: %[[ADDRESS:.*]] = llvm.load %[[ENTRY]] : !llvm.ptr<1> -> i64
// CHECK: %[[OWN:.*]] = llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
// CHECK: tile.load %[[OWN]][
replay.kernel @table shape <H = 1, HV = 1, K = 32, V = 32> null lt0 layers table kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <32, 32, f32>
  replay.store_state %S, %slot : <32, 32, f32>
}
