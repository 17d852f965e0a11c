// RUN: replayssm-opt --replay-tile-to-gpu --cse %s | FileCheck %s

// Thread 0 makes the mbarriers, the block waits for it; thread 0 announces and
// copies as many rows as there are, every thread waits for the bytes.
// CHECK: llvm.func @rssm.mbar.wait(!llvm.ptr<3>, i32, i32)
// CHECK-SAME: convergent
// CHECK-LABEL: gpu.func @ring_keys
// CHECK: %[[MBAR:.*]] = llvm.call @rssm.shared(%c8192{{.*}})
// CHECK: scf.if %[[FIRST:.*]] {
// CHECK:   llvm.call @rssm.mbar.init(%[[MBAR]], %c1
// CHECK:   llvm.call @rssm.mbar.init.fence
// CHECK: llvm.call @rssm.barrier
// CHECK: %[[BUF:.*]] = llvm.call @rssm.shared(%c0{{.*}})
// CHECK: scf.if %[[FIRST]] {
// CHECK:   %[[N:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:   %[[LOW:.*]] = arith.maxsi %[[N]], %c0
// CHECK:   %[[ROWS:.*]] = arith.minsi %[[LOW]], %c16
// CHECK:   %[[BYTES:.*]] = arith.muli %[[ROWS]], %c512
// CHECK:   %[[SOME:.*]] = arith.cmpi sgt, %[[BYTES]], %c0
// CHECK:   llvm.call @rssm.mbar.expect(%[[MBAR]], %[[BYTES]]
// CHECK:   scf.if %[[SOME]] {
// CHECK:     %[[SRC:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK:     llvm.call @rssm.copy.bulk(%[[BUF]], %[[SRC]], %[[BYTES]], %[[MBAR]]
// CHECK: llvm.call @rssm.mbar.wait(%[[MBAR]], %c0
// CHECK: llvm.call @rssm.ld.shared.v4f32
// CHECK: llvm.call @rssm.barrier
gpu.module @m {
  gpu.func @ring_keys(%k_ring: !llvm.ptr<1>, %off: i64, %wp: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %zero = arith.constant 0 : i64
    %buf = tile.alloc at 0 : !tile.smem<16, 128, f32>
    %token = tile.copy %k_ring[%off] to %buf rows(%wp) mbarrier 8192 : !llvm.ptr<1>, !tile.smem<16, 128, f32>
    tile.wait %token
    %k = tile.load %buf[%zero] strides [128, 1] rows(%wp) : !tile.smem<16, 128, f32> -> tensor<16x128xf32, #tile.layout<[r16:4], [l32:1, r4:1]>>
    tile.barrier
    gpu.return
  }
}
