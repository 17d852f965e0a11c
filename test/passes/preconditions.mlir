// A pass on what an earlier one has not prepared names that one.

// RUN: not replayssm-opt %examples/gdn.mlir -replay-expand-delta 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-factor-scalars 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-push-reads 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-merge-reads 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-hoist-loads 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-erase-kind 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-schedule -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=DERIVE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=DERIVE
// DERIVE: error: 'replay.kernel' op expected a body with a shape and null: run replay-derive-kernels first

// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive-kernels -replay-schedule 2>&1 | FileCheck %s --check-prefix=EXPAND
// RUN: not replayssm-opt %examples/kda.mlir -replay-derive-kernels -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=EXPAND
// EXPAND: error: 'replay.{{l2norm|delta}}' op expected no layer ops in a kernel: run replay-expand-delta first

// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-split 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: error: 'replay.kernel' op expected a 'tiling': run replay-schedule first

// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-schedule -replay-order 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-schedule -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: error: 'replay.{{row|cursor}}' op expected a kernel whose composite ops are split: run replay-split first

// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-schedule -replay-split -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not replayssm-opt %examples/gdn.mlir -replay-derive -replay-schedule -replay-split -replay-place 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'replay.kernel' op expected the phases of its ops: run replay-order first

// RUN: not replayssm-opt %examples/gdn-verify.mlir -replay-derive -replay-fuse -replay-schedule -replay-split -replay-order -replay-lower-to-tile 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: 'replay.{{read|ring_read|scores}}' op expected staged tokens as operands: run replay-place first
