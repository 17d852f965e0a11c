// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file %s | FileCheck %s

// What is cut off an f32 is exact, as is bf16 in tf32: two products a step, each of eight
// channels. Those of the low parts have sums of their own. A thread gives its rows g and
// g + 8 for one channel, then for that of the other half of the step.
// CHECK: llvm.func @rssm.mma.tf32(vector<4xf32>, vector<2xf32>, vector<4xf32>, i32) -> vector<4xf32>
// CHECK-SAME: convergent
// CHECK-SAME: other = none, argMem = none, inaccessibleMem = none
// CHECK: llvm.func @rssm.tf32.mask() -> i32
// CHECK-NOT: convergent
// CHECK-SAME: other = none, argMem = none, inaccessibleMem = none
// CHECK-LABEL: gpu.func @f32_bf16
// CHECK: %[[A:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf32>
// CHECK: %[[B:.*]]:4 = vector.to_elements %{{.*}} : vector<4xbf16>
// CHECK: %[[B0:.*]] = arith.extf %[[B]]#0 : bf16 to f32
// CHECK: %[[B1:.*]] = arith.extf %[[B]]#1 : bf16 to f32
// CHECK: %[[Y0:.*]] = vector.from_elements %[[B0]], %[[B1]] : vector<2xf32>
// CHECK: %[[B2:.*]] = arith.extf %[[B]]#2 : bf16 to f32
// CHECK: %[[B3:.*]] = arith.extf %[[B]]#3 : bf16 to f32
// CHECK: %[[Y1:.*]] = vector.from_elements %[[B2]], %[[B3]] : vector<2xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[A]]#0 : f32 to i32
// CHECK-NEXT: %[[MASK:.*]] = llvm.call @rssm.tf32.mask() : () -> i32
// CHECK-NEXT: %[[CUT:.*]] = arith.andi %[[BITS]], %[[MASK]] : i32
// CHECK-NEXT: %[[H0:.*]] = arith.bitcast %[[CUT]] : i32 to f32
// CHECK-NEXT: %[[L0:.*]] = arith.subf %[[A]]#0, %[[H0]] : f32
// CHECK-NEXT: arith.bitcast %[[A]]#4 : f32 to i32
// CHECK: %[[H1:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: %[[L1:.*]] = arith.subf %[[A]]#4, %[[H1]] : f32
// CHECK-NEXT: arith.bitcast %[[A]]#1 : f32 to i32
// CHECK: %[[H2:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: %[[L2:.*]] = arith.subf %[[A]]#1, %[[H2]] : f32
// CHECK-NEXT: arith.bitcast %[[A]]#5 : f32 to i32
// CHECK: %[[H3:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: %[[L3:.*]] = arith.subf %[[A]]#5, %[[H3]] : f32
// CHECK: %[[HIGH0:.*]] = vector.from_elements %[[H0]], %[[H1]], %[[H2]], %[[H3]] : vector<4xf32>
// CHECK: %[[LOW0:.*]] = vector.from_elements %[[L0]], %[[L1]], %[[L2]], %[[L3]] : vector<4xf32>
// CHECK: arith.bitcast %[[A]]#2 : f32 to i32
// CHECK: arith.bitcast %[[A]]#6 : f32 to i32
// CHECK: arith.bitcast %[[A]]#3 : f32 to i32
// CHECK: arith.bitcast %[[A]]#7 : f32 to i32
// CHECK: %[[HIGH1:.*]] = vector.from_elements
// CHECK: %[[LOW1:.*]] = vector.from_elements
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK: %[[C0:.*]] = llvm.call @rssm.mma.tf32(%[[LOW0]], %[[Y0]], %[[NONE]], %{{.*}})
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.tf32(%[[HIGH0]], %[[Y0]], %[[ZERO]], %{{.*}})
// CHECK: %[[C1:.*]] = llvm.call @rssm.mma.tf32(%[[LOW1]], %[[Y1]], %[[C0]], %{{.*}})
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.tf32(%[[HIGH1]], %[[Y1]], %[[S0]], %{{.*}})
// CHECK: %[[SUM:.*]] = arith.addf %[[S1]], %[[C1]] : vector<4xf32>
// CHECK: %[[E:.*]]:4 = vector.to_elements %[[SUM]] : vector<4xf32>
// CHECK: vector.from_elements %[[E]]#0, %[[E]]#1, %[[E]]#2, %[[E]]#3 : vector<4xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xbf16, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f32_bf16(%x: f32, %y: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %y : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Two of 32 bits are rounded, to nearest, before they are cut: three products a step, that
// of the low parts is left out.
// CHECK-LABEL: gpu.func @f32_f32
// CHECK: %[[A:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf32>
// CHECK: %[[B:.*]]:4 = vector.to_elements %{{.*}} : vector<4xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[B]]#0 : f32 to i32
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 4096 : i32
// CHECK-NEXT: %[[UP:.*]] = arith.addi %[[BITS]], %[[HALF]] : i32
// CHECK-NEXT: %[[MASK:.*]] = llvm.call @rssm.tf32.mask() : () -> i32
// CHECK-NEXT: %[[CUT:.*]] = arith.andi %[[UP]], %[[MASK]] : i32
// CHECK-NEXT: %[[H0:.*]] = arith.bitcast %[[CUT]] : i32 to f32
// CHECK-NEXT: %[[L0:.*]] = arith.subf %[[B]]#0, %[[H0]] : f32
// CHECK: %[[H1:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: %[[L1:.*]] = arith.subf %[[B]]#1, %[[H1]] : f32
// CHECK: %[[YH0:.*]] = vector.from_elements %[[H0]], %[[H1]] : vector<2xf32>
// CHECK: %[[YL0:.*]] = vector.from_elements %[[L0]], %[[L1]] : vector<2xf32>
// CHECK: %[[YH1:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[YL1:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[A]]#0 : f32 to i32
// CHECK: arith.addi %[[BITS]], %c4096_i32{{.*}} : i32
// CHECK: %[[XH0:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[XL0:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[XH1:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[XL1:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[C0:.*]] = llvm.call @rssm.mma.tf32(%[[XL0]], %[[YH0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[C1:.*]] = llvm.call @rssm.mma.tf32(%[[XH0]], %[[YL0]], %[[C0]], %{{.*}})
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.tf32(%[[XH0]], %[[YH0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[C2:.*]] = llvm.call @rssm.mma.tf32(%[[XL1]], %[[YH1]], %[[C1]], %{{.*}})
// CHECK: %[[C3:.*]] = llvm.call @rssm.mma.tf32(%[[XH1]], %[[YL1]], %[[C2]], %{{.*}})
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.tf32(%[[XH1]], %[[YH1]], %[[S0]], %{{.*}})
// CHECK: arith.addf %[[S1]], %[[C3]] : vector<4xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f32_f32(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Two of one 16-bit type meet as they are, 16 channels a step: of each row two channels, then
// two of the other half. Registers are found by what they hold: here rows follow each other.
// CHECK: llvm.func @rssm.mma.bf16(vector<8xbf16>, vector<4xbf16>, vector<4xf32>, i32) -> vector<4xf32>
// CHECK-NOT: rssm.tf32.mask
// CHECK-LABEL: gpu.func @bf16
// CHECK: %[[A:.*]]:8 = vector.to_elements %{{.*}} : vector<8xbf16>
// CHECK: %[[B:.*]]:4 = vector.to_elements %{{.*}} : vector<4xbf16>
// CHECK-NOT: extf
// CHECK: %[[Y:.*]] = vector.from_elements %[[B]]#0, %[[B]]#1, %[[B]]#2, %[[B]]#3 : vector<4xbf16>
// CHECK: %[[X:.*]] = vector.from_elements %[[A]]#0, %[[A]]#2, %[[A]]#1, %[[A]]#3, %[[A]]#4, %[[A]]#6, %[[A]]#5, %[[A]]#7 : vector<8xbf16>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK: %[[S:.*]] = llvm.call @rssm.mma.bf16(%[[X]], %[[Y]], %[[ZERO]], %{{.*}})
// CHECK-NEXT: %[[E:.*]]:4 = vector.to_elements %[[S]]
// CHECK: vector.from_elements %[[E]]#0, %[[E]]#2, %[[E]]#1, %[[E]]#3 : vector<4xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x16xbf16, #tile.layout<[l8:4, r2:1], [l4:1, r4:2]>>
!b = tensor<8x16xbf16, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @bf16(%x: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:1], [l4:1, r2:2]>>
    gpu.return
  }
}

// -----

// CHECK: llvm.func @rssm.mma.f16(vector<8xf16>, vector<4xf16>, vector<4xf32>, i32) -> vector<4xf32>
// CHECK-LABEL: gpu.func @f16
// CHECK: %[[A:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf16>
// CHECK-NOT: extf
// CHECK: %[[X:.*]] = vector.from_elements %[[A]]#0, %[[A]]#1, %[[A]]#4, %[[A]]#5, %[[A]]#2, %[[A]]#3, %[[A]]#6, %[[A]]#7 : vector<8xf16>
// CHECK: llvm.call @rssm.mma.f16(%[[X]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NOT: llvm.call
!a = tensor<16x16xf16, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf16, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f16(%x: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// The second operand is split where it is the one of 32 bits.
// CHECK-LABEL: gpu.func @bf16_f32
// CHECK: %[[B:.*]]:4 = vector.to_elements %{{.*}} : vector<4xf32>
// CHECK-NOT: arith.addi
// CHECK: arith.subf %[[B]]#0, %{{.*}} : f32
// CHECK: arith.subf %[[B]]#1, %{{.*}} : f32
// CHECK: %[[YH0:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[YL0:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[YH1:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[YL1:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-NOT: arith.subf
// CHECK: %[[X0:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[X1:.*]] = vector.from_elements {{.*}} : vector<4xf32>
// CHECK: %[[C0:.*]] = llvm.call @rssm.mma.tf32(%[[X0]], %[[YL0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.tf32(%[[X0]], %[[YH0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[C1:.*]] = llvm.call @rssm.mma.tf32(%[[X1]], %[[YL1]], %[[C0]], %{{.*}})
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.tf32(%[[X1]], %[[YH1]], %[[S0]], %{{.*}})
// CHECK: arith.addf %[[S1]], %[[C1]] : vector<4xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x16xbf16, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @bf16_f32(%x: bf16, %y: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %y : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Two 16-bit types meet in tf32, which has every number of both: one product a step.
// CHECK-LABEL: gpu.func @mixed
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: arith.subf
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %[[S0]], %{{.*}})
// CHECK: vector.to_elements %[[S1]]
// CHECK-NOT: llvm.call
!a = tensor<16x16xbf16, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf16, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @mixed(%x: bf16, %y: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %y : !b
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Chunks have accumulators of their own, the last one of what is left, and are joined in
// ascending order.
// CHECK-LABEL: gpu.func @chunks
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.bf16(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.bf16(%{{.*}}, %{{.*}}, %[[S0]], %{{.*}})
// CHECK: %[[T0:.*]] = llvm.call @rssm.mma.bf16(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[T1:.*]] = llvm.call @rssm.mma.bf16(%{{.*}}, %{{.*}}, %[[T0]], %{{.*}})
// CHECK: %[[TWO:.*]] = arith.addf %[[S1]], %[[T1]] : vector<4xf32>
// CHECK: %[[U:.*]] = llvm.call @rssm.mma.bf16(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[ALL:.*]] = arith.addf %[[TWO]], %[[U]] : vector<4xf32>
// CHECK: vector.to_elements %[[ALL]]
// CHECK-NOT: llvm.call
!a = tensor<16x80xbf16, #tile.layout<[l8:4, r2:20], [r5:4, l4:1, r4:1]>>
!b = tensor<8x80xbf16, #tile.layout<[l8:4], [r5:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @chunks(%x: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<chunk = 32> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// What corrects a chunk is joined to it.
// CHECK-LABEL: gpu.func @corrected_chunks
// CHECK: llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[C0:.*]] = llvm.call @rssm.mma.tf32
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.tf32
// CHECK: %[[FIRST:.*]] = arith.addf %[[S0]], %[[C0]] : vector<4xf32>
// CHECK: llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: llvm.call @rssm.mma.tf32(%{{.*}}, %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[C1:.*]] = llvm.call @rssm.mma.tf32
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.tf32
// CHECK: %[[SECOND:.*]] = arith.addf %[[S1]], %[[C1]] : vector<4xf32>
// CHECK: arith.addf %[[FIRST]], %[[SECOND]] : vector<4xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x32xf32, #tile.layout<[l8:4, r2:8], [r2:4, l4:1, r4:1]>>
!b = tensor<8x32xbf16, #tile.layout<[l8:4], [r2:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @corrected_chunks(%x: f32, %y: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %y : !b
    %d = tile.dot %a, %b mma<chunk = 16> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Apart each chunk has rows of the result. Two warps have two chunks each, in the same registers.
// CHECK-LABEL: gpu.func @apart
// CHECK: %[[A:.*]]:16 = vector.to_elements %{{.*}} : vector<16xbf16>
// CHECK: %[[X0:.*]] = vector.from_elements %[[A]]#0, %[[A]]#1, %[[A]]#8, %[[A]]#9, %[[A]]#2, %[[A]]#3, %[[A]]#10, %[[A]]#11 : vector<8xbf16>
// CHECK: %[[X1:.*]] = vector.from_elements %[[A]]#4, %[[A]]#5, %[[A]]#12, %[[A]]#13, %[[A]]#6, %[[A]]#7, %[[A]]#14, %[[A]]#15 : vector<8xbf16>
// CHECK: %[[S0:.*]] = llvm.call @rssm.mma.bf16(%[[X0]], %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[E0:.*]]:4 = vector.to_elements %[[S0]]
// CHECK: %[[S1:.*]] = llvm.call @rssm.mma.bf16(%[[X1]], %{{.*}}, %cst{{.*}}, %{{.*}})
// CHECK: %[[E1:.*]]:4 = vector.to_elements %[[S1]]
// CHECK-NOT: addf
// CHECK: vector.from_elements %[[E0]]#0, %[[E0]]#1, %[[E0]]#2, %[[E0]]#3, %[[E1]]#0, %[[E1]]#1, %[[E1]]#2, %[[E1]]#3 : vector<8xf32>
// CHECK-NOT: llvm.call
!a = tensor<12x64xbf16, #tile.layout<[l8:4, r2:8], [w2:1, r2:4, l4:1, r4:1]>>
!b = tensor<8x64xbf16, #tile.layout<[l8:4], [w2:1, r2:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @apart(%x: bf16) kernel attributes {known_block_size = array<i32: 64, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<chunk = 16, apart = true> contract [1, 1] : (!a, !b) -> tensor<64x8xf32, #tile.layout<[w2:1, r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Two tiles of rows meet two of columns; contracted are rows of both operands.
// CHECK-LABEL: gpu.func @tiles
// CHECK: %[[A:.*]]:16 = vector.to_elements %{{.*}} : vector<16xf16>
// CHECK: %[[B:.*]]:8 = vector.to_elements %{{.*}} : vector<8xf16>
// CHECK: %[[Y0:.*]] = vector.from_elements %[[B]]#0, %[[B]]#2, %[[B]]#4, %[[B]]#6 : vector<4xf16>
// CHECK: %[[Y1:.*]] = vector.from_elements %[[B]]#1, %[[B]]#3, %[[B]]#5, %[[B]]#7 : vector<4xf16>
// CHECK: %[[X0:.*]] = vector.from_elements %[[A]]#0, %[[A]]#4, %[[A]]#1, %[[A]]#5, %[[A]]#8, %[[A]]#12, %[[A]]#9, %[[A]]#13 : vector<8xf16>
// CHECK: %[[S00:.*]] = llvm.call @rssm.mma.f16(%[[X0]], %[[Y0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[E00:.*]]:4 = vector.to_elements %[[S00]]
// CHECK: %[[S01:.*]] = llvm.call @rssm.mma.f16(%[[X0]], %[[Y1]], %cst{{.*}}, %{{.*}})
// CHECK: %[[E01:.*]]:4 = vector.to_elements %[[S01]]
// CHECK: %[[X1:.*]] = vector.from_elements %[[A]]#2, %[[A]]#6, %[[A]]#3, %[[A]]#7, %[[A]]#10, %[[A]]#14, %[[A]]#11, %[[A]]#15 : vector<8xf16>
// CHECK: %[[S10:.*]] = llvm.call @rssm.mma.f16(%[[X1]], %[[Y0]], %cst{{.*}}, %{{.*}})
// CHECK: %[[E10:.*]]:4 = vector.to_elements %[[S10]]
// CHECK: %[[S11:.*]] = llvm.call @rssm.mma.f16(%[[X1]], %[[Y1]], %cst{{.*}}, %{{.*}})
// CHECK: %[[E11:.*]]:4 = vector.to_elements %[[S11]]
// CHECK: vector.from_elements %[[E00]]#0, %[[E00]]#1, %[[E01]]#0, %[[E01]]#1, %[[E00]]#2, %[[E00]]#3, %[[E01]]#2, %[[E01]]#3,
// CHECK-SAME: %[[E10]]#0, %[[E10]]#1, %[[E11]]#0, %[[E11]]#1, %[[E10]]#2, %[[E10]]#3, %[[E11]]#2, %[[E11]]#3 : vector<16xf32>
// CHECK-NOT: llvm.call
!a = tensor<16x32xf16, #tile.layout<[l4:1, r4:4], [r2:2, l8:4, r2:1]>>
!b = tensor<16x16xf16, #tile.layout<[l4:1, r4:2], [r2:1, l8:4]>>
gpu.module @m {
  gpu.func @tiles(%x: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %a = tensor.splat %x : !a
    %b = tensor.splat %x : !b
    %d = tile.dot %a, %b mma<> contract [0, 0] : (!a, !b) -> tensor<32x16xf32, #tile.layout<[r2:8, l8:4, r2:4], [r2:2, l4:1, r2:1]>>
    gpu.return
  }
}
