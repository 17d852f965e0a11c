// Nothing changes when layers and requests agree.
// RUN: replayssm-opt %S/Inputs/layers.mlir -o %t.before
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-verify-layer -o %t.after
// RUN: diff %t.before %t.after
