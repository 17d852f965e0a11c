#!/usr/bin/env python3
"""Results depend on the kernel set alone: every tiling gives the same bits, and
replay with a ring of one record gives those of packed decode. That the bits of a
verified token depend on no later one, nor on its row's length, and that verify of
one token is replay, is part of every check of verify. That decode, snapshots, input
replay and folds by replay leave the same state is what `replayssm-run bitwise` finds
out; every tiling has to leave that one."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

COMMON = "gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
COMMIT = "flush_at=commit,fold=records"
SHAPES = [  # rule, H, HV, K, V, state
    ("gdn", 1, 2, 128, 128, "f32"),
    ("kda", 2, 2, 128, 128, "f32"),
    ("gdn", 1, 3, 96, 80, "bf16"),
    ("kda", 1, 1, 24, 40, "f32"),
]
TILINGS = ["bv={V},warps=8", "bv={V},warps=4", "bv={V2},warps=4,copy=bulk", "bv={V2},warps=2,copy=direct",
           "bv=8,warps=1", "bv=8,warps=2,bc=8,unroll=2", "bc=8,copy=bulk,unroll=4"]


def digest(args, spec, tiling):
    command = "bitwise" if "phase=snapshots" in spec else "check"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        line = [args.run, command, f"--device={args.device}", f"--spec={spec},{COMMON}", f"--rows={args.rows}",
                "--seed=11", f"--steps={args.steps}", "--flush-rate=0.1", f"--json={path}"]
        if tiling:
            line.append(f"--tiling={tiling}")
        result = subprocess.run(line, capture_output=True, text=True)
        if result.returncode != 0:
            # A tiling may be illegal for a shape; that must be said, not guessed.
            if "tiling" in result.stderr:
                return None
            print("FAIL", " ".join(line), result.stdout[-2000:], result.stderr[-2000:])
            return "failed"
        with open(path) as report:
            return json.load(report)["checks"][0]["report"]["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--device", default="host", choices=["host", "cuda"])
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    passed = failed = 0
    for rule, H, HV, K, V, state in SHAPES:
        shape = f"H={H},HV={HV},K={K},V={V},state={state}"
        half = V // 2 if V % 2 == 0 else V
        for name, phases in [("packed = replay, L=1", ["packed", "replay,L=1"]), ("replay, L=4", ["replay,L=4"]),
                             ("verify and fold, T_max=3", [f"verify,L=8,T_max=3,{COMMIT}"]),
                             ("verify and fold, T_max=6", [f"verify,L=12,T_max=6,{COMMIT}"]),
                             ("verify and fold trees, T_max=5", [f"verify,L=10,T_max=5,{COMMIT},window=tree"]),
                             ("verify that folds, T_max=3", ["verify,L=12,T_max=3,flush_at=verify,fold=records"]),
                             ("verify that folds by replay, T_max=3", ["verify,L=12,T_max=3,flush_at=verify,fold=replay"]),
                             ("folds at every commit, T_max=5", ["fold,L=8,T_max=5,flush_at=every_commit,fold=records,track=yes,dst=yes"]),
                             ("decode = snapshots = input replay = folds by replay", ["snapshots,T_max=4"])]:
            digests, skipped = {}, 0
            for phase in phases:
                for tiling in [""] + TILINGS:
                    tiling = tiling.format(V=V, V2=half)
                    value = digest(args, f"rule={rule},phase={phase},{shape}", tiling)
                    if value is None:
                        skipped += 1
                    else:
                        digests[(phase, tiling)] = value
            same = len(set(digests.values())) == 1 and "failed" not in digests.values() and len(digests) >= 3 * len(phases)
            passed, failed = passed + same, failed + (not same)
            print(f"{'PASS' if same else 'FAIL'} {rule} {shape}: {name}: {len(digests)} kernels agree, "
                  f"{skipped} tilings not legal here", flush=True)
            if not same:
                for key, value in digests.items():
                    print("   ", value, *key)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
