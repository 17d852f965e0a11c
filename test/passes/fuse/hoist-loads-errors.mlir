// RUN: replayssm-opt %s -split-input-file -replay-hoist-loads -verify-diagnostics

#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>

// Two loaded values in one address.
replay.kernel @sum shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  // expected-note @below {{loaded here}}
  %slot, %ring, %live = replay.row
  %addr = arith.addi %slot, %ring : index
  // expected-error @below {{expected an address that depends on at most one loaded value but got 2}}
  %S = replay.load_state %addr : <8, 16, f32>
  replay.store_state %S, %slot : <8, 16, f32>
}

// -----

// A chain: wp is loaded from an address that was loaded.
#ring = #replay.ring<4, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>]>
replay.kernel @chain shape <H = 2, HV = 4, K = 16, V = 8> null lt0 ring #ring kred <lanes = 4, vec = 4> {
  // expected-note @below {{loaded here}}
  %slot, %ring, %live = replay.row
  // expected-note @below {{loaded here}}
  %wp, %flush = replay.cursor %ring wrap(4)
  // expected-error @below {{expected an address that depends on at most one loaded value but got 2}}
  %S = replay.load_state %wp : <8, 16, f32>
  replay.store_state %S, %slot : <8, 16, f32>
}

// -----

// An address that is only known behind a branch.
replay.kernel @branch shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> {
  %slot, %ring, %live = replay.row
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  // expected-note @below {{'scf.if' stays where it is}}
  %addr = scf.if %true -> index {
    scf.yield %c0 : index
  } else {
    scf.yield %c0 : index
  }
  // expected-error @below {{expected operands that can be computed before the first load}}
  %S = replay.load_state %addr : <8, 16, f32>
  replay.store_state %S, %slot : <8, 16, f32>
}
