// Whatever stage it is at, a kernel computes the recurrence (double precision, records that
// decay, every wp, forced flushes; ragged windows on checkpoint + ring).

// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-verify-layer -replay-derive-kernels -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta=form=unroll -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta -replay-push-reads -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta=form=unroll -replay-factor-scalars -replay-push-reads -replay-merge-reads -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s
// RUN: replayssm-opt %S/Inputs/layers.mlir -replay-derive-kernels -replay-expand-delta -replay-factor-scalars -replay-push-reads -canonicalize -cse -replay-merge-reads -replay-hoist-loads -replay-erase-kind -mlir-print-op-generic | %python %S/Inputs/evaluate.py | FileCheck %s

// CHECK: packed_gdn: agrees, 1 runs
// CHECK-NEXT: replay_gdn: agrees, 8 runs
// CHECK-NEXT: replay1_gdn: agrees, 1 runs
// CHECK-NEXT: cursors_gdn: agrees, 8 runs
// CHECK-NEXT: verify1_gdn: agrees, 16 runs
// CHECK-NEXT: verify1of2_gdn: agrees, 16 runs
// CHECK-NEXT: verify2_gdn: agrees, 24 runs
// CHECK-NEXT: verify3_gdn: agrees, 32 runs
// CHECK-NEXT: fold_gdn: agrees, 8 runs
// CHECK-NEXT: commit_gdn: agrees, 24 runs
// CHECK-NEXT: packed_kda: agrees, 1 runs
// CHECK-NEXT: replay_kda: agrees, 8 runs
// CHECK-NEXT: replay1_kda: agrees, 1 runs
// CHECK-NEXT: cursors_kda: agrees, 8 runs
// CHECK-NEXT: verify1_kda: agrees, 16 runs
// CHECK-NEXT: verify1of2_kda: agrees, 16 runs
// CHECK-NEXT: verify2_kda: agrees, 24 runs
// CHECK-NEXT: verify3_kda: agrees, 32 runs
// CHECK-NEXT: fold_kda: agrees, 8 runs
// CHECK-NEXT: commit_kda: agrees, 24 runs
