// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-place | FileCheck %s
// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place="places=columns=regs" | FileCheck %s --check-prefix=REGS

// Tokens along K go to shared memory behind every load; numbers of one token each are
// computed by one thread, and staged for the others; what is made of tokens is formed
// again at each use, but once for a read.
// CHECK-LABEL: replay.kernel @window
// CHECK: %[[K:.*]] = replay.load_token "k"
// CHECK: %[[A:.*]] = replay.load_token "a" {{.*}} {replay.place = #replay<place spread>}
// CHECK: replay.phase loads
// CHECK: replay.phase gates
// CHECK-NEXT: %[[KS:.*]] = replay.stage %[[K]] {replay.place = #replay<place shared>} : tensor<3x8xbf16> -> tensor<3x8xf32>
// CHECK: replay.phase tokens
// CHECK-NEXT: %[[N:.*]] = replay.rnorm l2_rsqrt(%[[KS]]) {{.*}}replay.place = #replay<place spread>
// CHECK-NEXT: %[[NA:.*]] = arith.mulf %[[N]], %[[A]] {replay.place = #replay<place spread>}
// CHECK-NEXT: %[[NAS:.*]] = replay.stage %[[NA]] {replay.place = #replay<place shared>} : tensor<3x1xf32> -> tensor<3x1xf32>
// CHECK-NEXT: %[[R:.*]] = tile.broadcast %[[NAS]]
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[KS]], %[[R]] {replay.place = #replay<place remat>}
// CHECK-NEXT: %[[XS:.*]] = replay.stage %[[X]] {replay.place = #replay<place shared>}
// CHECK-NEXT: replay.phase pairs
// CHECK-NEXT: %[[P:.*]] = replay.scores %[[KS]], %[[XS]] {{.*}} {replay.place = #replay<place shared>}
// CHECK: replay.phase reads
// CHECK-NEXT: %[[Y:.*]] = replay.read %{{.*}}, %[[XS]] {replay.place = #replay<place shared>}
// CHECK-NEXT: replay.apply_scores %[[P]], %[[Y]] :
// CHECK: } else {
// CHECK-NEXT: arith.constant {replay.place = #replay<place remat>}
// What need not be spread is not where it is told so: every thread has all of it.
// REGS-LABEL: replay.kernel @window
// REGS: replay.load_token "a" window(%{{.*}}, %{{.*}}) : tensor<3x1xf32>
// REGS-NOT: #replay<place spread>
// REGS: tile.broadcast
replay.kernel @window shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 3 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %k = replay.load_token "k" window(%first, %length) : tensor<3x8xbf16>
  %a = replay.load_token "a" window(%first, %length) : tensor<3x1xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %n = replay.rnorm l2_rsqrt(%k) {eps = 1.0e-6 : f64} : (tensor<3x8xbf16>) -> tensor<3x1xf32>
  %na = arith.mulf %n, %a : tensor<3x1xf32>
  %kf = arith.extf %k : tensor<3x8xbf16> to tensor<3x8xf32>
  %r = tile.broadcast %na : tensor<3x1xf32> -> tensor<3x8xf32>
  %x = arith.mulf %kf, %r : tensor<3x8xf32>
  %P = replay.scores %kf, %x gated %a : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  %y = replay.read %S, %x : (!replay.state<8, 8, f32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %o = replay.apply_scores %P, %y : (tensor<3x3xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<3x8xf32>
}

// -----

// As many tokens as stand one behind another leave what they read in registers. A place
// that the source gives is kept.
// CHECK-LABEL: replay.kernel @few
// CHECK: replay.load_token "a" {{.*}} {replay.place = #replay<place regs>}
// CHECK: replay.stage %{{.*}} : tensor<2x8xf32> -> tensor<2x8xf32>
// CHECK: replay.read %{{.*}}, %{{.*}} : (
replay.kernel @few shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 2> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %q = replay.load_token "q" window(%first, %length) : tensor<2x8xf32>
  %a = replay.load_token "a" window(%first, %length) {replay.place = #replay<place regs>} : tensor<2x1xf32>
  %S = replay.load_state %slot : <8, 8, f32>
  %y = replay.read %S, %q : (!replay.state<8, 8, f32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %b = tile.broadcast %a : tensor<2x1xf32> -> tensor<2x8xf32>
  %o = arith.mulf %b, %y : tensor<2x8xf32>
  replay.store_out %o as f32 window(%first, %length) : tensor<2x8xf32>
}

// -----

// Where its own dtype is asked for, a token is rounded to it again: what it was.
// CHECK-LABEL: replay.kernel @own_dtype
// CHECK: %[[S:.*]] = replay.stage
// CHECK: %[[K:.*]] = arith.truncf %[[S]] {replay.place = #replay<place remat>}
// CHECK: replay.append %{{.*}}, %{{.*}} ["raw_k"] %[[K]]
#ring = #replay.ring<4, [<"raw_k", bf16, key, K>]>
replay.kernel @own_dtype shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %k = replay.load_token "k" window(%first, %length) : tensor<2x8xbf16>
  replay.append %ring, %wp ["raw_k"] %k rows(%length) : tensor<2x8xbf16>
}
