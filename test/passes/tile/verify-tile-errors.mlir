// What cannot be lowered to threads says why.
// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-verify-tile

gpu.module @m {
  gpu.func @no_layout(%p: !llvm.ptr<1>, %o: i64) kernel {
    // expected-error @+1 {{'tile.load' op expected tiles with a layout but got 'tensor<1x8xf32>' (replay-assign-layouts gives them)}}
    %x = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_a_tile_op(%p: !llvm.ptr<1>, %o: i64) kernel {
    %i = arith.constant 0 : index
    %x = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    // expected-error @+1 {{'tensor.extract' op expected an op on tiles: arith, math, tile, scf.if or scf.for}}
    %y = tensor.extract %x[%i, %i] : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unplanned_buffer() kernel {
    // expected-error @+1 {{'tile.alloc' op expected a planned offset (replay-plan-shared sets it)}}
    %s = tile.alloc : !tile.smem<1, 8, f32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unplanned_copy(%p: !llvm.ptr<1>, %o: i64) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.copy' op expected a planned mbarrier (replay-plan-shared sets it)}}
    %t = tile.copy %p[%o] to %s : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    tile.wait %t
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @convert_through_memory(%p: !llvm.ptr<1>, %o: i64) kernel {
    %x = tile.load %p[%o] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    // expected-error @+1 {{'tile.convert' op expected registers to be renamed but elements change threads from 'tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>' to 'tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>' (replay-lower-converts)}}
    %y = tile.convert %x : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>> -> tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @trips(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = gpu.thread_id x
    // expected-error @+1 {{'scf.for' op expected bounds and step to be the same in all threads of the block}}
    scf.for %i = %c0 to %n step %c1 {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @copy_in_loop(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-note @+1 {{the loop}}
    scf.for %i = %c0 to %c1 step %c1 {
      // expected-error @+1 {{'tile.copy' op expected a copy outside loops: its mbarrier is used once}}
      %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
      tile.wait %t
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @path_without_wait(%p: !llvm.ptr<1>, %o: i64, %c: i1) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.copy' op expected a tile.wait on every path after the copy}}
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    scf.if %c {
      tile.wait %t
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @copy_over_store(%p: !llvm.ptr<1>, %o: i64, %x: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) kernel {
    %s = tile.alloc at 128 : !tile.smem<1, 8, f32>
    // expected-note @+1 {{the store}}
    tile.store %x, %s[%o] strides [8, 1] : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, !tile.smem<1, 8, f32>
    // expected-error @+1 {{'tile.copy' op expected a buffer that only copies write: a store is not ordered with the copy engine}}
    %t = tile.copy %p[%o] to %s mbarrier 0 : !llvm.ptr<1>, !tile.smem<1, 8, f32>
    tile.wait %t
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_condition(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %id = gpu.thread_id x
    %first = arith.cmpi eq, %id, %c0 : index
    // expected-error @+1 {{'scf.if' op expected the condition to be the same in all threads of the block}}
    scf.if %first {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_address(%p: !llvm.ptr<1>, %o: i64) kernel {
    %zero = arith.constant 0 : i32
    %id = gpu.thread_id x
    %id64 = arith.index_cast %id : index to i64
    %at = llvm.getelementptr %p[%id64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %at : !llvm.ptr<1> -> i32
    %c = arith.cmpi sgt, %v, %zero : i32
    // expected-error @+1 {{'scf.if' op expected the condition to be the same in all threads of the block}}
    scf.if %c {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_carried(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %id = gpu.thread_id x
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %c0) -> index {
      %next = arith.addi %acc, %id : index
      scf.yield %next : index
    }
    %c = arith.cmpi sgt, %sum, %c0 : index
    // expected-error @+1 {{'scf.if' op expected the condition to be the same in all threads of the block}}
    scf.if %c {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_offset(%p: !llvm.ptr<1>, %o: i64) kernel {
    %id = gpu.thread_id x
    %id64 = arith.index_cast %id : index to i64
    // expected-error @+1 {{'tile.load' op expected the offset to be the same in all threads of the block}}
    %x = tile.load %p[%id64] strides [8, 1] : !llvm.ptr<1> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_rows(%p: !llvm.ptr<1>, %o: i64) kernel {
    %id = gpu.thread_id x
    // expected-error @+1 {{'tile.load' op expected 'rows' to be the same in all threads of the block}}
    %x = tile.load %p[%o] strides [8, 1] rows(%id) : !llvm.ptr<1> -> tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_owner(%p: !llvm.ptr<1>, %o: i64, %x: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) kernel {
    %id = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %id, %c0 : index
    // expected-error @+1 {{'tile.store' op expected 'owner' to be the same in all threads of the block}}
    tile.store %x, %p[%o] strides [8, 1] owner(%first) : tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// What was read on the way around the loop differs as well.
gpu.module @m {
  gpu.func @thread_carried_through(%p: !llvm.ptr<1>, %o: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %id = gpu.thread_id x
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %c0) -> index {
      %twice = arith.addi %acc, %acc : index
      %next = arith.addi %twice, %id : index
      %c = arith.cmpi sgt, %twice, %c0 : index
      // expected-error @+1 {{'scf.if' op expected the condition to be the same in all threads of the block}}
      scf.if %c {
      }
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @too_many_warps(%p: !llvm.ptr<1>, %o: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    // expected-error @+1 {{'tile.load' op expected a layout of at most 2 warps but got 'tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>>'}}
    %x = tile.load %p[%o] strides [1, 1] : !llvm.ptr<1> -> tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expected whole warps but got a block of 48 threads}}
  gpu.func @part_of_a_warp() kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_mask(%p: !llvm.ptr<1>, %o: i64) kernel {
    %id = gpu.thread_id x
    %id64 = arith.index_cast %id : index to i64
    // expected-error @+1 {{'tile.load' op expected 'mask' to be the same in all threads of the block}}
    %x = tile.load %p[%o] strides [8, 1] mask(%id64) : !llvm.ptr<1> -> tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @thread_from(%x: tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>>) kernel {
    %id = gpu.thread_id x
    // expected-error @+1 {{'tile.scan' op expected 'from' to be the same in all threads of the block}}
    %s, %t = tile.scan add %x from(%id) : tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>> -> tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>
    gpu.return
  }
}
