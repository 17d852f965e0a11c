// Without --emit replayssm-opt is an mlir-opt.
// RUN: replayssm-opt %s --canonicalize | FileCheck %s
// CHECK: module
module {}
