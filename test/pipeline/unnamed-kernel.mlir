// A kernel that no derivation makes: three reads of the state, no flush, a fourth
// field in the record, and no layer, kind or spec. Nothing behind fuse may need them.

// RUN: replayssm-opt %s --emit=mlir --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// RUN: replayssm-opt %s --emit=mlir --stop-after=tile --target=sm_100a -o - | FileCheck %s --check-prefix=TILE
// RUN: %python %S/Inputs/unnamed-kernel.py > %t.vectors
// RUN: replayssm-run check %s --device=host --vectors=%t.vectors | FileCheck %s
// RUN: replayssm-run check %s --device=host --vectors=%t.vectors --tiling=bv=40,warps=5,bc=8 | FileCheck %s
// RUN: replayssm-run check %s --device=host --vectors=%t.vectors --tiling=bv=8,warps=2,bc=8,copy=bulk --schedule-seed=3 | FileCheck %s

// CHECK: PASS unnamed

// FUSE: replay.read %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
// TILE: #nvvm.target<O = 3, chip = "sm_100a">
// TILE: gpu.func @unnamed
// TILE-SAME: ["wp", "pointer", "i32"], ["state", "pointer", "f32"], ["d_ring", "pointer", "f32"], ["k_ring", "pointer", "f32"], ["g_ring", "pointer", "f32"], ["b_ring", "pointer", "f32"], ["mixed_qkv"
#ring = #replay.ring<11, [<"d", f32, value, V>, <"k", f32, key, K>, <"g", f32, value, one>, <"b", f32, value, one>]>
!state = !replay.state<40, 24, f32>
!records = !replay.records<#ring>

replay.kernel @unnamed shape <H = 2, HV = 4, K = 24, V = 40> null le0 ring #ring kred <lanes = 8, vec = 4> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(11)
  %q = replay.load_token "q" : tensor<1x24xbf16>
  %k = replay.load_token "k" : tensor<1x24xbf16>
  %v = replay.load_token "v" : tensor<1x40xbf16>
  %a = replay.load_token "a" : tensor<1x1xbf16>
  %b = replay.load_token "b" : tensor<1x1xbf16>
  %A = replay.load_param "A_log" : tensor<1x1xf32>
  %dt = replay.load_param "dt_bias" : tensor<1x1xf32>
  %S = replay.load_state %slot : !state
  %R = replay.load_ring %ring valid(%wp) : !records
  %g = replay.gate softplus(%a, %A, %dt) : (tensor<1x1xbf16>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %beta = replay.beta sigmoid_f32(%b) : (tensor<1x1xbf16>) -> tensor<1x1xf32>
  %qf = arith.extf %q : tensor<1x24xbf16> to tensor<1x24xf32>
  %kf = arith.extf %k : tensor<1x24xbf16> to tensor<1x24xf32>
  %vf = arith.extf %v : tensor<1x40xbf16> to tensor<1x40xf32>
  %qk = arith.mulf %qf, %kf : tensor<1x24xf32>
  %w, %tot = replay.ring_weights %R : (!records) -> (tensor<11x1xf32>, tensor<1x1xf32>)
  %s:3 = replay.read %S, %qf, %kf, %qk
      : (!state, tensor<1x24xf32>, tensor<1x24xf32>, tensor<1x24xf32>)
      -> (tensor<1x40xf32>, tensor<1x40xf32>, tensor<1x40xf32>)
  %r:3 = replay.ring_read %R, %w, %qf, %kf, %qk
      : (!records, tensor<11x1xf32>, tensor<1x24xf32>, tensor<1x24xf32>, tensor<1x24xf32>)
      -> (tensor<1x40xf32>, tensor<1x40xf32>, tensor<1x40xf32>)
  %decay = tile.broadcast %tot : tensor<1x1xf32> -> tensor<1x40xf32>
  %y0 = math.fma %decay, %s#0, %r#0 : tensor<1x40xf32>
  %y1 = math.fma %decay, %s#1, %r#1 : tensor<1x40xf32>
  %y2 = math.fma %decay, %s#2, %r#2 : tensor<1x40xf32>
  // out = y0 - y1 + beta (2 y2 + v), d = v - y1
  %two = arith.constant dense<2.0> : tensor<1x40xf32>
  %betas = tile.broadcast %beta : tensor<1x1xf32> -> tensor<1x40xf32>
  %inner = math.fma %two, %y2, %vf : tensor<1x40xf32>
  %difference = arith.subf %y0, %y1 : tensor<1x40xf32>
  %out = math.fma %betas, %inner, %difference : tensor<1x40xf32>
  %d = arith.subf %vf, %y1 : tensor<1x40xf32>
  replay.store_out %out as bf16 : tensor<1x40xf32>
  replay.append %ring, %wp ["d", "k", "g", "b"] %d, %qk, %g, %beta
      : tensor<1x40xf32>, tensor<1x24xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
