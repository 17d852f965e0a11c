// RUN: replayssm-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected HV to be a multiple of H but got H = 3, HV = 4}}
replay.kernel @shape_heads of @x kind packed shape <H = 3, HV = 4, K = 16, V = 8> {}

// -----

// expected-error @below {{expected 'H' to be an integer in 1..65535 but got '0'}}
replay.kernel @shape_no_heads of @x kind packed shape <H = 0, HV = 4, K = 16, V = 8> {}

// -----

// expected-error @below {{expected 'HV' to be an integer in 1..65535 but got '65536'}}
replay.kernel @shape_many_heads of @x kind packed shape <H = 2, HV = 65536, K = 16, V = 8> {}

// -----

// expected-error @below {{expected K to be a multiple of 8 in 8..256 but got 12}}
replay.kernel @shape_k of @x kind packed shape <H = 2, HV = 4, K = 12, V = 8> {}

// -----

// expected-error @below {{expected V to be a multiple of 8 in 8..256 but got 264}}
replay.kernel @shape_v of @x kind packed shape <H = 2, HV = 4, K = 16, V = 264> {}

// -----

// expected-error @below {{expected a ring length in 1..64 but got 65}}
replay.kernel @ring_length of @x kind replay ring <65, [<"d", f32, value, V>]> {}

// -----

// expected-error @below {{expected distinct ring fields but got two called 'd'}}
replay.kernel @ring_twice of @x kind replay ring <4, [<"d", f32, value, V>, <"d", f32, value, V>]> {}

// -----

// expected-error @below {{expected ring field 'd' to be f32 but got 'bf16'}}
replay.kernel @ring_dtype of @x kind replay ring <4, [<"d", bf16, value, V>]> {}

// -----

// expected-error @below {{expected lanes to be a power of two in 1..32 but got 6}}
replay.kernel @kred_lanes of @x kind packed kred <lanes = 6, vec = 4> {}

// -----

// expected-error @below {{expected vec to be 1, 2, 4 or 8 but got 3}}
replay.kernel @kred_vec of @x kind packed kred <lanes = 8, vec = 3> {}

// -----

// expected-error @below {{expected chunk to be a multiple of 16 in 16..256 but got 0}}
replay.kernel @mma_none of @x kind verify kred <lanes = 8, vec = 4> mma<chunk = 0> {}

// -----

// expected-error @below {{expected chunk to be a multiple of 16 in 16..256 but got 24}}
replay.kernel @mma_steps of @x kind verify kred <lanes = 8, vec = 4> mma<chunk = 24> {}

// -----

// expected-error @below {{expected chunk to be a multiple of 16 in 16..256 but got 272}}
replay.kernel @mma_large of @x kind verify kred <lanes = 8, vec = 4> mma<chunk = 272> {}

// -----

// expected-error @below {{expected bv in 1..256 but got 0}}
replay.kernel @tiling_bv of @x kind packed tiling <bv = 0, bc = 4, warps = 1, copy = direct, unroll = 1> {}

// -----

// expected-error @below {{expected bv in 1..256 but got 4611686018427387904}}
replay.kernel @tiling_large_bv of @x kind packed tiling <bv = 4611686018427387904, bc = 4, warps = 1, copy = direct, unroll = 1> {}

// -----

// expected-error @below {{expected bc in 1..64 but got 65}}
replay.kernel @tiling_bc of @x kind packed tiling <bv = 8, bc = 65, warps = 1, copy = direct, unroll = 1> {}

// -----

// expected-error @below {{expected warps in 1..16 but got 17}}
replay.kernel @tiling_warps of @x kind packed tiling <bv = 8, bc = 4, warps = 17, copy = direct, unroll = 1> {}

// -----

// expected-error @below {{expected unroll in 1..16 but got 0}}
replay.kernel @tiling_unroll of @x kind packed tiling <bv = 8, bc = 4, warps = 1, copy = direct, unroll = 0> {}

// -----

// expected-error @below {{expected blocks in 1..32 but got 0}}
replay.kernel @tiling_blocks of @x kind packed tiling <bv = 8, bc = 4, warps = 1, copy = direct, unroll = 1, blocks = 0> {}

// -----

// expected-error @below {{expected sink in 0..255 but got 256}}
replay.kernel @tiling_sink of @x kind packed tiling <bv = 8, bc = 4, warps = 1, copy = direct, unroll = 1, sink = 256> {}

// -----

replay.kernel @state_dims shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected state dimensions in 1..256 but got 0 and 16}}
  %S = replay.load_state %s : <0, 16, f32>
}

// -----

replay.kernel @state_large shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected state dimensions in 1..256 but got 8 and 257}}
  %S = replay.load_state %s : <8, 257, f32>
}

// -----

replay.kernel @state_dtype shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-error @below {{expected state dtype f32 or bf16 but got 'f16'}}
  %S = replay.load_state %s : <8, 16, f16>
}
