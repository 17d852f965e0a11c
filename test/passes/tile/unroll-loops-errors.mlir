// RUN: replayssm-opt --replay-unroll-loops -split-input-file -verify-diagnostics %s

gpu.module @unroll_factor {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'scf.for' op expected tile.unroll to be an integer in 1..16}}
    scf.for %i = %c0 to %c1 step %c1 {
    } {tile.unroll = 0 : i64}
    gpu.return
  }
}

// -----

gpu.module @unroll_bounds {
  gpu.func @f(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'scf.for' op expected constant bounds where tile.unroll is set}}
    scf.for %i = %c0 to %n step %c1 {
    } {tile.unroll = 2 : i64}
    gpu.return
  }
}

// -----

gpu.module @unroll_all {
  gpu.func @f() kernel {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 9223372036854775807 : index
    // expected-error @+1 {{'scf.for' op expected tile.unroll to be an integer in 1..16}}
    scf.for %i = %zero to %many step %one {
    } {tile.unroll = 9223372036854775807 : i64}
    gpu.return
  }
}
