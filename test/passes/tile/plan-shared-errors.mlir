// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-plan-shared

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected at most 232448 bytes of shared memory per block on sm_90a but 'too_much' needs 236544}}
  gpu.func @too_much(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-note @+1 {{the largest buffer holds 232448 bytes}}
    %a = tile.alloc : !tile.smem<227, 256, f32>
    %b = tile.alloc : !tile.smem<16, 64, f32>
    %x = tile.load %a[%o] strides [256, 1] : !tile.smem<227, 256, f32> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{'gpu.module' op expected a target of sm_90, sm_90a, sm_100a, sm_100f but got 'sm_80'}}
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @f() kernel {
    gpu.return
  }
}
