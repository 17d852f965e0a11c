// What cannot be laid out names the op and its layouts.
// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-assign-layouts

gpu.module @m {
  gpu.func @anchor(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-error @+1 {{'tile.load' op expected a layout to start from}}
    %x = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @collide(%p: !llvm.ptr<1>, %o: i64) kernel {
    %a = tile.load %p[%o] strides [1, 1] layout <[l8:1], [r1:1]> : !llvm.ptr<1> -> tensor<8x1xf32>
    %b = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    %x = tile.broadcast %a : tensor<8x1xf32> -> tensor<8x8xf32>
    %y = tile.broadcast %b : tensor<1x8xf32> -> tensor<8x8xf32>
    // expected-error @+1 {{'arith.addf' op cannot combine the layouts #tile.layout<[l8:1], [r1:1]> and #tile.layout<[r1:1], [l8:1]>: expected the strides of 'l' factors to follow each other but got stride 1 where 8 comes next}}
    %z = arith.addf %x, %y : tensor<8x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @contract_over_warps(%p: !llvm.ptr<1>, %o: i64) kernel {
    %a = tile.load %p[%o] strides [8, 1] layout <[r1:1], [w8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // expected-error @+1 {{'tile.dot' op expected a contraction inside a warp but dimension 1 of both operands is spread over warps: #tile.layout<[r1:1], [w8:1]> and #tile.layout<[r1:1], [w8:1]>}}
    %d = tile.dot %a, %a contract [1, 1] : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x1xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @contract_collides(%p: !llvm.ptr<1>, %o: i64) kernel {
    %a = tile.load %p[%o] strides [8, 1] layout <[l4:1], [r8:1]> : !llvm.ptr<1> -> tensor<4x8xf32>
    %b = tile.load %p[%o] strides [8, 1] layout <[r1:1], [l8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // expected-error @+1 {{'tile.dot' op cannot combine the layouts #tile.layout<[l4:1], [r8:1]> and #tile.layout<[r1:1], [l8:1]>: expected the strides of 'l' factors to follow each other but got stride 1 where 4 comes next}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x1xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @scan_over_warps(%p: !llvm.ptr<1>, %o: i64) kernel {
    %a = tile.load %p[%o] strides [1, 1] layout <[w4:1], [r1:1]> : !llvm.ptr<1> -> tensor<4x1xf32>
    // expected-error @+1 {{'tile.scan' op expected rows inside a warp but they are spread over warps: #tile.layout<[w4:1], [r1:1]>}}
    %s, %t = tile.scan add %a : tensor<4x1xf32> -> tensor<4x1xf32>, tensor<1x1xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_a_splat(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-error @+1 {{'arith.constant' op expected a splat where a tile is constant}}
    %c = arith.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @convert_to_nothing(%p: !llvm.ptr<1>, %o: i64) kernel {
    %x = tile.load %p[%o] strides [8, 1] layout <[r1:1], [r8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // expected-error @+1 {{'tile.convert' op expected a layout to convert to}}
    %y = tile.convert %x : tensor<1x8xf32> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unknown_op(%p: !llvm.ptr<1>, %o: i64) kernel {
    %i = arith.constant 0 : index
    %x = tile.load %p[%o] strides [8, 1] layout <[r1:1], [r8:1]> : !llvm.ptr<1> -> tensor<1x8xf32>
    // expected-error @+1 {{'tensor.extract' op expected an op on tiles: arith, math, tile, scf.if or scf.for}}
    %y = tensor.extract %x[%i, %i] : tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unknown_region(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-error @+1 {{'scf.execute_region' op expected regions of scf.if and scf.for only}}
    scf.execute_region {
      scf.yield
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected no tile among the arguments but got 'tensor<1x8xf32>': tile.load makes tiles}}
  gpu.func @tile_argument(%x: tensor<1x8xf32>, %p: !llvm.ptr<1>, %o: i64) kernel {
    tile.store %x, %p[%o] strides [8, 1] : tensor<1x8xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_matrix() kernel {
    // expected-error @+1 {{'arith.constant' op expected tiles to be static tensors of rank 2 but got 'tensor<8xf32>'}}
    %x = arith.constant dense<0.0> : tensor<8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected a body of one block, with scf.if and scf.for for control flow, but got 2}}
  gpu.func @blocks() kernel {
    cf.br ^next
  ^next:
    gpu.return
  }
}
