// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-lower-converts

gpu.module @m {
  gpu.func @no_layout(%x: tensor<1x8xf32>) {
    // expected-error @+1 {{'tile.convert' op expected layouts on both sides but got 'tensor<1x8xf32>' and 'tensor<1x8xf32>'}}
    %y = tile.convert %x : tensor<1x8xf32> -> tensor<1x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @mask(%x: tensor<1x8xi1, #tile.layout<[r1:1], [l8:1]>>) {
    // expected-error @+1 {{'tile.convert' op expected elements of whole bytes to pass through shared memory but got 'tensor<1x8xi1, #tile.layout<[r1:1], [l8:1]>>' and 'tensor<1x8xi1, #tile.layout<[r1:1], [r8:1]>>'}}
    %y = tile.convert %x : tensor<1x8xi1, #tile.layout<[r1:1], [l8:1]>> -> tensor<1x8xi1, #tile.layout<[r1:1], [r8:1]>>
    gpu.return
  }
}
