// RUN: replayssm-opt --replay-tile-to-gpu -split-input-file -verify-diagnostics %s

gpu.module @layout {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-error @+1 {{'tile.load' op expected tiles with a #tile.layout but got 'tensor<1x8xf32>'}}
    %t = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @unroll {
  gpu.func @f() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'scf.for' op expected no tile.unroll (run replay-unroll-loops first)}}
    scf.for %i = %c0 to %c1 step %c1 {
    } {tile.unroll = 2 : i64}
    gpu.return
  }
}

// -----

gpu.module @convert {
  gpu.func @f(%x0: f32) kernel {
    %x = tensor.splat %x0 : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    // expected-error @+1 {{expected a renaming of registers but got}}
    %y = tile.convert %x : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>> -> tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>
    gpu.return
  }
}

// -----

gpu.module @alloc_offset {
  gpu.func @f(%o: i64) kernel {
    %s = tile.alloc : !tile.smem<1, 8, f32>
    // expected-error @+1 {{expected shared memory of a tile.alloc with a byte offset (run replay-plan-shared first)}}
    %x = tile.load %s[%o] strides [8, 1] : !tile.smem<1, 8, f32> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @mbarrier {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) kernel {
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.copy' op expected an mbarrier offset (run replay-plan-shared first)}}
    %t = tile.copy %p[%o] to %s : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    gpu.return
  }
}

// -----

gpu.module @scalar_load {
  gpu.func @f(%p: !llvm.ptr<1>) kernel {
    // expected-error @+1 {{'llvm.load' op expected an i64, i32 or i8 in global memory but got 'f32'}}
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    gpu.return
  }
}

// -----

gpu.module @scalar_store {
  gpu.func @f(%p: !llvm.ptr<3>, %v: i32) kernel {
    // expected-error @+1 {{'llvm.store' op expected an i64, i32 or i8 in global memory but got 'i32'}}
    llvm.store %v, %p : i32, !llvm.ptr<3>
    gpu.return
  }
}

// -----

gpu.module @elementwise {
  gpu.func @f(%x0: f32) kernel {
    %c0 = arith.constant 0 : index
    %x = tensor.splat %x0 : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    // expected-error @+1 {{'tensor.extract' op expected an elementwise op, a splat or structured control flow where tiles are used}}
    %y = tensor.extract %x[%c0, %c0] : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @constant {
  gpu.func @f() kernel {
    // expected-error @+1 {{'arith.constant' op expected a splat where a tile is constant}}
    %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32, #tile.layout<[r1:1], [l2:1]>>
    gpu.return
  }
}

// -----

gpu.module @copy_loop {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    scf.for %i = %c0 to %c1 step %c1 {
      // expected-error @+1 {{'tile.copy' op expected a copy outside loops but got one inside scf.for: its mbarrier is used once}}
      %t = tile.copy %p[%o] to %s mbarrier 32 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    }
    gpu.return
  }
}

// -----

gpu.module @token {
  gpu.func @f(%t: !tile.token) kernel {
    // expected-error @+1 {{'tile.wait' op expected the token of a tile.copy}}
    tile.wait %t
    gpu.return
  }
}

// -----

gpu.module @alloc_use {
  gpu.func @f(%c: i1) kernel {
    // expected-error @+1 {{'tile.alloc' op expected no use but by tile ops}}
    %s = tile.alloc at 0 : !tile.smem<1, 8, f32>
    %r = scf.if %c -> !tile.smem<1, 8, f32> {
      scf.yield %s : !tile.smem<1, 8, f32>
    } else {
      scf.yield %s : !tile.smem<1, 8, f32>
    }
    gpu.return
  }
}

// -----

gpu.module @tile_argument {
  // expected-error @+1 {{'gpu.func' op expected no tile among the arguments but got 'tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>': tile.load makes tiles}}
  gpu.func @f(%x: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @halves {
  gpu.func @f(%o: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>, replay.manifest = {}} {
    %s = tile.alloc at 0 : !tile.smem<8, 16, f32, skew = 4>
    // expected-error @+1 {{'tile.load' op expected rows whose outermost digit tells the halves of a skewed buffer apart but got 'tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>'}}
    %x = tile.load %s[%o] strides [16, 1] : !tile.smem<8, 16, f32, skew = 4> -> tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
    gpu.return
  }
}
