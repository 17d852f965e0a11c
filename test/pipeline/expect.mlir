// What the host device is told of a number stays a call through the optimiser, and
// leaves nothing in PTX.
// RUN: replayssm-opt --emit=llvm --target=sm_90a %s | FileCheck %s --check-prefix=LLVM
// RUN: replayssm-opt --emit=ptx --target=sm_90a %s | FileCheck %s --check-prefix=PTX

// LLVM-DAG: call void @rssm.expect(i32 %{{.*}}, i32 0, i32 7, i32 1, i32 0)
// LLVM-DAG: declare void @rssm.expect(i32, i32, i32, i32, i32) {{.*}}#[[EXPECT:[0-9]+]]
// LLVM: attributes #[[EXPECT]] = { {{.*}}nounwind willreturn memory(inaccessiblemem: readwrite)

// PTX-LABEL: .entry expects(
// PTX-NOT: setp
// PTX-NOT: call
// PTX: ld.global.b32
// PTX-NOT: {{setp|min|max|call|rssm}}
// PTX: ret;
gpu.module @kernels {
  llvm.func @rssm.ld.global.i32(!llvm.ptr<1>, i1, i32) -> i32 attributes {sym_visibility = "private"}
  llvm.func @rssm.expect(i32, i32, i32, i32, i32) attributes {sym_visibility = "private"}
  gpu.func @expects(%wp: !llvm.ptr<1>) kernel
      attributes {replay.manifest = {name = "expects", threads = 32 : i32, blocksPerRow = 1 : i32, sharedBytes = 0 : i32,
        args = [["wp", "pointer", "i32"]], sites = ["tile.expect", "wp"]}} {
    %true = arith.constant true
    %s = arith.constant 0 : i32
    %name = arith.constant 1 : i32
    %high = arith.constant 7 : i32
    %x = llvm.call @rssm.ld.global.i32(%wp, %true, %s) : (!llvm.ptr<1>, i1, i32) -> i32
    llvm.call @rssm.expect(%x, %s, %high, %name, %s) : (i32, i32, i32, i32, i32) -> ()
    gpu.return
  }
}
