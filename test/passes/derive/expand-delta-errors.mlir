// RUN: not replayssm-opt %s -replay-expand-delta=form=chunk 2>&1 | FileCheck %s

// CHECK: error: expected form window or unroll but got 'chunk'
module {}
