// RUN: replayssm-opt %s -replay-schedule | FileCheck %s
// RUN: replayssm-opt %s -replay-schedule="tiling=bv=16,warps=1,copy=bulk,bc=8,unroll=4" | FileCheck %s --check-prefix=FORCED

// A kernel with a state and records: every field is chosen.
// CHECK-LABEL: replay.kernel @reads_and_folds
// CHECK-SAME: tiling <bv = {{[0-9]+}}, bc = {{8|16}}, warps = {{[0-9]}}, copy = {{direct|bulk}}, unroll = {{[124]}}>
// FORCED-LABEL: replay.kernel @reads_and_folds
// FORCED-SAME: tiling <bv = 16, bc = 8, warps = 1, copy = bulk, unroll = 4>
#ring = #replay.ring<16, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @reads_and_folds shape <H = 2, HV = 4, K = 128, V = 128> null lt0 ring #ring
    kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(16)
  %q = replay.load_token "q" : tensor<1x128xf32>
  %S = replay.load_state %slot : <128, 128, f32>
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  %y = replay.read %S, %q : (!replay.state<128, 128, f32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  replay.store_out %y as bf16 : tensor<1x128xf32>
  scf.if %flush {
    %S1 = replay.replay %S, %R : <128, 128, f32>, <#ring>
    replay.store_state %S1, %slot : <128, 128, f32>
  }
}

// No records: the chunk of ring rows and the unrolling of the fold mean nothing.
// CHECK-LABEL: replay.kernel @reads
// CHECK-SAME: bc = 8, {{.*}}unroll = 1>
// FORCED-LABEL: replay.kernel @reads
// FORCED-SAME: tiling <bv = 16, bc = 8, warps = 1, copy = bulk, unroll = 1>
replay.kernel @reads shape <H = 2, HV = 4, K = 128, V = 128> null lt0 kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x128xf32>
  %S = replay.load_state %slot : <128, 128, f32>
  %y = replay.read %S, %q : (!replay.state<128, 128, f32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  replay.store_out %y as bf16 : tensor<1x128xf32>
}

// No state: one warp; forced fields mean nothing either.
// CHECK-LABEL: replay.kernel @cursors
// CHECK-SAME: tiling <bv = 128, bc = 8, warps = 1, copy = direct, unroll = 1>
// FORCED-LABEL: replay.kernel @cursors
// FORCED-SAME: tiling <bv = 128, bc = 8, warps = 1, copy = direct, unroll = 1>
replay.kernel @cursors shape <H = 2, HV = 4, K = 128, V = 128> null lt0 ring #ring {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(16)
  replay.set_cursor "wp" %ring, %wp
}

// A tiling that the source gives is kept.
// CHECK-LABEL: replay.kernel @given
// CHECK-SAME: tiling <bv = 16, bc = 8, warps = 1, copy = bulk, unroll = 1>
replay.kernel @given shape <H = 2, HV = 4, K = 32, V = 48> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 16, bc = 8, warps = 1, copy = bulk, unroll = 1> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x32xf32>
  %S = replay.load_state %slot : <48, 32, f32>
  %y = replay.read %S, %q : (!replay.state<48, 32, f32>, tensor<1x32xf32>) -> tensor<1x48xf32>
  replay.store_out %y as bf16 : tensor<1x48xf32>
}


// A loop carries the state: it is in registers, at most 64 of a thread. Where it is
// needed on some paths only, no copy starts early.
// CHECK-LABEL: replay.kernel @carried
// CHECK-SAME: bc = 8, {{.*}}copy = direct, unroll = 1>
// FORCED-LABEL: replay.kernel @carried
// FORCED-SAME: tiling <bv = 16, bc = 8, warps = 1, copy = direct, unroll = 1>
replay.kernel @carried shape <H = 2, HV = 4, K = 128, V = 128> null lt0 window 4 kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %n = replay.load_row "accept_len"
  %S = replay.load_state %slot : <128, 128, f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %any = arith.cmpi sgt, %n, %c0 : index
  scf.if %any {
    %R = scf.for %t = %c0 to %n step %c1 iter_args(%s = %S) -> (!replay.state<128, 128, f32>) {
      %k = replay.load_token "k" window(%t, %c1) : tensor<1x128xf32>
      %y = replay.read %s, %k : (!replay.state<128, 128, f32>, tensor<1x128xf32>) -> tensor<1x128xf32>
      %s1 = replay.rank1 %s, %y, %k : <128, 128, f32>, tensor<1x128xf32>, tensor<1x128xf32>
      scf.yield %s1 : !replay.state<128, 128, f32>
    }
    replay.store_state %R, %slot : <128, 128, f32>
  }
}
