"""The check of window sets finds faults that are put into the IR of their kernels, also of those for
many layers, and so does bitwise of those.

Usage: window-faults.py <replayssm-opt> <replayssm-run> <temporary file>
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from faults import seed_faults

COMMON = "H=1,HV=2,K=32,V=16,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
FLUSH = r"(%\w+) = arith.cmpi ne, (%\w+), (%\w+) : index\n( *)scf.if"
SETS = [
    ("verify that folds", "phase=verify,L=8,T_max=3,flush_at=verify,fold=records,dst=yes", [
        ("folds every row", FLUSH, r"\1 = arith.cmpi sge, \2, \3 : index\n\4scf.if"),
        ("never folds", FLUSH, r"\1 = arith.cmpi slt, \2, \3 : index\n\4scf.if"),
        ("folds beside tokens only", FLUSH,
         r"%flag = arith.cmpi ne, \2, \3 : index\n\4%some = arith.cmpi sgt, %length, \3 : index\n"
         r"\4\1 = arith.andi %flag, %some : i1\n\4scf.if"),
        ("reads from another base", r"(load_ring %ring valid\((%\w+)\) base\()%\w+", r"\1\2"),
        ("writes behind another base", r"(append %ring, (%\w+) .* base\()%\w+", r"\1\2"),
        ("reads other records", r"(load_slot \"base\".*\n *(%\w+) = .*\"is_flush\"(?:.*\n)*?.*load_ring %ring valid\()%\w+", r"\1\2"),
        ("overwrites the slot", r"(store_state %\w+, )%\w+", r"\1%slot"),
    ]),
    ("fold of tracked rows", "phase=fold,L=8,T_max=3,flush_at=commit,fold=records,track=yes,dst=yes", [
        ("takes another record", r"arith.addi (%\w+), %\w+ : index", r"arith.addi \1, \1 : index"),
        ("misses the first record", r"cmpi sge, (%\w+)", r"cmpi sgt, \1"),
        ("swaps the slots", r"(store_state %\w+, )(%\w+)((?:.*\n)*?.*store_state %\w+, )(%\w+)", r"\1\4\3\2"),
        ("overwrites the slot", r"(scf.if(?:.*\n)*.*store_state %\w+, )%\w+", r"\1%slot"),
    ]),
    ("fold of every window", "phase=fold,L=8,T_max=3,flush_at=every_commit,fold=records,track=yes", [
        ("folds all of the ring", r"(load_ring %ring valid\()(%\w+)", r"\1%c3"),
        ("stores nothing behind the tracked token", r"cmpi sge, (%\w+)", r"cmpi slt, \1"),
    ]),
]
# Of programs with addresses: %2 is the layer.
LAYERS = [
    ("fold by strides", "phase=fold,L=8,T_max=3,flush_at=commit,fold=records,layers=stride", [
        ("takes another stride", r"(arith.muli (%\w+), )%arg12", r"\1%arg13"),
        ("stores to the first layer", r"arith.muli (%\w+), %arg11 : i64", r"arith.subi \1, \1 : i64"),
        ("takes the gates of the first layer", r"arith.muli (%\w+), %arg14 : i64", r"arith.subi \1, \1 : i64"),
    ]),
    ("fold by tables", "phase=fold,L=8,T_max=3,flush_at=commit,fold=records,layers=table", [
        ("takes another table", r"getelementptr %arg5\[", r"getelementptr %arg4["),
        ("stores to the first layer", r"getelementptr %arg3\[(%\w+)\] : \(!llvm.ptr<1>, i64\)",
         r"getelementptr %arg3[0] : (!llvm.ptr<1>)"),
    ]),
]


def verdict(result):
    # A record that another block still reads, or an address behind the last one, is seen before any result is.
    return ("found" if "FAILED: " in result.stdout else "race found" if "races with" in result.stderr
            else "overrun found" if "outside every live buffer" in result.stderr else None)


def main():
    opt, run, path = sys.argv[1:4]
    line = [run, "check", path, "--device=host", "--rows=5", "--steps=12", "--seed=3"]
    for title, spec, faults in SETS:
        for name, found in seed_faults(opt, path, title, "fuse", f"rule=gdn,{spec},{COMMON}", faults, line, verdict):
            print(f"{title}: {name}: {found or 'nothing found'}", flush=True)
    for command in ["check", "bitwise"]:
        line = [run, command, path, "--device=host", "--rows=3", "--steps=6", "--seed=3"]
        for title, spec, faults in LAYERS:
            for name, found in seed_faults(opt, path, title, "tile", f"rule=gdn,{spec},{COMMON}", faults, line, verdict):
                print(f"{command}, {title}: {name}: {found or 'nothing found'}", flush=True)


main()
