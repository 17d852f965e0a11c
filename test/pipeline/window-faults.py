"""The check of window sets finds faults that are put into the IR of their kernels.

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


def verdict(result):
    # A record that another block still reads is seen before any result is.
    return "found" if "FAILED: " in result.stdout else "race found" if "races with" in result.stderr else None


def main():
    opt, run, path = sys.argv[1:4]
    line = [run, "check", path, "--device=host", "--rows=5", "--steps=12", "--seed=3"]
    for title, spec, faults in SETS:
        for name, found in seed_faults(opt, path, title, "fuse", f"rule=gdn,{spec},{COMMON}", faults, line, verdict):
            print(f"{title}: {name}: {found or 'nothing found'}", flush=True)


main()
