// The output of a stage may be compiled again: nothing changes.
// RUN: replayssm-opt %S/../derive/Inputs/layers.mlir -replay-verify-layer -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -o %t.derive
// RUN: replayssm-opt %t.derive -replay-verify-layer -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -o %t.derive2
// RUN: diff %t.derive %t.derive2
// RUN: replayssm-opt %t.derive -replay-merge-reads -replay-hoist-loads -replay-erase-kind -o %t.fuse
// RUN: replayssm-opt %t.fuse -replay-verify-layer -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -replay-merge-reads -replay-hoist-loads -replay-erase-kind -o %t.fuse2
// RUN: diff %t.fuse %t.fuse2
