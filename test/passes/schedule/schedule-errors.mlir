// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-schedule
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=bw=3" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=bv=x" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=bv=8,bv=8" 2>&1 | FileCheck %s --check-prefix=REPEATED
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=copy=fast" 2>&1 | FileCheck %s --check-prefix=COPY
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=bv=24" 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="tiling=bv=64,warps=1" 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not replayssm-opt %s -split-input-file -replay-schedule="chip=sm_80" 2>&1 | FileCheck %s --check-prefix=CHIP

// FIELD: error: unknown tiling field 'bw'; expected one of bv, bc, warps, copy, unroll, blocks, sink
// NUMBER: error: expected a number for tiling field 'bv' but got 'x'
// REPEATED: error: expected tiling field 'bv' once but got it twice
// COPY: error: expected copy to be direct or bulk but got 'fast'
// VALUE: error: 'replay.kernel' op expected tiling field bv to be one of 8, 16, 32, 64, 128 but got 24
// PAIR: error: 'replay.kernel' op expected tiling field warps to be one of 4, 8 beside the other fields but got 1
// CHIP: error: unknown target 'sm_80'; expected one of sm_90, sm_90a, sm_100a, sm_100f

replay.kernel @fine shape <H = 2, HV = 4, K = 128, V = 128> null lt0 kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x128xf32>
  %S = replay.load_state %slot : <128, 128, f32>
  %y = replay.read %S, %q : (!replay.state<128, 128, f32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  replay.store_out %y as bf16 : tensor<1x128xf32>
}

// -----

// expected-error @below {{expected tiling field bv to be one of 8, 16, 32, 64, 128 but got 48}}
replay.kernel @given shape <H = 2, HV = 4, K = 128, V = 128> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 48, bc = 8, warps = 4, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <128, 128, f32>
  replay.store_state %S, %slot : <128, 128, f32>
}

// -----

// expected-error @below {{expected a 'kred'}}
replay.kernel @no_kred shape <H = 2, HV = 4, K = 128, V = 128> null lt0 {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <128, 128, f32>
  replay.store_state %S, %slot : <128, 128, f32>
}

// -----

// expected-error @below {{expected a shape that fits 64 state registers per thread but got K = 256 over 2 lanes}}
replay.kernel @wide shape <H = 2, HV = 4, K = 256, V = 8> null lt0 kred <lanes = 2, vec = 4> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <8, 256, f32>
  replay.store_state %S, %slot : <8, 256, f32>
}

// -----

// The copies of state and keys would not fit beside the operands of the fold.
#ring = #replay.ring<64, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
// expected-error @below {{expected tiling field copy to be one of direct beside the other fields but got bulk}}
replay.kernel @too_much_shared shape <H = 1, HV = 1, K = 256, V = 256> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 64, bc = 8, warps = 8, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(64)
  %S = replay.load_state %slot : <256, 256, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  scf.if %flush {
    %S1 = replay.replay %S, %R : <256, 256, f32>, <#ring>
    replay.store_state %S1, %slot : <256, 256, f32>
  }
}
