"""The bitwise comparisons find faults that no bound on errors would show.

Usage: bitwise-faults.py <replayssm-opt> <replayssm-run> <temporary file>
"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from faults import seed_faults

COMMON = "H=1,HV=2,K=32,V=16,io=f32,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
FMA = r"( *)(%\w+) = math.fma (%[\w#]+), (%[\w#]+), (%[\w#]+) : (.*)\n"
TWO_ROUNDINGS = r"\1%product = arith.mulf \3, \4 : \6\n\1\2 = arith.addf %product, \5 : \6\n"
PITCH = r"( *)(%\w+) = arith.muli (%\w+), %c4_i64"
SHORT_PITCH = r"\1%pitch = arith.constant 3 : i64\n\1\2 = arith.muli \3, %pitch"
KERNELS = [  # title, stage, spec, faults: name, pattern, replacement
    ("verify", "fuse", "phase=verify,L=8,T=2,T_max=4,flush_at=commit,fold=records",
     [("rounds once more", FMA, TWO_ROUNDINGS)]),
    ("verify of trees", "tile", "phase=verify,L=8,T=3,T_max=4,flush_at=commit,fold=records,window=tree",
     [("takes rows of parents for as long as its window", PITCH, SHORT_PITCH)]),
    ("input replay", "tile", "phase=input_replay,T=3,T_max=4,window=tree",
     [("takes rows of paths for as long as its window", PITCH, SHORT_PITCH)]),
]


def verdict(result):
    found = re.search(r"FAILED: ([^']*), '", result.stdout)
    reported = re.search(r"expected ('\w+' of row) ", result.stderr)
    return found.group(1) if found else reported.group(1) if reported else None


def main():
    opt, run, path = sys.argv[1:4]
    line = [run, "bitwise", path, "--device=host", "--rows=4", "--seed=3"]
    for title, stage, spec, faults in KERNELS:
        for name, found in seed_faults(opt, path, title, stage, f"rule=gdn,{spec},{COMMON}", faults, line, verdict):
            print(f"{title}: {name}: {found or 'the same bits'}", flush=True)


main()
