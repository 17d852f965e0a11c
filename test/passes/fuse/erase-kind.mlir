// RUN: replayssm-opt %s -replay-erase-kind | FileCheck %s

// CHECK: replay.kernel @derived shape <H = 2, HV = 4, K = 16, V = 8> null lt0 kred <lanes = 4, vec = 4> attributes {spec = "rule=gdn"} {
replay.kernel @derived of @layer kind packed shape <H = 2, HV = 4, K = 16, V = 8> null lt0
    kred <lanes = 4, vec = 4> attributes {spec = "rule=gdn"} {
  %slot, %ring, %live = replay.row
}
