// Layouts go from the loads onward; a mismatch becomes a convert.
// RUN: replayssm-opt %s -split-input-file -replay-assign-layouts | FileCheck %s

// The anchor moves into the type, without factors of one, and through arithmetic.
// CHECK-LABEL: gpu.func @elementwise
gpu.module @m {
  gpu.func @elementwise(%p: !llvm.ptr<1>, %o: i64) kernel {
    // CHECK: %[[X:.*]] = tile.load %{{.*}} strides [128, 1] : !llvm.ptr<1> -> tensor<1x128xbf16, [[L:#tile.layout<\[r1:1\], \[r4:4, l8:1, r4:1\]>]]>
    %x = tile.load %p[%o] strides [128, 1] layout <[w1:1], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x128xbf16>
    // CHECK: arith.extf %[[X]] : tensor<1x128xbf16, [[L]]> to tensor<1x128xf32, [[L]]>
    %f = arith.extf %x : tensor<1x128xbf16> to tensor<1x128xf32>
    // CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<1x128xf32, [[L]]>
    %c = arith.cmpf olt, %f, %f : tensor<1x128xf32>
    // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x128xi1, [[L]]>, tensor<1x128xf32, [[L]]>
    %s = arith.select %c, %f, %f : tensor<1x128xi1>, tensor<1x128xf32>
    tile.store %s, %p[%o] strides [128, 1] : tensor<1x128xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Two layouts meet: the second operand is converted, once for both uses.
// CHECK-LABEL: gpu.func @mismatch
gpu.module @m {
  gpu.func @mismatch(%p: !llvm.ptr<1>, %o: i64) kernel {
    // CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<1x8xf32, [[A8:#tile.layout<\[r1:1\], \[l8:1\]>]]>
    %a = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // CHECK: %[[B:.*]] = tile.load
    %b = tile.load %p[%o] strides [8, 1] layout <[r1:1], [r8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // CHECK: %[[C:.*]] = tile.convert %[[B]] : tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>> -> tensor<1x8xf32, [[A8]]>
    // CHECK: arith.addf %[[A]], %[[C]] : tensor<1x8xf32, [[A8]]>
    %c = arith.addf %a, %b : tensor<1x8xf32>
    // CHECK-NOT: tile.convert
    // CHECK: arith.mulf %{{.*}}, %[[C]] : tensor<1x8xf32, [[A8]]>
    %d = arith.mulf %c, %b : tensor<1x8xf32>
    tile.store %d, %p[%o] strides [8, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// The largest operand decides: a gate along K follows the state, not the state the gate.
// CHECK-LABEL: gpu.func @largest
gpu.module @m {
  gpu.func @largest(%p: !llvm.ptr<1>, %o: i64) kernel {
    %g = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:1, l32:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    // CHECK: %[[S:.*]] = tile.load {{.*}} -> tensor<32x128xf32, [[S8:.*]]>
    %s = tile.load %p[%o] strides [128, 1] layout <[w8:1, l4:8], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<32x128xf32>
    %b = tile.broadcast %g : tensor<1x128xf32> -> tensor<32x128xf32>
    // CHECK: %[[G:.*]] = tile.convert %{{.*}} -> tensor<1x128xf32, #tile.layout<[r1:1], [r4:4, l8:1, r4:1]>>
    // CHECK: %[[B:.*]] = tile.broadcast %[[G]] : {{.*}} -> tensor<32x128xf32, [[S8]]>
    // CHECK: arith.mulf %[[B]], %[[S]]
    %m = arith.mulf %b, %s : tensor<32x128xf32>
    tile.store %m, %p[%o] strides [128, 1] : tensor<32x128xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// What is equal along a dimension is computed once and repeated at its use.
// CHECK-LABEL: gpu.func @free
gpu.module @m {
  gpu.func @free(%p: !llvm.ptr<1>, %o: i64) kernel {
    // CHECK: %[[X:.*]] = tile.load
    %x = tile.load %p[%o] strides [1, 1] layout <[r1:1], [r1:1]> : !llvm.ptr<1> -> tensor<1x1xf32>
    // CHECK: %[[V:.*]] = tile.load
    %v = tile.load %p[%o] strides [64, 1] layout <[r1:1], [w4:1, l4:8, r4:1]> : !llvm.ptr<1> -> tensor<1x64xf32>
    %b = tile.broadcast %x : tensor<1x1xf32> -> tensor<1x64xf32>
    %one = arith.constant dense<1.0> : tensor<1x64xf32>
    // CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    // CHECK: %[[S:.*]] = arith.addf %[[X]], %[[ONE]] : tensor<1x1xf32,
    %s = arith.addf %b, %one : tensor<1x64xf32>
    // CHECK: %[[R:.*]] = tile.broadcast %[[S]] : tensor<1x1xf32, {{.*}}> -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>>
    // CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>>
    // CHECK: math.fma %[[R]], %[[V]], %[[ONES]]
    %y = math.fma %s, %v, %one : tensor<1x64xf32>
    tile.store %y, %p[%o] strides [64, 1] : tensor<1x64xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A tile and what repeats it are converted once.
// CHECK-LABEL: gpu.func @one_copy
gpu.module @m {
  gpu.func @one_copy(%p: !llvm.ptr<1>, %o: i64, %c: i1) kernel {
    %g = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:1, l32:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    %x = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    %s = tile.load %p[%o] strides [128, 1] layout <[w8:1, l4:8], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<32x128xf32>
    // CHECK: %[[G:.*]] = tile.convert
    // CHECK: arith.mulf %{{.*}}, %[[G]] : tensor<1x128xf32
    %y = arith.mulf %x, %g : tensor<1x128xf32>
    tile.store %y, %p[%o] strides [128, 1] : tensor<1x128xf32>, !llvm.ptr<1>
    // CHECK: scf.if
    scf.if %c {
      // CHECK-NOT: tile.convert
      // CHECK: tile.broadcast %[[G]]
      %b = tile.broadcast %g : tensor<1x128xf32> -> tensor<32x128xf32>
      %m = arith.mulf %b, %s : tensor<32x128xf32>
      tile.store %m, %p[%o] strides [128, 1] : tensor<32x128xf32>, !llvm.ptr<1>
    }
    gpu.return
  }
}

// -----

// Rows of one operand and columns of another: registers are numbered anew.
// CHECK-LABEL: gpu.func @outer
gpu.module @m {
  gpu.func @outer(%p: !llvm.ptr<1>, %o: i64) kernel {
    %a = tile.load %p[%o] strides [1, 1] layout <[w4:1, l4:8, r2:1], [r1:1]> : !llvm.ptr<1> -> tensor<32x1xf32>
    %b = tile.load %p[%o] strides [64, 1] layout <[r1:1], [r2:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x64xf32>
    %x = tile.broadcast %a : tensor<32x1xf32> -> tensor<32x64xf32>
    %y = tile.broadcast %b : tensor<1x64xf32> -> tensor<32x64xf32>
    // CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<32x64xf32, #tile.layout<[w4:1, l4:8, r2:8], [r2:4, l8:1, r4:1]>>
    %z = arith.mulf %x, %y : tensor<32x64xf32>
    tile.store %z, %p[%o] strides [64, 1] : tensor<32x64xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A read of the state: the result keeps its rows; lanes of K are gone.
// CHECK-LABEL: gpu.func @read
gpu.module @m {
  gpu.func @read(%p: !llvm.ptr<1>, %o: i64) kernel {
    %x = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    %s = tile.load %p[%o] strides [128, 1] layout <[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<64x128xf32>
    // CHECK-NOT: tile.convert
    // CHECK: tile.dot {{.*}} -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>>
    %y = tile.dot %x, %s contract [1, 1] : (tensor<1x128xf32>, tensor<64x128xf32>) -> tensor<1x64xf32>
    tile.store %y, %p[%o] strides [64, 1] : tensor<1x64xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// An anchor scatters the sums: operands stay as they are, and what is elementwise of
// the result is spread like it. Row by row b follows a.
// CHECK-LABEL: gpu.func @scattered
gpu.module @m {
  gpu.func @scattered(%p: !llvm.ptr<1>, %o: i64) kernel {
    %x = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    %s = tile.load %p[%o] strides [128, 1] layout <[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<64x128xf32>
    // CHECK-NOT: tile.convert
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] : (tensor<1x128xf32, #tile.layout<[r1:1], [r4:4, l8:1, r4:1]>>, tensor<64x128xf32, #tile.layout<[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]>>) -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, l4:1]>>
    %y = tile.dot %x, %s contract [1, 1] layout <[r1:1], [w4:1, l4:8, l4:1]> : (tensor<1x128xf32>, tensor<64x128xf32>) -> tensor<1x64xf32>
    // CHECK: arith.negf %{{.*}} : tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, l4:1]>>
    %z = arith.negf %y : tensor<1x64xf32>
    tile.store %z, %p[%o] strides [64, 1] : tensor<1x64xf32>, !llvm.ptr<1>
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [1, 1] rows : {{.*}} -> tensor<64x1xf32, #tile.layout<[w4:1, l4:8, r4:1], [r1:1]>>
    %n = tile.dot %s, %s contract [1, 1] rows : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x1xf32>
    tile.store %n, %p[%o] strides [1, 1] : tensor<64x1xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// An anchor that no sums are scattered to is where the operands go: lanes of a
// thread's own rows come back to all that need them.
// CHECK-LABEL: gpu.func @gathered
gpu.module @m {
  gpu.func @gathered(%p: !llvm.ptr<1>, %o: i64) kernel {
    %d = tile.load %p[%o] strides [64, 1] layout <[r1:1], [w4:1, l4:8, l4:1]> : !llvm.ptr<1> -> tensor<1x64xf32>
    %k = tile.load %p[%o] strides [128, 1] layout <[r1:1], [r4:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<1x128xf32>
    // CHECK: %[[D:.*]] = tile.convert %{{.*}} -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>>
    // CHECK: tile.dot %[[D]], %{{.*}} contract [0, 0] {{.*}} -> tensor<64x128xf32, #tile.layout<[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]>>
    %u = tile.dot %d, %k contract [0, 0] layout <[w4:1, l4:8, r4:16], [r4:4, l8:1, r4:1]> : (tensor<1x64xf32>, tensor<1x128xf32>) -> tensor<64x128xf32>
    tile.store %u, %p[%o] strides [128, 1] : tensor<64x128xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// a follows b along the contracted dimension, or b a where b's is spread over warps.
// CHECK-LABEL: gpu.func @contracted
gpu.module @m {
  gpu.func @contracted(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c = tile.load %p[%o] strides [1, 1] layout <[w4:1, l4:8], [r1:1]> : !llvm.ptr<1> -> tensor<16x1xf32>
    %d = tile.load %p[%o] strides [64, 1] layout <[r2:4, l8:1], [w4:1, l4:8, r4:1]> : !llvm.ptr<1> -> tensor<16x64xf32>
    // CHECK: %[[C:.*]] = tile.convert %{{.*}} -> tensor<16x1xf32, #tile.layout<[r2:1, l8:1], [r1:1]>>
    // CHECK: tile.dot %[[C]], %{{.*}} contract [0, 0] {{.*}} -> tensor<1x64xf32, #tile.layout<[r1:1], [w4:1, l4:8, r4:1]>>
    %r = tile.dot %c, %d contract [0, 0] : (tensor<16x1xf32>, tensor<16x64xf32>) -> tensor<1x64xf32>
    tile.store %r, %p[%o] strides [64, 1] : tensor<1x64xf32>, !llvm.ptr<1>
    // CHECK: %[[C2:.*]] = tile.convert %{{.*}} -> tensor<16x1xf32, #tile.layout<[r2:1, l8:1], [r1:1]>>
    // CHECK: tile.dot %{{.*}}, %{{.*}} contract [0, 0] {{.*}} -> tensor<64x1xf32, #tile.layout<[w4:1, l4:8, r4:1], [r1:1]>>
    %e = arith.negf %c : tensor<16x1xf32>
    %t = tile.dot %d, %e contract [0, 0] : (tensor<16x64xf32>, tensor<16x1xf32>) -> tensor<64x1xf32>
    tile.store %t, %p[%o] strides [1, 1] : tensor<64x1xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// An accumulator decides on rows and columns; its sum is one chain in registers.
// CHECK-LABEL: gpu.func @accumulate
gpu.module @m {
  gpu.func @accumulate(%p: !llvm.ptr<1>, %o: i64) kernel {
    // CHECK: tile.load {{.*}} -> tensor<32x64xf32, [[S:#tile.layout<.*>]]>
    %s = tile.load %p[%o] strides [64, 1] layout <[w8:1, l4:8], [r2:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<32x64xf32>
    %d = tile.load %p[%o] strides [32, 1] layout <[l4:1], [l8:4, r4:1]> : !llvm.ptr<1> -> tensor<4x32xf32>
    %k = tile.load %p[%o] strides [64, 1] layout <[r4:8], [r2:4, l8:1, r4:1]> : !llvm.ptr<1> -> tensor<4x64xf32>
    // CHECK: %[[D:.*]] = tile.convert %{{.*}} -> tensor<4x32xf32, #tile.layout<[r4:1], [w8:1, l4:8]>>
    // CHECK: tile.dot %[[D]], %{{.*}} acc(%{{.*}}) contract [0, 0] {{.*}} -> tensor<32x64xf32, [[S]]>
    %t = tile.dot %d, %k acc(%s) contract [0, 0] : (tensor<4x32xf32>, tensor<4x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    tile.store %t, %p[%o] strides [64, 1] : tensor<32x64xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Suffix sums stay where the rows are; every lane has the total.
// CHECK-LABEL: gpu.func @scan
gpu.module @m {
  gpu.func @scan(%p: !llvm.ptr<1>, %o: i64) kernel {
    %g = tile.load %p[%o] strides [32, 1] layout <[r2:1, l8:1], [r2:2, w4:1]> : !llvm.ptr<1> -> tensor<16x8xf32>
    // CHECK: tile.scan {{.*}} -> tensor<16x8xf32, #tile.layout<[r2:1, l8:1], [r2:2, w4:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [r2:1, w4:1]>>
    %s, %t = tile.scan add %g : tensor<16x8xf32> -> tensor<16x8xf32>, tensor<1x8xf32>
    tile.store %s, %p[%o] strides [32, 1] : tensor<16x8xf32>, !llvm.ptr<1>
    tile.store %t, %p[%o] strides [32, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Both branches yield the layout of the first, a constant takes it over.
// CHECK-LABEL: gpu.func @branches
gpu.module @m {
  gpu.func @branches(%p: !llvm.ptr<1>, %o: i64, %c: i1) kernel {
    // CHECK: scf.if %{{.*}} -> (tensor<1x8xf32, [[L:#tile.layout<\[r1:1\], \[l8:1\]>]]>)
    %y = scf.if %c -> tensor<1x8xf32> {
      %z = arith.constant dense<0.0> : tensor<1x8xf32>
      // CHECK: arith.constant dense<0.000000e+00> : tensor<1x8xf32, [[L]]>
      scf.yield %z : tensor<1x8xf32>
    } else {
      %x = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
      scf.yield %x : tensor<1x8xf32>
    }
    // CHECK: tile.store %{{.*}} : tensor<1x8xf32, [[L]]>
    tile.store %y, %p[%o] strides [8, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A sum that starts from a constant takes its layout from the body; what the
// loop does not change is converted in front of it.
// CHECK-LABEL: gpu.func @loop
gpu.module @m {
  gpu.func @loop(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = arith.constant dense<0.0> : tensor<1x8xf32>
    %b = tile.load %p[%o] strides [8, 1] layout <[r1:1], [r8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // CHECK: arith.constant dense<0.000000e+00> : tensor<1x8xf32, [[L:#tile.layout<\[r1:1\], \[l8:1\]>]]>
    // CHECK: %[[B:.*]] = tile.convert
    // CHECK: scf.for {{.*}} -> (tensor<1x8xf32, [[L]]>)
    %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> tensor<1x8xf32> {
      %x = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
      // CHECK-NOT: tile.convert
      // CHECK: math.fma %{{.*}}, %[[B]], %{{.*}} : tensor<1x8xf32, [[L]]>
      %n = math.fma %x, %b, %acc : tensor<1x8xf32>
      scf.yield %n : tensor<1x8xf32>
    }
    tile.store %s, %p[%o] strides [8, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// The initial value decides; the yielded one is converted.
// CHECK-LABEL: gpu.func @loop_init
gpu.module @m {
  gpu.func @loop_init(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %a = tile.load %p[%o] strides [8, 1] layout <[r1:1], [r8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // CHECK: scf.for {{.*}} -> (tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>)
    %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %a) -> tensor<1x8xf32> {
      %x = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
      // CHECK: %[[Y:.*]] = tile.convert %{{.*}} -> tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>
      // CHECK: scf.yield %[[Y]]
      scf.yield %x : tensor<1x8xf32>
    }
    tile.store %s, %p[%o] strides [8, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A constant that is stored is spread over the threads of the block.
// CHECK-LABEL: gpu.func @zeros
gpu.module @m {
  gpu.func @zeros(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: arith.constant dense<0.000000e+00> : tensor<1x200xf32, #tile.layout<[r1:1], [r2:1, w4:1, l32:1]>>
    %z = arith.constant dense<0.0> : tensor<1x200xf32>
    tile.store %z, %p[%o] strides [200, 1] : tensor<1x200xf32>, !llvm.ptr<1>
    gpu.return
  }
}
