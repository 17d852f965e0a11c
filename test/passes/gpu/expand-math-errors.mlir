// RUN: replayssm-opt --replay-expand-math -split-input-file -verify-diagnostics %s

gpu.module @function {
  llvm.func @f(%x: f32) -> f32 {
    // expected-error @+1 {{'math.tanh' op expected one of math.exp, math.log1p, math.rsqrt, arith.divf and what is exact: math.fma, math.absf, math.floor, math.ceil, math.trunc, math.roundeven and math.copysign}}
    %y = math.tanh %x : f32
    llvm.return %y : f32
  }
}

// -----

gpu.module @type {
  llvm.func @f(%x: f16) -> f16 {
    // expected-error @+1 {{'math.exp' op expected f32 or a vector of f32 but got 'f16'}}
    %y = math.exp %x : f16
    llvm.return %y : f16
  }
}
