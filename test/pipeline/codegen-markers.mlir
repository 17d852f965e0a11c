// Every marker becomes its PTX instruction, on each chip; ptxas takes the result.
// RUN: replayssm-opt --emit=ptx --target=sm_90a %s | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: replayssm-opt --emit=ptx --target=sm_90 %s | FileCheck %s
// RUN: replayssm-opt --emit=ptx --target=sm_100a %s | FileCheck %s --check-prefixes=CHECK,SM100
// RUN: replayssm-opt --emit=ptx --target=sm_100f %s | FileCheck %s
// RUN: %if ptxas %{ replayssm-opt --emit=cubin --target=sm_90a %s -o %t.90a %}
// RUN: %if ptxas %{ replayssm-opt --emit=cubin --target=sm_90 %s -o %t.90 %}
// RUN: %if ptxas %{ replayssm-opt --emit=cubin --target=sm_100a %s -o %t.100a %}
// RUN: %if ptxas %{ replayssm-opt --emit=cubin --target=sm_100f %s -o %t.100f %}

// RUN: replayssm-opt --emit=llvm --target=sm_90a %s | FileCheck %s --check-prefix=LLVM

// What -O3 may assume of a marker.
// LLVM-DAG: declare <4 x float> @rssm.ld.global.v4f32(ptr addrspace(1), i1, i32) {{.*}}#[[LOAD:[0-9]+]]
// LLVM-DAG: declare <4 x float> @rssm.ld.shared.v4f32(ptr addrspace(3), i1, i32) {{.*}}#[[SHARED:[0-9]+]]
// LLVM-DAG: declare void @rssm.st.global.v4f32(ptr addrspace(1), <4 x float>, i1, i32) {{.*}}#[[STORE:[0-9]+]]
// LLVM-DAG: declare void @rssm.barrier(i32) {{.*}}#[[BARRIER:[0-9]+]]
// LLVM-DAG: declare float @rssm.shfl.bfly.f32(float, i32, i32) {{.*}}#[[SHUFFLE:[0-9]+]]
// LLVM-DAG: declare <4 x float> @rssm.mma.tf32(<4 x float>, <2 x float>, <4 x float>, i32) {{.*}}#[[MMA:[0-9]+]]
// LLVM-DAG: declare <4 x float> @rssm.mma.bf16(<8 x bfloat>, <4 x bfloat>, <4 x float>, i32) {{.*}}#[[MMA]]
// LLVM-DAG: declare <4 x float> @rssm.mma.f16(<8 x half>, <4 x half>, <4 x float>, i32) {{.*}}#[[MMA]]
// LLVM-DAG: declare i32 @rssm.tf32.mask() {{.*}}#[[MASK:[0-9]+]]
// LLVM-DAG: declare void @rssm.mbar.wait(ptr addrspace(3), i32, i32) {{.*}}#[[BARRIER]]
// LLVM-DAG: declare void @rssm.copy.bulk({{.*}}) {{.*}}#[[COPY:[0-9]+]]
// LLVM-DAG: attributes #[[LOAD]] = { {{.*}}nounwind willreturn memory(argmem: read, inaccessiblemem: readwrite)
// LLVM-DAG: attributes #[[SHARED]] = { {{.*}}nounwind willreturn memory(argmem: read)
// LLVM-DAG: attributes #[[STORE]] = { {{.*}}nounwind willreturn memory(argmem: write)
// LLVM-DAG: attributes #[[BARRIER]] = { convergent {{.*}}nounwind willreturn memory(readwrite)
// LLVM-DAG: attributes #[[SHUFFLE]] = { convergent {{.*}}nounwind willreturn memory(inaccessiblemem: readwrite)
// LLVM-DAG: attributes #[[MMA]] = { convergent {{.*}}nounwind willreturn memory(none)
// LLVM-DAG: attributes #[[MASK]] = { {{.*}}nounwind speculatable willreturn memory(none)
// LLVM-DAG: attributes #[[COPY]] = { {{.*}}nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)

// SM90: .version 8.0
// SM90: .target sm_90a
// SM100: .version 8.6
// SM100: .target sm_100a
// CHECK-DAG: .extern .shared .align 1024 .b8 rssm_dynamic_shared[]
// CHECK-DAG: .weak .const .align 4 .u32 rssm_tf32_mask = -8192;

gpu.module @kernels {
  llvm.func @rssm.ld.global.i8(!llvm.ptr<1>, i1, i32) -> i8 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.i32(!llvm.ptr<1>, i1, i32) -> i32 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.f32(!llvm.ptr<1>, i1, i32) -> f32 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.bf16(!llvm.ptr<1>, i1, i32) -> bf16 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.f16(!llvm.ptr<1>, i1, i32) -> f16 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.v2f32(!llvm.ptr<1>, i1, i32) -> vector<2xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.v4f32(!llvm.ptr<1>, i1, i32) -> vector<4xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.v2bf16(!llvm.ptr<1>, i1, i32) -> vector<2xbf16> attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.v8bf16(!llvm.ptr<1>, i1, i32) -> vector<8xbf16> attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.global.v4f16(!llvm.ptr<1>, i1, i32) -> vector<4xf16> attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.i8(!llvm.ptr<1>, i8, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.i32(!llvm.ptr<1>, i32, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.f32(!llvm.ptr<1>, f32, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.bf16(!llvm.ptr<1>, bf16, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.f16(!llvm.ptr<1>, f16, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.v2f32(!llvm.ptr<1>, vector<2xf32>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.v4f32(!llvm.ptr<1>, vector<4xf32>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.v2bf16(!llvm.ptr<1>, vector<2xbf16>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.v8bf16(!llvm.ptr<1>, vector<8xbf16>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.global.v4f16(!llvm.ptr<1>, vector<4xf16>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.shared.f32(!llvm.ptr<3>, i1, i32) -> f32 attributes {sym_visibility = "private"}
  llvm.func @rssm.ld.shared.v4f32(!llvm.ptr<3>, i1, i32) -> vector<4xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.st.shared.f32(!llvm.ptr<3>, f32, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.st.shared.v4f32(!llvm.ptr<3>, vector<4xf32>, i1, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.shared(i32) -> !llvm.ptr<3> attributes {sym_visibility = "private"}
  llvm.func @rssm.barrier(i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.shfl.bfly.f32(f32, i32, i32) -> f32 attributes {sym_visibility = "private"}
  llvm.func @rssm.shfl.down.f32(f32, i32, i32, i32) -> f32 attributes {sym_visibility = "private"}
  llvm.func @rssm.tf32.mask() -> i32 attributes {sym_visibility = "private"}
  llvm.func @rssm.mma.tf32(vector<4xf32>, vector<2xf32>, vector<4xf32>, i32) -> vector<4xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.mma.bf16(vector<8xbf16>, vector<4xbf16>, vector<4xf32>, i32) -> vector<4xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.mma.f16(vector<8xf16>, vector<4xf16>, vector<4xf32>, i32) -> vector<4xf32> attributes {sym_visibility = "private"}
  llvm.func @rssm.mbar.init(!llvm.ptr<3>, i32, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.mbar.init.fence(i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.mbar.expect(!llvm.ptr<3>, i32, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.mbar.wait(!llvm.ptr<3>, i32, i32) attributes {sym_visibility = "private"}
  llvm.func @rssm.copy.bulk(!llvm.ptr<3>, !llvm.ptr<1>, i32, !llvm.ptr<3>, i32) attributes {sym_visibility = "private"}

  // The constant part of an address is in the instruction, the predicate on it,
  // and loads stay in program order.
  // CHECK-LABEL: .entry load_store(
  // CHECK: .reqntid 64
  // CHECK-NOT: .maxntid
  // CHECK: ld.global.v4.f32 {{{.*}}}, [%rd[[IN:[0-9]+]]];
  // CHECK: ld.global.v4.f32 {{{.*}}}, [%rd[[IN]]+16];
  // CHECK: ld.global.v2.f32 {{{.*}}}, [%rd[[IN]]+32];
  // CHECK: mov.f32 %{{[a-z0-9]+}}, 0f00000000; @%p{{[0-9]+}} ld.global.f32 %{{[a-z0-9]+}}, [%rd[[IN]]+32];
  // CHECK: mov.b16 %rs{{[0-9]+}}, 0; @%p{{[0-9]+}} ld.global.b16
  // CHECK: mov.b16 %rs{{[0-9]+}}, 0; @%p{{[0-9]+}} ld.global.b16
  // CHECK: @%p{{[0-9]+}} ld.global.v4.b32
  // CHECK: @%p{{[0-9]+}} ld.global.v2.b32
  // CHECK: @%p{{[0-9]+}} ld.global.b32
  // CHECK: @%p{{[0-9]+}} ld.global.u8
  // CHECK: @%p{{[0-9]+}} ld.global.b32
  // CHECK: st.global.{{v4.b32|v2.b64}}
  // CHECK: @%p{{[0-9]+}} st.global.v4.f32 [%rd{{[0-9]+}}+16], {
  // CHECK: @%p{{[0-9]+}} st.global.b16
  // CHECK: @%p{{[0-9]+}} st.global.u8
  // CHECK: ret;
  gpu.func @load_store(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %stride: i64) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, replay.manifest = {
        name = "load_store", spec = "", threads = 64 : i32, blocksPerRow = 1 : i32, sharedBytes = 0 : i32,
        args = [["in", "pointer", "f32"], ["out", "pointer", "f32"], ["out_stride", "stride", "i64", 1]],
        sites = ["load", "store"]}} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i32
    %c8 = arith.constant 8 : i32
    %s = arith.constant 0 : i32
    %true = arith.constant true
    %p = arith.cmpi slt, %i, %c8 : i32
    %i64 = arith.index_cast %tid : index to i64
    %c12 = arith.constant 12 : i64
    %e = arith.muli %i64, %c12 : i64
    %a = llvm.getelementptr %in[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %a4 = llvm.getelementptr %a[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %a8 = llvm.getelementptr %a[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x0 = llvm.call @rssm.ld.global.v4f32(%a, %true, %s) : (!llvm.ptr<1>, i1, i32) -> vector<4xf32>
    %x1 = llvm.call @rssm.ld.global.v4f32(%a4, %true, %s) : (!llvm.ptr<1>, i1, i32) -> vector<4xf32>
    %x2 = llvm.call @rssm.ld.global.v2f32(%a8, %true, %s) : (!llvm.ptr<1>, i1, i32) -> vector<2xf32>
    %x3 = llvm.call @rssm.ld.global.f32(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> f32
    %x4 = llvm.call @rssm.ld.global.bf16(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> bf16
    %x5 = llvm.call @rssm.ld.global.f16(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> f16
    %x6 = llvm.call @rssm.ld.global.v8bf16(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> vector<8xbf16>
    %x7 = llvm.call @rssm.ld.global.v4f16(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> vector<4xf16>
    %x8 = llvm.call @rssm.ld.global.v2bf16(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> vector<2xbf16>
    %x9 = llvm.call @rssm.ld.global.i8(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> i8
    %x10 = llvm.call @rssm.ld.global.i32(%a8, %p, %s) : (!llvm.ptr<1>, i1, i32) -> i32
    %es = arith.muli %i64, %stride : i64
    %b = llvm.getelementptr %out[%es] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %b4 = llvm.getelementptr %b[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.call @rssm.st.global.v4f32(%b, %x0, %true, %s) : (!llvm.ptr<1>, vector<4xf32>, i1, i32) -> ()
    llvm.call @rssm.st.global.v4f32(%b4, %x1, %p, %s) : (!llvm.ptr<1>, vector<4xf32>, i1, i32) -> ()
    llvm.call @rssm.st.global.v2f32(%b4, %x2, %p, %s) : (!llvm.ptr<1>, vector<2xf32>, i1, i32) -> ()
    llvm.call @rssm.st.global.f32(%b4, %x3, %p, %s) : (!llvm.ptr<1>, f32, i1, i32) -> ()
    llvm.call @rssm.st.global.bf16(%b4, %x4, %p, %s) : (!llvm.ptr<1>, bf16, i1, i32) -> ()
    llvm.call @rssm.st.global.f16(%b4, %x5, %p, %s) : (!llvm.ptr<1>, f16, i1, i32) -> ()
    llvm.call @rssm.st.global.v8bf16(%b4, %x6, %p, %s) : (!llvm.ptr<1>, vector<8xbf16>, i1, i32) -> ()
    llvm.call @rssm.st.global.v4f16(%b4, %x7, %p, %s) : (!llvm.ptr<1>, vector<4xf16>, i1, i32) -> ()
    llvm.call @rssm.st.global.v2bf16(%b4, %x8, %p, %s) : (!llvm.ptr<1>, vector<2xbf16>, i1, i32) -> ()
    llvm.call @rssm.st.global.i8(%b4, %x9, %p, %s) : (!llvm.ptr<1>, i8, i1, i32) -> ()
    llvm.call @rssm.st.global.i32(%b4, %x10, %p, %s) : (!llvm.ptr<1>, i32, i1, i32) -> ()
    gpu.return
  }

  // CHECK-LABEL: .entry collectives(
  // CHECK: .reqntid 128
  // CHECK: mbarrier.init.shared.b64 [{{.*}}], %r
  // CHECK: fence.mbarrier_init.release.cluster;
  // CHECK: bar.sync 0;
  // CHECK: mbarrier.arrive.expect_tx.shared.b64 _, [{{.*}}], %r
  // CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{{.*}}], [{{.*}}], %r{{[0-9]+}}, [{{.*}}];
  // CHECK: rssm_wait_[[LABEL:[0-9]+]]:
  // CHECK: mbarrier.try_wait.parity.shared.b64 done, [{{.*}}], %r
  // CHECK: @!done bra rssm_wait_[[LABEL]];
  // CHECK: ld.shared.{{v4.b32|v2.b64}}
  // CHECK: shfl.sync.bfly.b32 %{{.*}}, %{{.*}}, 4, 31, -1;
  // CHECK: shfl.sync.down.b32 %{{.*}}, %{{.*}}, 1, 6175, -1;
  // CHECK: @%p{{[0-9]+}} st.shared.f32
  // CHECK: st.shared.{{v4.b32|v2.b64}}
  // CHECK: bar.sync 0;
  // CHECK: mov.f32 %{{[a-z0-9]+}}, 0f00000000; @%p{{[0-9]+}} ld.shared.f32
  gpu.func @collectives(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, replay.manifest = {
        name = "collectives", spec = "", threads = 128 : i32, blocksPerRow = 2 : i32, sharedBytes = 4096 : i32,
        args = [["in", "pointer", "f32"], ["out", "pointer", "f32"]], sites = ["a", "b"]}} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i32
    %s = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %c512 = arith.constant 512 : i32
    %c2048 = arith.constant 2048 : i32
    %true = arith.constant true
    %mbar = llvm.call @rssm.shared(%c0) : (i32) -> !llvm.ptr<3>
    %tile = llvm.call @rssm.shared(%c16) : (i32) -> !llvm.ptr<3>
    %first = arith.cmpi eq, %i, %c0 : i32
    cf.cond_br %first, ^init, ^ready
  ^init:
    llvm.call @rssm.mbar.init(%mbar, %s, %s) : (!llvm.ptr<3>, i32, i32) -> ()
    cf.br ^ready
  ^ready:
    llvm.call @rssm.mbar.init.fence(%s) : (i32) -> ()
    llvm.call @rssm.barrier(%s) : (i32) -> ()
    cf.cond_br %first, ^copy, ^wait
  ^copy:
    llvm.call @rssm.mbar.expect(%mbar, %c512, %s) : (!llvm.ptr<3>, i32, i32) -> ()
    llvm.call @rssm.copy.bulk(%tile, %in, %c512, %mbar, %s) : (!llvm.ptr<3>, !llvm.ptr<1>, i32, !llvm.ptr<3>, i32) -> ()
    cf.br ^wait
  ^wait:
    llvm.call @rssm.mbar.wait(%mbar, %c0, %s) : (!llvm.ptr<3>, i32, i32) -> ()
    %c31 = arith.constant 31 : i32
    %lane = arith.andi %i, %c31 : i32
    %mine = llvm.getelementptr %tile[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %v = llvm.call @rssm.ld.shared.v4f32(%mine, %true, %s) : (!llvm.ptr<3>, i1, i32) -> vector<4xf32>
    %x = vector.extract %v[0] : f32 from vector<4xf32>
    %y = llvm.call @rssm.shfl.bfly.f32(%x, %c4, %s) : (f32, i32, i32) -> f32
    %z = arith.addf %x, %y : f32
    %w = llvm.call @rssm.shfl.down.f32(%z, %s, %c8, %s) : (f32, i32, i32, i32) -> f32
    %back = llvm.call @rssm.shared(%c2048) : (i32) -> !llvm.ptr<3>
    %cell = llvm.getelementptr %back[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %warp0 = arith.cmpi ult, %i, %c31 : i32
    llvm.call @rssm.st.shared.f32(%cell, %w, %warp0, %s) : (!llvm.ptr<3>, f32, i1, i32) -> ()
    llvm.call @rssm.st.shared.v4f32(%mine, %v, %true, %s) : (!llvm.ptr<3>, vector<4xf32>, i1, i32) -> ()
    llvm.call @rssm.barrier(%s) : (i32) -> ()
    %r = llvm.call @rssm.ld.shared.f32(%cell, %warp0, %s) : (!llvm.ptr<3>, i1, i32) -> f32
    %dst = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.call @rssm.st.global.f32(%dst, %r, %true, %s) : (!llvm.ptr<1>, f32, i1, i32) -> ()
    gpu.return
  }

  // Operands and sums in the order of the registers. The mask is in memory: one that ptxas knew
  // it would drop, as the instruction ignores the bits that are cut off.
  // CHECK-LABEL: .entry cores(
  // SM90: ld.global.v4.f32 {%[[A0:r[0-9]+]], %[[A1:r[0-9]+]], %[[A2:r[0-9]+]], %[[A3:r[0-9]+]]}
  // SM90: ld.global.v2.f32 {%[[B0:r[0-9]+]], %[[B1:r[0-9]+]]}
  // CHECK: ld.const.b32 %[[MASK:r[0-9]+]], [rssm_tf32_mask];
  // SM90-DAG: and.b32 %[[H0:r[0-9]+]], %[[MASK]], %[[A0]];
  // SM90-DAG: and.b32 %[[H1:r[0-9]+]], %[[MASK]], %[[A1]];
  // SM90-DAG: and.b32 %[[H2:r[0-9]+]], %[[MASK]], %[[A2]];
  // SM90-DAG: and.b32 %[[H3:r[0-9]+]], %[[MASK]], %[[A3]];
  // CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
  // SM90-NEXT: {%[[D0:r[0-9]+]], %[[D1:r[0-9]+]], %[[D2:r[0-9]+]], %[[D3:r[0-9]+]]},
  // SM90-NEXT: {%[[H0]], %[[H1]], %[[H2]], %[[H3]]},
  // SM90-NEXT: {%[[B0]], %[[B1]]},
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // SM90-NEXT: {%[[E0:r[0-9]+]], %[[E1:r[0-9]+]], %[[E2:r[0-9]+]], %[[E3:r[0-9]+]]},
  // SM90-NEXT: {%[[A0]], %[[A1]], %[[A2]], %[[A3]]},
  // SM90-NEXT: {%[[B0]], %[[B1]]},
  // SM90-NEXT: {%[[D0]], %[[D1]], %[[D2]], %[[D3]]};
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  // SM90-NEXT: {%[[F0:r[0-9]+]], %[[F1:r[0-9]+]], %[[F2:r[0-9]+]], %[[F3:r[0-9]+]]},
  // SM90-NEXT: {%[[A0]], %[[A1]], %[[A2]], %[[A3]]},
  // SM90-NEXT: {%[[B0]], %[[B1]]},
  // SM90-NEXT: {%[[E0]], %[[E1]], %[[E2]], %[[E3]]};
  // SM90: st.global.v4.b32 [%rd{{[0-9]+}}], {%[[F0]], %[[F1]], %[[F2]], %[[F3]]};
  gpu.func @cores(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {
        name = "cores", spec = "", threads = 32 : i32, blocksPerRow = 1 : i32, sharedBytes = 0 : i32,
        args = [["in", "pointer", "f32"], ["out", "pointer", "f32"]], sites = ["a", "b"]}} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %s = arith.constant 1 : i32
    %true = arith.constant true
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %c8 = arith.constant 8 : i64
    %at = arith.muli %i, %c8 : i64
    %pa = llvm.getelementptr %in[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %pb = llvm.getelementptr %pa[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %a = llvm.call @rssm.ld.global.v4f32(%pa, %true, %s) : (!llvm.ptr<1>, i1, i32) -> vector<4xf32>
    %b = llvm.call @rssm.ld.global.v2f32(%pb, %true, %s) : (!llvm.ptr<1>, i1, i32) -> vector<2xf32>
    %mask = llvm.call @rssm.tf32.mask() : () -> i32
    %masks = vector.broadcast %mask : i32 to vector<4xi32>
    %bits = vector.bitcast %a : vector<4xf32> to vector<4xi32>
    %cut = arith.andi %bits, %masks : vector<4xi32>
    %high = vector.bitcast %cut : vector<4xi32> to vector<4xf32>
    %d = llvm.call @rssm.mma.tf32(%high, %b, %zero, %s) : (vector<4xf32>, vector<2xf32>, vector<4xf32>, i32) -> vector<4xf32>
    %a8 = vector.bitcast %a : vector<4xf32> to vector<8xbf16>
    %b4 = vector.bitcast %b : vector<2xf32> to vector<4xbf16>
    %e = llvm.call @rssm.mma.bf16(%a8, %b4, %d, %s) : (vector<8xbf16>, vector<4xbf16>, vector<4xf32>, i32) -> vector<4xf32>
    %ah = vector.bitcast %a : vector<4xf32> to vector<8xf16>
    %bh = vector.bitcast %b : vector<2xf32> to vector<4xf16>
    %f = llvm.call @rssm.mma.f16(%ah, %bh, %e, %s) : (vector<8xf16>, vector<4xf16>, vector<4xf32>, i32) -> vector<4xf32>
    %po = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.call @rssm.st.global.v4f32(%po, %f, %true, %s) : (!llvm.ptr<1>, vector<4xf32>, i1, i32) -> ()
    gpu.return
  }
}
