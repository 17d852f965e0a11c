// RUN: replayssm-opt %s -split-input-file -replay-derive-kernels -verify-diagnostics

// expected-error @below {{expected 'of' to name a replay.layer but got @nowhere}}
replay.kernel @unknown of @nowhere kind packed kred <lanes = 4, vec = 4> {}
