// Where nothing that a kernel computes is stored, all of it is dead.
// RUN: replayssm-opt %s -verify-diagnostics -replay-expand-delta
// RUN: replayssm-opt %s -verify-diagnostics -replay-factor-scalars
// RUN: replayssm-opt %s -verify-diagnostics -replay-push-reads

// expected-error @below {{expected a body that stores something}}
replay.kernel @dead shape <H = 1, HV = 1, K = 8, V = 8> null lt0 kred <lanes = 8, vec = 1> {
  %q = replay.load_token "q" : tensor<1x8xf32>
}
