// RUN: replayssm-opt %s -split-input-file -replay-split -replay-order -replay-place -replay-lower-to-tile | FileCheck %s

// Cursors are brought into their ranges where they are loaded; the host device is told first.
// CHECK-LABEL: gpu.func @cursor
// CHECK: scf.if
// CHECK: %[[GIVEN:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: %[[LOW:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[HIGH:.*]] = arith.constant 3 : i32
// CHECK: tile.expect "wp" %[[GIVEN]] in %[[LOW]] to %[[HIGH]]
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[GIVEN]], %[[LOW]] : i32
// CHECK: %[[WP:.*]] = arith.minsi %[[LEAST]], %[[HIGH]] : i32
// CHECK: arith.index_cast %[[WP]] : i32 to index
#ring = #replay.ring<4, [<"d", f32, value, V>]>
replay.kernel @cursor shape <H = 1, HV = 1, K = 32, V = 32> null lt0 ring #ring kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %wp, %flush = replay.cursor %ring wrap(4)
  replay.set_cursor "wp" %ring, %wp
}

// -----

// The most of each, a flag included; a row's length, for null rows too; a number of
// the row where it is live.
// CHECK-LABEL: gpu.func @window
// CHECK: %[[LENGTH:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK: tile.expect "query_start_loc[row + 1] - query_start_loc[row]" %[[LENGTH]] in %{{.*}} to %{{.*}}
// CHECK: scf.if
// CHECK: %[[L:.*]] = arith.constant 4 : i32
// CHECK: tile.expect "wp" %{{.*}} in %{{.*}} to %[[L]]
// CHECK: %[[LAST:.*]] = arith.constant 3 : i32
// CHECK: tile.expect "base" %{{.*}} in %{{.*}} to %[[LAST]]
// CHECK: %[[FLAG:.*]] = llvm.load %{{.*}} -> i8
// CHECK: %[[WIDE:.*]] = arith.extsi %[[FLAG]] : i8 to i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: tile.expect "is_flush" %[[WIDE]] in %{{.*}} to %[[ONE]]
// CHECK: tile.expect "accept_len"
#ring = #replay.ring<4, [<"d", f32, value, V>], circular>
replay.kernel @window shape <H = 1, HV = 1, K = 32, V = 32> null lt0 ring #ring window 2 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %first, %length = replay.window
  %wp = replay.load_slot "wp" %ring
  %base = replay.load_slot "base" %ring
  %flush = replay.load_slot "is_flush" %ring
  %n = replay.load_row "accept_len"
  %zero = arith.constant 0 : index
  replay.expect "accept_len" %n in %zero to %length
  replay.set_cursor "wp" %ring, %wp
  replay.set_cursor "base" %ring, %base
  replay.set_cursor "is_flush" %ring, %flush
}

// -----

// Slots lie any number of elements apart: addresses are of 64 bits.
// CHECK-LABEL: gpu.func @addresses
// CHECK-SAME: %[[STRIDE:[a-z0-9]+]]: i64) kernel
// CHECK: %[[SLOT:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK-NOT: arith.trunci
// CHECK: %[[AT:.*]] = arith.muli %[[SLOT]], %[[STRIDE]] : i64
// CHECK-NOT: arith.trunci
// CHECK: %[[FROM:.*]] = arith.addi %[[AT]], %{{.*}} : i64
// CHECK: tile.load %{{.*}}[%[[FROM]]]
replay.kernel @addresses shape <H = 1, HV = 2, K = 32, V = 32> null lt0 kred <lanes = 8, vec = 4>
    tiling <bv = 32, bc = 8, warps = 1, copy = direct, unroll = 1> {
  %slot, %ring, %live = replay.row
  %S = replay.load_state %slot : <32, 32, f32>
  replay.store_state %S, %slot : <32, 32, f32>
}
