// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-insert-barriers

gpu.module @m {
  gpu.func @no_wait(%p: !llvm.ptr<1>, %o: i64) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-note @+1 {{the copy in flight}}
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.load' op expected a tile.wait before its shared bytes are touched}}
    %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    tile.wait %t
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wait_in_one_branch(%p: !llvm.ptr<1>, %o: i64, %c: i1) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-note @+1 {{the copy in flight}}
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    scf.if %c {
      tile.wait %t
    }
    // expected-error @+1 {{'tile.load' op expected a tile.wait before its shared bytes are touched}}
    %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unplanned(%o: i64) kernel {
    %s = tile.alloc : !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.load' op expected memory of a tile.alloc with a planned offset}}
    %y = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32>
    gpu.return
  }
}
