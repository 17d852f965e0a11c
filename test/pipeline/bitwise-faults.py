"""The bitwise comparisons find faults that no bound on errors would show.

Usage: bitwise-faults.py <replayssm-opt> <replayssm-run> <temporary file>
"""
import re
import subprocess
import sys

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


def main():
    opt, run, path = sys.argv[1:4]
    for title, stage, spec, faults in KERNELS:
        line = [opt, "--emit=mlir", f"--stop-after={stage}", f"--spec=rule=gdn,{spec},{COMMON}"]
        text = subprocess.run(line, capture_output=True, text=True, check=True).stdout
        for name, pattern, replacement in [("as it is", None, None)] + faults:
            changed = re.sub(pattern, replacement, text, count=1) if pattern else text
            if pattern and changed == text:
                print(f"{title}: {name}: the pattern is not in the kernel\n{text}")
                continue
            with open(path, "w") as file:
                file.write(changed)
            result = subprocess.run([run, "bitwise", path, "--device=host", "--rows=4", "--seed=3"],
                                    capture_output=True, text=True)
            found = re.search(r"FAILED: ([^']*), '", result.stdout)
            if (result.returncode != 0) != bool(found):
                print(result.stdout, result.stderr)
            print(f"{title}: {name}: {found.group(1) if found else 'the same bits'}", flush=True)


main()
