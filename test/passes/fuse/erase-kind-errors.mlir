// RUN: replayssm-opt %s -replay-erase-kind -verify-diagnostics

// expected-error @below {{expected a body with a shape and null: run replay-derive-kernels first}}
replay.kernel @request of @layer kind packed kred <lanes = 4, vec = 4> {}
