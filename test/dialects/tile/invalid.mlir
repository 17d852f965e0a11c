// One split per check of a verifier.
// RUN: replayssm-opt %s -split-input-file -verify-diagnostics

// Owners are r, l and w.
gpu.module @m {
  // expected-error @+1 {{expected a factor like r4, l8 or w2 but got 'x4'}}
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[x4:1], [r1:1]>>) {
    gpu.return
  }
}

// -----

// A factor has a size.
gpu.module @m {
  // expected-error @+1 {{expected a factor like r4, l8 or w2 but got 'r'}}
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[r:1], [r1:1]>>) {
    gpu.return
  }
}

// -----

// Sizes and strides count.
gpu.module @m {
  // expected-error @+1 {{expected positive sizes and strides}}
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[r4:0], [r1:1]>>) {
    gpu.return
  }
}

// -----

// No two digits of an owner overlap.
gpu.module @m {
  // expected-error @+1 {{expected the strides of 'l' factors to follow each other but got stride 4 where 8 comes next}}
  gpu.func @f(%x: tensor<64x1xf32, #tile.layout<[l8:1, l8:4], [r1:1]>>) {
    gpu.return
  }
}

// -----

// Registers leave no gaps.
gpu.module @m {
  // expected-error @+1 {{expected the strides of 'r' factors to follow each other but got stride 2 where 1 comes next}}
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[r4:2], [r1:1]>>) {
    gpu.return
  }
}

// -----

// Lane factors are powers of two.
gpu.module @m {
  // expected-error @+1 {{expected lane factors to be powers of two but got l3:1}}
  gpu.func @f(%x: tensor<3x1xf32, #tile.layout<[l3:1], [r1:1]>>) {
    gpu.return
  }
}

// -----

// A warp has 32 lanes.
gpu.module @m {
  // expected-error @+1 {{expected lane factors to fit 32 lanes but they need 64}}
  gpu.func @f(%x: tensor<64x1xf32, #tile.layout<[l8:8], [l8:1]>>) {
    gpu.return
  }
}

// -----

// A layout has the tile's rank.
gpu.module @m {
  // expected-error @+1 {{expected a layout of 2 dimensions but got #tile.layout<[r4:1]>}}
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[r4:1]>>) {
    gpu.return
  }
}

// -----

// A layout covers the tile.
gpu.module @m {
  // expected-error @+1 {{expected a layout that covers 5 elements of dimension 0 but got #tile.layout<[r4:1], [r1:1]>}}
  gpu.func @f(%x: tensor<5x1xf32, #tile.layout<[r4:1], [r1:1]>>) {
    gpu.return
  }
}

// -----

// Shared buffers have elements.
gpu.module @m {
  // expected-error @+1 {{expected a positive shape but got 0x4}}
  gpu.func @f(%x: !tile.smem<0, 4, f32>) {
    gpu.return
  }
}

// -----

// Shared elements are whole bytes.
gpu.module @m {
  // expected-error @+1 {{expected elements of whole bytes but got 'i1'}}
  gpu.func @f(%x: !tile.smem<4, 4, i1>) {
    gpu.return
  }
}

// -----

// Buffers start at 16 bytes.
gpu.module @m {
  gpu.func @f() {
    // expected-error @+1 {{'tile.alloc' op expected a byte offset that is a multiple of 16 but got 8}}
    %s = tile.alloc at 8 : !tile.smem<4, 4, f32>
    gpu.return
  }
}

// -----

// Copies come from global memory.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<3>, %o: i64, %s: !tile.smem<4, 4, f32>) {
    // expected-error @+1 {{'tile.copy' op expected a global pointer, '!llvm.ptr<1>', but got '!llvm.ptr<3>'}}
    %t = tile.copy %p[%o] to %s : !llvm.ptr<3>, !tile.smem<4, 4, f32>
    gpu.return
  }
}

// -----

// The copy engine moves 16 bytes at a time.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64, %s: !tile.smem<4, 3, f32>) {
    // expected-error @+1 {{'tile.copy' op expected rows of a multiple of 16 bytes but got 12}}
    %t = tile.copy %p[%o] to %s : !llvm.ptr<1>, !tile.smem<4, 3, f32>
    gpu.return
  }
}

// -----

// An mbarrier has 8 bytes.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64, %s: !tile.smem<4, 4, f32>) {
    // expected-error @+1 {{'tile.copy' op expected an mbarrier at a multiple of 8 bytes but got 4}}
    %t = tile.copy %p[%o] to %s mbarrier 4 : !llvm.ptr<1>, !tile.smem<4, 4, f32>
    gpu.return
  }
}

// -----

// A load has one layout.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) {
    // expected-error @+1 {{'tile.load' op expected a layout in one place but got both #tile.layout<[r4:1], [r1:1]> and that of 'tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>'}}
    %x = tile.load %p[%o] strides [1, 1] layout <[r4:1], [r1:1]> : !llvm.ptr<1> -> tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>
    gpu.return
  }
}

// -----

// An anchor covers the tile.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) {
    // expected-error @+1 {{'tile.load' op expected a layout that covers 8 elements of dimension 0 but got #tile.layout<[r4:1], [r1:1]>}}
    %x = tile.load %p[%o] strides [1, 1] layout <[r4:1], [r1:1]> : !llvm.ptr<1> -> tensor<8x1xf32>
    gpu.return
  }
}

// -----

// A tile has two strides.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) {
    // expected-error @+1 {{'tile.load' op expected 2 strides but got 1}}
    %x = tile.load %p[%o] strides [1] : !llvm.ptr<1> -> tensor<4x1xf32>
    gpu.return
  }
}

// -----

// Strides go forward.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %o: i64) {
    // expected-error @+1 {{'tile.load' op expected strides of at least 0 but got -1}}
    %x = tile.load %p[%o] strides [-1, 1] : !llvm.ptr<1> -> tensor<4x1xf32>
    gpu.return
  }
}

// -----

// Pointers are global.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr, %o: i64, %x: tensor<4x1xf32>) {
    // expected-error @+1 {{'tile.store' op expected a global pointer, '!llvm.ptr<1>', but got '!llvm.ptr'}}
    tile.store %x, %p[%o] strides [1, 1] : tensor<4x1xf32>, !llvm.ptr
    gpu.return
  }
}

// -----

// Shared buffers hold one type.
gpu.module @m {
  gpu.func @f(%s: !tile.smem<4, 1, bf16>, %o: i64, %x: tensor<4x1xf32>) {
    // expected-error @+1 {{'tile.store' op expected elements of 'bf16' as in '!tile.smem<4, 1, bf16>' but got 'f32'}}
    tile.store %x, %s[%o] strides [1, 1] : tensor<4x1xf32>, !tile.smem<4, 1, bf16>
    gpu.return
  }
}

// -----

// Constant accesses stay inside the buffer.
gpu.module @m {
  gpu.func @f(%s: !tile.smem<4, 4, f32>, %x: tensor<2x4xf32>) {
    %o = arith.constant 9 : i64
    // expected-error @+1 {{'tile.store' op expected elements inside '!tile.smem<4, 4, f32>' but got 9 to 16}}
    tile.store %x, %s[%o] strides [4, 1] : tensor<2x4xf32>, !tile.smem<4, 4, f32>
    gpu.return
  }
}

// -----

// Rows meet rows, or columns columns.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) {
    // expected-error @+1 {{'tile.dot' op expected contract [0, 0] or [1, 1] but got [1, 0]}}
    %d = tile.dot %a, %b contract [1, 0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    gpu.return
  }
}

// -----

// Contracted sizes agree.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>) {
    // expected-error @+1 {{'tile.dot' op expected equal contracted dimensions but got 8 and 4}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gpu.return
  }
}

// -----

// The result has the free dimensions.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32>, %b: tensor<2x8xf32>) {
    // expected-error @+1 {{'tile.dot' op expected a result of 4x2 but got 'tensor<2x4xf32>'}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<2x4xf32>
    gpu.return
  }
}

// -----

// The accumulator is like the result.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32>, %b: tensor<2x8xf32>, %c: tensor<2x4xf32>) {
    // expected-error @+1 {{'tile.dot' op expected an accumulator of 'tensor<4x2xf32>' but got 'tensor<2x4xf32>'}}
    %d = tile.dot %a, %b acc(%c) contract [1, 1] : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<4x2xf32>
    gpu.return
  }
}

// -----

// Layouts come all at once.
gpu.module @m {
  gpu.func @f(%a: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, %b: tensor<1x8xf32>) {
    // expected-error @+1 {{'tile.dot' op expected a layout on every tile or on none but got 2 of 3}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, tensor<1x8xf32>) -> tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Contracted dimensions are spread alike.
gpu.module @m {
  gpu.func @f(%a: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, %b: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimensions to be spread alike but got dimension 1 of 'tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>' and dimension 1 of 'tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>'}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>) -> tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Rows of the result are a's.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>, %b: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>) {
    // expected-error @+1 {{'tile.dot' op expected rows to be spread alike, or over lanes of the contracted dimension in place of registers, but got dimension 0 of 'tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>' and dimension 0 of 'tensor<4x1xf32, #tile.layout<[l4:1], [r1:1]>>'}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>) -> tensor<4x1xf32, #tile.layout<[l4:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Row by row there is one sum for each row.
gpu.module @m {
  gpu.func @f(%a: tensor<4x8xf32>, %b: tensor<1x8xf32>) {
    // expected-error @+1 {{'tile.dot' op expected, row by row, contract [1, 1], equal rows and a result of 4x1 but got 'tensor<4x1xf32>'}}
    %d = tile.dot %a, %b contract [1, 1] rows : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x1xf32>
    gpu.return
  }
}

// -----

// Columns of the result are b's.
gpu.module @m {
  gpu.func @f(%a: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, %b: tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>) {
    // expected-error @+1 {{'tile.dot' op expected columns to be spread alike, or over lanes of the contracted dimension in place of registers, but got dimension 0 of 'tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>' and dimension 1 of 'tensor<1x4xf32, #tile.layout<[r1:1], [l4:1]>>'}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>, tensor<4x8xf32, #tile.layout<[r4:8], [r8:1]>>) -> tensor<1x4xf32, #tile.layout<[r1:1], [l4:1]>>
    gpu.return
  }
}

// -----

// A butterfly joins lanes, not warps.
gpu.module @m {
  gpu.func @f(%a: tensor<1x8xf32, #tile.layout<[r1:1], [w8:1]>>, %b: tensor<1x8xf32, #tile.layout<[r1:1], [w8:1]>>) {
    // expected-error @+1 {{'tile.dot' op expected a contraction inside a warp but dimension 1 of 'tensor<1x8xf32, #tile.layout<[r1:1], [w8:1]>>' is spread over warps}}
    %d = tile.dot %a, %b contract [1, 1] : (tensor<1x8xf32, #tile.layout<[r1:1], [w8:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [w8:1]>>) -> tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// An accumulator starts one chain.
gpu.module @m {
  gpu.func @f(%a: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, %b: tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, %c: tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>) {
    // expected-error @+1 {{'tile.dot' op expected a contraction in registers beside an accumulator but dimension 1 of 'tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>' is spread over lanes}}
    %d = tile.dot %a, %b acc(%c) contract [1, 1] : (tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, tensor<1x8xf32, #tile.layout<[r1:1], [l8:1]>>, tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>) -> tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Suffix sums are like the rows.
gpu.module @m {
  gpu.func @f(%x: tensor<4x2xf32>) {
    // expected-error @+1 {{'tile.scan' op expected suffix sums of 'tensor<4x2xf32>' but got 'tensor<4x1xf32>'}}
    %s, %t = tile.scan add %x : tensor<4x2xf32> -> tensor<4x1xf32>, tensor<1x2xf32>
    gpu.return
  }
}

// -----

// A scan has one total per column.
gpu.module @m {
  gpu.func @f(%x: tensor<4x2xf32>) {
    // expected-error @+1 {{'tile.scan' op expected a total of 1x2 but got 'tensor<1x1xf32>'}}
    %s, %t = tile.scan add %x : tensor<4x2xf32> -> tensor<4x2xf32>, tensor<1x1xf32>
    gpu.return
  }
}

// -----

// Rows are scanned inside a warp.
gpu.module @m {
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>>) {
    // expected-error @+1 {{'tile.scan' op expected rows inside a warp but those of 'tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>>' are spread over warps}}
    %s, %t = tile.scan add %x : tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>> -> tensor<4x1xf32, #tile.layout<[w4:1], [r1:1]>>, tensor<1x1xf32, #tile.layout<[r1:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Every lane has the total.
gpu.module @m {
  gpu.func @f(%x: tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>) {
    // expected-error @+1 {{'tile.scan' op expected a total with rows [r1:1] but got 'tensor<1x1xf32, #tile.layout<[r4:1], [r1:1]>>'}}
    %s, %t = tile.scan add %x : tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>> -> tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>, tensor<1x1xf32, #tile.layout<[r4:1], [r1:1]>>
    gpu.return
  }
}

// -----

// A broadcast keeps the type.
gpu.module @m {
  gpu.func @f(%x: tensor<1x1xf32>) {
    // expected-error @+1 {{'tile.broadcast' op expected elements of 'f32' but got 'bf16'}}
    %y = tile.broadcast %x : tensor<1x1xf32> -> tensor<4x1xbf16>
    gpu.return
  }
}

// -----

// Only size 1 is repeated.
gpu.module @m {
  gpu.func @f(%x: tensor<2x1xf32>) {
    // expected-error @+1 {{'tile.broadcast' op expected dimension 0 of size 1 or 4 but got 2}}
    %y = tile.broadcast %x : tensor<2x1xf32> -> tensor<4x1xf32>
    gpu.return
  }
}

// -----

// What is not repeated stays in its threads.
gpu.module @m {
  gpu.func @f(%x: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>) {
    // expected-error @+1 {{'tile.broadcast' op expected a dimension that is not repeated to be spread alike but got dimension 1 of 'tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>' and dimension 1 of 'tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>>'}}
    %y = tile.broadcast %x : tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>> -> tensor<4x8xf32, #tile.layout<[r4:1], [l8:1]>>
    gpu.return
  }
}

// -----

// What is repeated is in every thread.
gpu.module @m {
  gpu.func @f(%x: tensor<1x8xf32, #tile.layout<[l4:1], [l8:4]>>) {
    // expected-error @+1 {{'tile.broadcast' op expected a repeated dimension [r1:1] but got dimension 0 of 'tensor<1x8xf32, #tile.layout<[l4:1], [l8:4]>>'}}
    %y = tile.broadcast %x : tensor<1x8xf32, #tile.layout<[l4:1], [l8:4]>> -> tensor<4x8xf32, #tile.layout<[r4:1], [l8:4]>>
    gpu.return
  }
}

// -----

// A convert changes the layout alone.
gpu.module @m {
  gpu.func @f(%x: tensor<1x8xf32>) {
    // expected-error @+1 {{'tile.convert' op expected a tile like 'tensor<1x8xf32>' but got 'tensor<8x1xf32>'}}
    %y = tile.convert %x : tensor<1x8xf32> -> tensor<8x1xf32>
    gpu.return
  }
}

// -----

// A convert names its layout.
gpu.module @m {
  gpu.func @f(%x: tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>>) {
    // expected-error @+1 {{'tile.convert' op expected a layout to convert to but got 'tensor<1x8xf32>'}}
    %y = tile.convert %x : tensor<1x8xf32, #tile.layout<[r1:1], [r8:1]>> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

// A stride of the caller is that of a buffer in global memory.
gpu.module @m {
  gpu.func @f(%off: i64, %stride: i64) {
    %s = tile.alloc : <4, 8, f32>
    // expected-error @+1 {{'tile.load' op expected global memory beside a stride but got '!tile.smem<4, 8, f32>'}}
    %x = tile.load %s[%off] strides [0, 1] stride(%stride) : !tile.smem<4, 8, f32> -> tensor<4x8xf32>
    gpu.return
  }
}

// -----

// Rows are there by their number or by their bit.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %off: i64, %n: index) {
    // expected-error @+1 {{'tile.load' op expected 'rows' or 'mask' but got both}}
    %x = tile.load %p[%off] strides [8, 1] rows(%n) mask(%off) : !llvm.ptr<1> -> tensor<4x8xf32>
    gpu.return
  }
}

// -----

// A mask has a bit for every row.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %off: i64) {
    // expected-error @+1 {{'tile.load' op expected at most 64 rows beside a mask but got 65}}
    %x = tile.load %p[%off] strides [8, 1] mask(%off) : !llvm.ptr<1> -> tensor<65x8xf32>
    gpu.return
  }
}

// -----

// Row by row there is one column.
!pairs = tensor<2x4xf32, #tile.layout<[r2:2], [l2:1, r2:1]>>
gpu.module @m {
  gpu.func @f(%x: !pairs) {
    // expected-error @+1 {{'tile.dot' op expected, row by row, a result with columns [r1:1] but got 'tensor<2x1xf32, #tile.layout<[r2:1], [r2:2]>>'}}
    %d = tile.dot %x, %x contract [1, 1] rows : (!pairs, !pairs) -> tensor<2x1xf32, #tile.layout<[r2:1], [r2:2]>>
    gpu.return
  }
}

// -----

// An accumulator says where the sums are.
gpu.module @m {
  gpu.func @f(%x: tensor<1x4xf32>, %y: tensor<1x8xf32>, %acc: tensor<4x8xf32>) {
    // expected-error @+1 {{'tile.dot' op expected an anchor or an accumulator, which has a layout of its own, but got both}}
    %d = tile.dot %x, %y acc(%acc) contract [0, 0] layout <[r4:1], [l8:1]> : (tensor<1x4xf32>, tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    gpu.return
  }
}

// -----

// An anchor covers the result.
gpu.module @m {
  gpu.func @f(%x: tensor<1x4xf32>, %y: tensor<8x4xf32>) {
    // expected-error @+1 {{'tile.dot' op expected a layout that covers 8 elements of dimension 1 but got #tile.layout<[r1:1], [l4:1]>}}
    %d = tile.dot %x, %y contract [1, 1] layout <[r1:1], [l4:1]> : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

// Chunks are whole steps of every type.
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf32>) {
    // expected-error @+1 {{expected chunk to be 0 or a multiple of 16 but got 8}}
    %d = tile.dot %x, %y mma<chunk = 8> contract [1, 1] : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// No chunk is less than nothing.
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf32>) {
    // expected-error @+1 {{expected chunk to be 0 or a multiple of 16 but got -16}}
    %d = tile.dot %x, %y mma<chunk = -16> contract [1, 1] : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// What stays apart are chunks.
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf32>) {
    // expected-error @+1 {{expected chunks whose sums are kept apart but got chunk = 0}}
    %d = tile.dot %x, %y mma<apart = true> contract [1, 1] : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// Only tensor cores take 16 bits: the first operand,
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xbf16>, %y: tensor<8x32xf32>) {
    // expected-error @+1 {{'tile.dot' op expected operands of f32 for sums by fma but got 'bf16'}}
    %d = tile.dot %x, %y contract [1, 1] : (tensor<16x32xbf16>, tensor<8x32xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// and the second.
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf16>) {
    // expected-error @+1 {{'tile.dot' op expected operands of f32 for sums by fma but got 'f16'}}
    %d = tile.dot %x, %y contract [1, 1] : (tensor<16x32xf32>, tensor<8x32xf16>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// Sums on tensor cores begin at zero,
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf32>, %acc: tensor<16x8xf32>) {
    // expected-error @+1 {{'tile.dot' op expected no accumulator, 'rows' or anchor beside 'mma' but got an accumulator}}
    %d = tile.dot %x, %y acc(%acc) mma<> contract [1, 1] : (tensor<16x32xf32>, tensor<8x32xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// are of every row with every column,
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>) {
    // expected-error @+1 {{'tile.dot' op expected no accumulator, 'rows' or anchor beside 'mma' but got 'rows'}}
    %d = tile.dot %x, %x mma<> contract [1, 1] rows : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x1xf32>
    gpu.return
  }
}

// -----

// and lie where the instruction leaves them.
gpu.module @m {
  gpu.func @f(%x: tensor<16x32xf32>, %y: tensor<8x32xf32>) {
    // expected-error @+1 {{'tile.dot' op expected no accumulator, 'rows' or anchor beside 'mma' but got an anchor}}
    %d = tile.dot %x, %y mma<> contract [1, 1] layout <[l8:4, r2:2], [l4:1, r2:1]> : (tensor<16x32xf32>, tensor<8x32xf32>) -> tensor<16x8xf32>
    gpu.return
  }
}

// -----

// Sums apart have 16 rows or more for each chunk that was begun.
gpu.module @m {
  gpu.func @f(%x: tensor<3x40xf32>, %y: tensor<8x40xf32>) {
    // expected-error @+1 {{'tile.dot' op expected a result of 48x8 but got 'tensor<9x8xf32>'}}
    %d = tile.dot %x, %y mma<chunk = 16, apart = true> contract [1, 1] : (tensor<3x40xf32>, tensor<8x40xf32>) -> tensor<9x8xf32>
    gpu.return
  }
}

// -----

// A thread has rows in pairs.
!a = tensor<16x16xf32, #tile.layout<[r2:4, l8:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected rows of 'a' to be spread as [.., l8:4, r2] for mma but got dimension 0 of 'tensor<16x16xf32, #tile.layout<[r2:4, l8:4], [l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[r2:2, l8:4], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Rows are those of eight lanes, each with four of the channels.
!a = tensor<8x16xf32, #tile.layout<[l4:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected rows of 'a' to be spread as [.., l8:4, r2] for mma but got dimension 0 of 'tensor<8x16xf32, #tile.layout<[l4:4, r2:4], [l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<8x8xf32, #tile.layout<[l4:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Channels that follow each other are in one thread.
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [r4:1, l4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [r4:1, l4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [r, l4:1, r4] for mma but got dimension 1 of 'tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [r4:1, l4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Rows of a thread are two, no more: others are registers in front of the lanes.
!a = tensor<32x16xf32, #tile.layout<[l8:4, r4:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected rows of 'a' to be spread as [.., l8:4, r2] for mma but got dimension 0 of 'tensor<32x16xf32, #tile.layout<[l8:4, r4:4], [l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<32x8xf32, #tile.layout<[l8:4, r4:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// A step of tf32 alone is not what 16 bits take.
!a = tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
!b = tensor<8x8xf32, #tile.layout<[l8:4], [l4:1, r2:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [r, l4:1, r4] for mma but got dimension 1 of 'tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// No warp has channels of its own,
!a = tensor<16x32xf32, #tile.layout<[l8:4, r2:4], [w2:1, l4:1, r4:1]>>
!b = tensor<8x32xf32, #tile.layout<[l8:4], [w2:1, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [r, l4:1, r4] for mma but got dimension 1 of 'tensor<16x32xf32, #tile.layout<[l8:4, r2:4], [w2:1, l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<chunk = 16> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// unless its sums stay apart.
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [r4:1, l4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [r4:1, l4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [w, r, l4:1, r4] for mma but got dimension 1 of 'tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [r4:1, l4:1]>>'}}
    %d = tile.dot %a, %b mma<chunk = 16, apart = true> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Columns are those of eight lanes.
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l4:4, r2:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected rows of 'b' to be spread as [.., l8:4] for mma but got dimension 0 of 'tensor<8x16xf32, #tile.layout<[l4:4, r2:4], [l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Channels of the second operand as well are in one thread.
!a = tensor<16x16xf32, #tile.layout<[l4:1, r4:1], [l8:4, r2:4]>>
!b = tensor<16x8xf32, #tile.layout<[r4:1, l4:1], [l8:4]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'b' to be spread as [r, l4:1, r4] for mma but got dimension 0 of 'tensor<16x8xf32, #tile.layout<[r4:1, l4:1], [l8:4]>>'}}
    %d = tile.dot %a, %b mma<> contract [0, 0] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Both sides have the same channels.
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [r2:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimensions to be spread alike but got dimension 1 of 'tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>' and dimension 1 of 'tensor<8x16xf32, #tile.layout<[l8:4], [r2:4, l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x8xf32, #tile.layout<[l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// Blocks of sums apart have no gaps.
!a = tensor<8x32xf32, #tile.layout<[w2:1, l8:4, r2:8], [r2:4, l4:1, r4:1]>>
!b = tensor<8x32xf32, #tile.layout<[l8:4], [r2:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected 16 rows of 'a', padding counted, for sums apart but got 'tensor<8x32xf32, #tile.layout<[w2:1, l8:4, r2:8], [r2:4, l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<chunk = 16, apart = true> contract [1, 1] : (!a, !b) -> tensor<32x8xf32, #tile.layout<[r2:4, w2:1, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// The sums have the rows of the first operand.
!a = tensor<32x16xf32, #tile.layout<[w2:1, l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<8x16xf32, #tile.layout<[l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected sums laid out as #tile.layout<[w2:1, l8:4, r2:2], [l4:1, r2:1]> by the operands but got 'tensor<32x8xf32, #tile.layout<[r2:4, l8:4, r2:2], [l4:1, r2:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<32x8xf32, #tile.layout<[r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// A thread has two columns of the second operand's.
!a = tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
!b = tensor<16x16xf32, #tile.layout<[r2:4, l8:4], [l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected sums laid out as #tile.layout<[l8:4, r2:4], [r2:2, l4:1, r2:1]> by the operands but got 'tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>'}}
    %d = tile.dot %a, %b mma<> contract [1, 1] : (!a, !b) -> tensor<16x16xf32, #tile.layout<[l8:4, r2:4], [l4:1, r4:1]>>
    gpu.return
  }
}

// -----

// Sums of a chunk are where the warp is that has its channels.
!a = tensor<16x32xf32, #tile.layout<[l8:4, r2:4], [w2:1, l4:1, r4:1]>>
!b = tensor<8x32xf32, #tile.layout<[l8:4], [w2:1, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @f(%a: !a, %b: !b) {
    // expected-error @+1 {{'tile.dot' op expected sums laid out as #tile.layout<[w2:1, l8:4, r2:2], [l4:1, r2:1]> by the operands but got 'tensor<32x8xf32, #tile.layout<[r2:4, l8:4, r2:2], [l4:1, r2:1]>>'}}
    %d = tile.dot %a, %b mma<chunk = 16, apart = true> contract [1, 1] : (!a, !b) -> tensor<32x8xf32, #tile.layout<[r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// A tile has two dimensions.
gpu.module @m {
  gpu.func @f() {
    // expected-error @+1 {{'tile.iota' op expected dimension 0 or 1 but got 2}}
    %i = tile.iota 2 : tensor<4x1xf32>
    gpu.return
  }
}

// -----

// An iota has its layout in one place.
gpu.module @m {
  gpu.func @f() {
    // expected-error @+1 {{'tile.iota' op expected a layout in one place but got both #tile.layout<[l4:1], [r1:1]> and that of 'tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>'}}
    %i = tile.iota 0 layout <[l4:1], [r1:1]> : tensor<4x1xf32, #tile.layout<[r4:1], [r1:1]>>
    gpu.return
  }
}

// -----

// Both halves of a buffer are aligned.
gpu.module @m {
  // expected-error @+1 {{expected a skew of a multiple of 16 bytes between two halves of the rows but got 4 for 8 rows}}
  gpu.func @f(%x: !tile.smem<8, 16, bf16, skew = 4>) {
    gpu.return
  }
}

// -----

// The second half lies further.
gpu.module @m {
  // expected-error @+1 {{expected a skew of a multiple of 16 bytes between two halves of the rows but got -4 for 8 rows}}
  gpu.func @f(%x: !tile.smem<8, 16, f32, skew = -4>) {
    gpu.return
  }
}

// -----

// Halves have as many rows.
gpu.module @m {
  // expected-error @+1 {{expected a skew of a multiple of 16 bytes between two halves of the rows but got 4 for 7 rows}}
  gpu.func @f(%x: !tile.smem<7, 16, f32, skew = 4>) {
    gpu.return
  }
}

// -----

// A tile of a skewed buffer has its rows,
gpu.module @m {
  gpu.func @f(%s: !tile.smem<8, 16, f32, skew = 4>, %o: i64) {
    // expected-error @+1 {{'tile.load' op expected all rows of the skewed buffer '!tile.smem<8, 16, f32, skew = 4>' but got 'tensor<4x16xf32>' with strides [16, 1]}}
    %x = tile.load %s[%o] strides [16, 1] : !tile.smem<8, 16, f32, skew = 4> -> tensor<4x16xf32>
    gpu.return
  }
}

// -----

// one behind another,
gpu.module @m {
  gpu.func @f(%s: !tile.smem<8, 16, f32, skew = 4>, %o: i64, %x: tensor<8x16xf32>) {
    // expected-error @+1 {{'tile.store' op expected all rows of the skewed buffer '!tile.smem<8, 16, f32, skew = 4>' but got 'tensor<8x16xf32>' with strides [8, 1]}}
    tile.store %x, %s[%o] strides [8, 1] : tensor<8x16xf32>, !tile.smem<8, 16, f32, skew = 4>
    gpu.return
  }
}

// -----

// and all of them,
gpu.module @m {
  gpu.func @f(%s: !tile.smem<8, 16, f32, skew = 4>, %o: i64, %n: index) {
    // expected-error @+1 {{'tile.load' op expected all rows of the skewed buffer '!tile.smem<8, 16, f32, skew = 4>' but got 'tensor<8x16xf32>' with strides [16, 1]}}
    %x = tile.load %s[%o] strides [16, 1] rows(%n) : !tile.smem<8, 16, f32, skew = 4> -> tensor<8x16xf32>
    gpu.return
  }
}

// -----

// as has a copy.
gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %s: !tile.smem<8, 16, f32, skew = 4>, %o: i64, %n: index) {
    // expected-error @+1 {{'tile.copy' op expected all rows of the skewed buffer '!tile.smem<8, 16, f32, skew = 4>' but got a number of them}}
    %t = tile.copy %p[%o] to %s rows(%n) : !llvm.ptr<1>, !tile.smem<8, 16, f32, skew = 4>
    gpu.return
  }
}

// -----

// Warps within a chunk would each have a part of its sums.
!a = tensor<16x128xf32, #tile.layout<[l8:4, r2:4], [r4:8, w2:1, l4:1, r4:1]>>
!b = tensor<8x128xf32, #tile.layout<[l8:4], [r4:4, w2:1, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @warps_in_a_chunk(%a: !a, %b: !b) kernel {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [w, r, l4:1, r4] for mma but got dimension 1 of}}
    %d = tile.dot %a, %b mma<chunk = 32, apart = true> contract [1, 1] : (!a, !b) -> tensor<64x8xf32, #tile.layout<[r4:4, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}

// -----

// One digit of two chunks and of the steps in them.
!a = tensor<16x64xf32, #tile.layout<[l8:4, r2:4], [r4:8, l4:1, r4:1]>>
!b = tensor<8x64xf32, #tile.layout<[l8:4], [r4:4, l4:1, r4:1]>>
gpu.module @m {
  gpu.func @chunks_in_a_digit(%a: !a, %b: !b) kernel {
    // expected-error @+1 {{'tile.dot' op expected the contracted dimension of 'a' to be spread as [w, r, l4:1, r4] for mma but got dimension 1 of}}
    %d = tile.dot %a, %b mma<chunk = 32, apart = true> contract [1, 1] : (!a, !b) -> tensor<32x8xf32, #tile.layout<[r2:4, l8:4, r2:2], [l4:1, r2:1]>>
    gpu.return
  }
}
