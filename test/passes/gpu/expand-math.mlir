// RUN: replayssm-opt --replay-expand-math -split-input-file %s | FileCheck %s

// exp: 2^f by a polynomial, 2^n by exponent bits; no optimiser decides a rounding.
// CHECK-LABEL: llvm.func @exp
// CHECK-SAME: %[[X:.*]]: vector<4xf32>
// CHECK-NOT: math.exp
// CHECK: %[[LOW:.*]] = arith.maximumf %[[X]], %{{.*}} : vector<4xf32>
// CHECK: %[[C:.*]] = arith.minimumf %[[LOW]], %{{.*}} : vector<4xf32>
// CHECK: %[[SHIFTED:.*]] = math.fma %[[C]], %{{.*}}, %[[MAGIC:.*]] : vector<4xf32>
// CHECK: %[[N:.*]] = arith.subf %{{.*}}, %[[SHIFTED]]
// CHECK: %[[F0:.*]] = math.fma %[[C]], %{{.*}}, %[[N]]
// CHECK: %[[F:.*]] = math.fma %[[C]], %{{.*}}, %[[F0]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : vector<4xf32> to vector<4xi32>
// CHECK: %[[EXP:.*]] = arith.shli %[[BITS]]
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[EXP]] : vector<4xi32> to vector<4xf32>
// CHECK-COUNT-5: math.fma %{{.*}}, %[[F]], %{{.*}} : vector<4xf32>
// CHECK: %[[P:.*]] = math.fma %{{.*}}, %[[F]], %{{.*}} : vector<4xf32>
// CHECK: arith.mulf %[[P]], %[[SCALE]]
gpu.module @m {
  llvm.func @exp(%x: vector<4xf32>) -> vector<4xf32> {
    %y = math.exp %x : vector<4xf32>
    llvm.return %y : vector<4xf32>
  }
}

// -----

// log1p: exponent and mantissa of 1 + u, nine terms, infinities and NaN kept.
// CHECK-LABEL: llvm.func @log1p
// CHECK-SAME: %[[U:.*]]: f32
// CHECK: arith.andi {{.*}} : i32
// CHECK: %[[QUARTER:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: %[[SCALE:.*]] = arith.mulf %{{.*}}, %[[QUARTER]]
// CHECK: %[[LESS:.*]] = arith.addf %[[SCALE]], %{{.*}}
// CHECK: %[[REST:.*]] = math.fma %[[U]], %[[SCALE]], %[[LESS]]
// CHECK-COUNT-8: math.fma %{{.*}}, %[[REST]], %{{.*}} : f32
// CHECK: %[[K:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[R:.*]] = math.fma %[[K]]
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %[[U]], %{{.*}}
// CHECK: arith.select %[[FINITE]], %[[R]], %[[U]]
gpu.module @m {
  llvm.func @log1p(%x: f32) -> f32 {
    %y = math.log1p %x : f32
    llvm.return %y : f32
  }
}

// -----

// rsqrt: one Newton step, unless the approximation is already 0, infinite or NaN.
// CHECK-LABEL: llvm.func @rsqrt
// CHECK: %[[E:.*]]:2 = vector.to_elements
// CHECK: %[[Y0:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[E]]#0) : (f32) -> f32
// CHECK: %[[Y1:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[E]]#1) : (f32) -> f32
// CHECK: %[[Y:.*]] = vector.from_elements %[[Y0]], %[[Y1]]
// CHECK: %[[ERR:.*]] = math.fma %{{.*}}, %[[Y]], %{{.*}}
// CHECK: %[[ABS:.*]] = math.absf %[[ERR]]
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[ABS]]
// CHECK: %[[BETTER:.*]] = math.fma %{{.*}}, %[[Y]], %[[Y]]
// CHECK: arith.select %[[SMALL]], %[[BETTER]], %[[Y]]
gpu.module @m {
  llvm.func @rsqrt(%x: vector<2xf32>) -> vector<2xf32> {
    %y = math.rsqrt %x : vector<2xf32>
    llvm.return %y : vector<2xf32>
  }
}

// -----

// A numerator of one needs the reciprocal alone; other quotients are corrected once more.
// CHECK-LABEL: llvm.func @divide
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[Y]])
// CHECK: %[[RECIP:.*]] = arith.select %{{.*}}, %{{.*}}, %[[R]] : f32
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[Y]])
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[INV:.*]] : f32
// CHECK: %[[NEG:.*]] = arith.negf %[[Y]]
// CHECK: %[[REM:.*]] = math.fma %[[NEG]], %[[Q]], %[[X]]
// CHECK: math.fma %[[REM]], %[[INV]], %[[Q]]
gpu.module @m {
  llvm.func @divide(%x: f32, %y: f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %y : f32
    %q = arith.divf %x, %y : f32
    %s = arith.addf %q, %r : f32
    llvm.return %s : f32
  }
}

// -----

// What is exact on every device stays.
// CHECK-LABEL: llvm.func @exact
// CHECK: math.floor
// CHECK: math.ceil
// CHECK: math.trunc
// CHECK: math.roundeven
// CHECK: math.copysign
gpu.module @m {
  llvm.func @exact(%x: vector<4xf32>) -> vector<4xf32> {
    %a = math.floor %x : vector<4xf32>
    %b = math.ceil %a : vector<4xf32>
    %c = math.trunc %b : vector<4xf32>
    %d = math.roundeven %c : vector<4xf32>
    %e = math.copysign %d, %x : vector<4xf32>
    llvm.return %e : vector<4xf32>
  }
}
