// RUN: replayssm-opt %s -split-input-file -verify-diagnostics -replay-split -replay-order -replay-place
// RUN: not replayssm-opt %s -replay-place="places=rows=regs" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not replayssm-opt %s -replay-place="places=columns=shared" 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not replayssm-opt %s -replay-place="places=gates=remat" 2>&1 | FileCheck %s --check-prefix=GATES
// RUN: not replayssm-opt %s -replay-place="places=columns=regs,gates=regs,columns=regs" 2>&1 | FileCheck %s --check-prefix=TWICE
// NAME: error: unknown place 'rows'; expected columns or gates
// VALUE: error: expected columns to be spread or regs but got 'shared'
// GATES: error: expected gates to be spread or regs but got 'remat'
// TWICE: error: expected place 'columns' once but got it twice

replay.kernel @column shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  // expected-error @below {{expected the place spread or regs but got shared}}
  %a = replay.load_token "a" window(%first, %length) {replay.place = #replay<place shared>} : tensor<2x1xf32>
}

// -----

replay.kernel @value shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  // expected-error @below {{expected the place regs but got spread}}
  %v = replay.load_token "v" window(%first, %length) {replay.place = #replay<place spread>} : tensor<2x8xf32>
}

// -----

replay.kernel @attribute shape <H = 1, HV = 1, K = 8, V = 8> null lt0 window 2 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %first, %length = replay.window
  // expected-error @below {{expected 'replay.place' to be a #replay.place}}
  %v = replay.load_token "v" window(%first, %length) {replay.place = "regs"} : tensor<2x8xf32>
}

// -----

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, K>]>
replay.kernel @weights shape <H = 1, HV = 1, K = 8, V = 8> null lt0 ring #ring kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp = replay.load_slot "wp" %ring
  %R = replay.load_ring %ring valid(%wp) : <#ring>
  // expected-error @below {{expected the place spread but got regs}}
  %w, %tot = replay.ring_weights %R {replay.place = #replay<place regs>} : (!replay.records<#ring>) -> (tensor<4x8xf32>, tensor<1x8xf32>)
}

// -----

replay.kernel @gate shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1>
    tiling <bv = 8, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %a = replay.load_token "a" : tensor<1x8xf32>
  // expected-error @below {{expected the place spread or regs but got shared}}
  %g = replay.gate precomputed(%a) {replay.place = #replay<place shared>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
}
