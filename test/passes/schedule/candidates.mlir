// RUN: replayssm-opt %s -replay-schedule="print-candidates=true" -o /dev/null 2>&1 | FileCheck %s

// Every legal tiling of a head of 80 rows is listed with its costs; one is chosen.
// Five warps fit 80 and 40 rows of a tile without padding, three never do.
// CHECK-NOT: warps = 3
// CHECK-DAG: remark: tiling #replay.tiling<bv = 80, bc = 8, warps = 5, copy = direct, unroll = 1>: {{[0-9]+}} registers, {{[0-9]+}} bytes shared, {{[0-9]+}} blocks per multiprocessor, {{[0-9]+}} bytes per block, {{[0-9.]+}} waves, {{[0-9.]+}} us for 128 rows
// CHECK-DAG: remark: tiling #replay.tiling<bv = 16, bc = 8, warps = 4, copy = bulk, unroll = 1>
// CHECK-DAG: (chosen)
// CHECK-NOT: warps = 3
// CHECK-NOT: bv = 32
replay.kernel @odd shape <H = 2, HV = 6, K = 96, V = 80> null lt0 kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %q = replay.load_token "q" : tensor<1x96xf32>
  %S = replay.load_state %slot : <80, 96, f32>
  %y = replay.read %S, %q : (!replay.state<80, 96, f32>, tensor<1x96xf32>) -> tensor<1x80xf32>
  replay.store_out %y as bf16 : tensor<1x80xf32>
}
