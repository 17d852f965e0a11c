// RUN: replayssm-opt --replay-tile-to-gpu --cse %s | FileCheck %s

// The second half of the rows lies 16 bytes further: two copies, of a half each. Where warps
// or lanes tell the halves apart the thread adds that, else the register.
// CHECK-LABEL: gpu.func @skew
// CHECK: %[[BUF:.*]] = llvm.call @rssm.shared(%c16
// CHECK: %[[WARP:.*]] = arith.shrui %{{.*}}, %c5
// CHECK: llvm.call @rssm.mbar.expect(%[[MBAR:.*]], %c512
// CHECK: %[[SRC:.*]] = llvm.getelementptr
// CHECK: llvm.call @rssm.copy.bulk(%[[BUF]], %[[SRC]], %c256_i32, %[[MBAR]],
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[BUF]][272] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[SRC]][256] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK: llvm.call @rssm.copy.bulk(%[[TO]], %[[FROM]], %c256_i32, %[[MBAR]],
// CHECK: llvm.call @rssm.mbar.wait(%[[MBAR]],
// CHECK: %[[FAR:.*]] = arith.muli %[[WARP]], %c4
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[FAR]] : i32
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: %[[BEHIND:.*]] = arith.cmpi uge, %[[ROW]], %c4_i32 : i32
// CHECK: %[[SKEW:.*]] = arith.select %[[BEHIND]], %c4_i32, %c0_i32 : i32
// CHECK: %[[SUM:.*]] = arith.addi %[[AT]], %[[SKEW]] : i32
// CHECK: %[[P:.*]] = llvm.getelementptr %[[BUF]][%[[SUM]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
// CHECK: llvm.call @rssm.ld.shared.v4f32(%[[P]],
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P]][128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: llvm.call @rssm.ld.shared.v4f32(%[[NEXT]],
// CHECK-NOT: arith.select
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[BUF]][%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
// CHECK: llvm.call @rssm.ld.shared.v4f32(%[[Q]],
// CHECK: %[[OTHER:.*]] = llvm.getelementptr %[[Q]][272] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK: llvm.call @rssm.ld.shared.v4f32(%[[OTHER]],
// CHECK: llvm.call @rssm.st.shared.v4f32(%[[P]],
// CHECK: llvm.call @rssm.st.shared.v4f32(%[[NEXT]],
gpu.module @m {
  gpu.func @skew(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, replay.manifest = {}} {
    %o = arith.constant 0 : i64
    %s = tile.alloc at 16 : !tile.smem<8, 16, f32, skew = 4>
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<8, 16, f32, skew = 4>
    tile.wait %t
    %x = tile.load %s[%o] strides [16, 1] : !tile.smem<8, 16, f32, skew = 4> -> tensor<8x16xf32, #tile.layout<[w2:1, r2:4, l2:16], [l4:1, r4:1]>>
    %y = tile.load %s[%o] strides [16, 1] : !tile.smem<8, 16, f32, skew = 4> -> tensor<8x16xf32, #tile.layout<[r2:4, l4:4], [l4:1, r4:1]>>
    tile.store %x, %s[%o] strides [16, 1] : tensor<8x16xf32, #tile.layout<[w2:1, r2:4, l2:16], [l4:1, r4:1]>>, !tile.smem<8, 16, f32, skew = 4>
    gpu.return
  }
}
