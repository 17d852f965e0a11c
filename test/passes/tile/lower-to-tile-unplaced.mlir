// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-lower-to-tile

// What scores find in shared memory is staged: their tokens, the gates of a tree, and
// along K the decays of a chain.
replay.kernel @tree shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  replay.phase loads
  %p = replay.load_parents rows(%length) : tensor<2x1xi32>
  %k = replay.load_token "k" window(%first, %length) : tensor<2x8xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x1xf32>
  %ks = replay.stage %k {replay.place = #replay<place shared>} : tensor<2x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{expected staged tokens as operands: run replay-place first}}
  %P = replay.scores %ks with %ks gated %g tree %p : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
}

// -----

replay.kernel @chain shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  replay.phase loads
  %k = replay.load_token "k" window(%first, %length) : tensor<2x8xf32>
  %g = replay.load_token "a" window(%first, %length) : tensor<2x8xf32>
  %d = replay.token_decays %g : tensor<2x8xf32> -> tensor<2x8xf32>
  %ks = replay.stage %k {replay.place = #replay<place shared>} : tensor<2x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{expected staged tokens as operands: run replay-place first}}
  %P = replay.scores %ks with %ks decayed %d : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x2xf32>
}

// -----

replay.kernel @unwaited shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  scf.if %live {
    replay.phase loads
    %S = replay.load_state %slot {replay.place = #replay<place shared>} : <8, 8, f32>
    // expected-error @below {{expected replay.wait behind the copy that it uses}}
    replay.store_state %S, %slot : <8, 8, f32>
  } {replay.row}
}
