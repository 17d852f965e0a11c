// RUN: replayssm-opt %s -replay-erase-kind -verify-diagnostics

// expected-error @below {{expected a body: run replay-derive-kernels before}}
replay.kernel @request of @layer kind packed kred <lanes = 4, vec = 4> {}
