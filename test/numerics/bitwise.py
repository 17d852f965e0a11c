#!/usr/bin/env python3
"""Results depend on the kernel set alone: every tiling gives the same bits, and
replay with a ring of one record gives those of packed decode. That the bits of a
verified token depend on no later one, nor on its row's length, and that verify of
one token is replay, is part of every check of verify. That decode, snapshots, input
replay and folds by replay leave the same state is what `replayssm-run bitwise` finds
out; every tiling has to leave that one. It also compares every kernel with itself in
other batches, and kernels of windows with those compiled for fewer tokens: with f32
outputs, which hide no rounding."""
import argparse
import concurrent.futures
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
SMALL_SHAPES = [("gdn", 1, 2, 64, 32, "f32"), ("kda", 2, 2, 40, 24, "f32"), ("kda", 1, 2, 32, 16, "bf16")]
TILINGS = ["bv={V},warps=8", "bv={V},warps=4", "bv={V2},warps=4,copy=bulk", "bv={V2},warps=2,copy=direct",
           "bv=8,warps=1", "bv=8,warps=2,bc=8,unroll=2", "bc=8,copy=bulk,unroll=4"]

# Tensor cores take sixteen rows of the state, and all records of a ring.
MMA_TILINGS = ["copy=direct", "copy=bulk", "bv=8,warps=1,copy=direct", "bv=8,warps=1,copy=bulk", "bv={V},warps=4", "bv={V},warps=8"]


# Whole life cycles in other batches and, where they have windows, for every T.
CYCLES = ["packed", "replay,L=4", "verify,L=4,T_max=1,flush_at=commit,fold=records",
          "verify,L=8,T_max=3,flush_at=commit,fold=records", "verify,L=16,T_max=8,flush_at=commit,fold=records",
          "verify,L=16,T_max=8,flush_at=commit,fold=records,dot=mma", "verify,L=16,T_max=4,flush_at=verify,fold=records,dot=mma",
          "verify,L=16,T_max=4,flush_at=verify,fold=records", "verify,L=16,T_max=6,flush_at=verify,fold=replay,window=tree,dst=yes",
          "verify,L=16,T_max=4,flush_at=commit,fold=records,window=tree", "verify,L=16,T_max=8,flush_at=commit,fold=replay,window=tree",
          "fold,L=8,T_max=4,flush_at=every_commit,fold=replay,track=yes,dst=yes,window=tree",
          "fold,L=8,T_max=3,flush_at=commit,fold=records,track=yes", "snapshots,T_max=6,window=tree",
          "input_replay,T_max=6,window=tree", "input_replay,T_max=4,dst=yes"]


def digest(args, spec, tiling, command):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        line = [args.run, command, f"--device={args.device}", f"--spec={spec},{COMMON}", f"--rows={args.rows}",
                "--seed=11", f"--steps={args.steps}", "--flush-rate=0.1", f"--json={path}"]
        if tiling:
            line.append(f"--tiling={tiling}")
        if args.cache:
            line.append(f"--cache={args.cache}")
        result = subprocess.run(line, capture_output=True, text=True)
        if result.returncode != 0:
            # A tiling may be illegal for a shape; that must be said, not guessed.
            if "tiling" in result.stderr:
                return None
            print("FAIL", " ".join(line), result.stdout[-2000:], result.stderr[-2000:])
            return "failed"
        with open(path) as report:
            return json.load(report)["checks"][0]["report"]["digest"]


def compare(args, name, specs, tilings, command):
    """All of them agree, under all tilings that are legal for them; prints what does not."""
    digests, skipped = {}, 0
    for spec in specs:
        for tiling in tilings:
            value = digest(args, spec, tiling, command)
            if value is None:
                skipped += 1
            else:
                digests[(spec, tiling)] = value
    same = (len(set(digests.values())) == 1 and "failed" not in digests.values() and
            len(digests) >= min(3, len(tilings)) * len(specs))
    lines = [f"{'PASS' if same else 'FAIL'} {name}: {len(digests)} kernels agree, {skipped} tilings not legal here"]
    if not same:
        lines += [f"    {value} {' '.join(key)}" for key, value in digests.items()]
    print("\n".join(lines), flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--device", default="host", choices=["host", "cuda"])
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="groups at a time")
    parser.add_argument("--cache", metavar="DIR", help="compiled kernels are kept there (cuda)")
    args = parser.parse_args()
    groups = []
    for rule, H, HV, K, V, state in SHAPES:
        shape = f"H={H},HV={HV},K={K},V={V},state={state}"
        half = V // 2 if V % 2 == 0 else V
        for name, phases in [("packed = replay, L=1", ["packed", "replay,L=1"]), ("replay, L=4", ["replay,L=4"]),
                             ("verify and fold, T_max=3", [f"verify,L=8,T_max=3,{COMMIT}"]),
                             ("verify and fold, T_max=6", [f"verify,L=12,T_max=6,{COMMIT}"]),
                             ("verify and fold trees, T_max=5", [f"verify,L=10,T_max=5,{COMMIT},window=tree"]),
                             ("verify that folds, T_max=3", ["verify,L=12,T_max=3,flush_at=verify,fold=records"]),
                             ("verify that folds by replay, T_max=3", ["verify,L=12,T_max=3,flush_at=verify,fold=replay"]),
                             ("verify, T_max=6, on tensor cores", [f"verify,L=12,T_max=6,{COMMIT},dot=mma"]),
                             ("folds at every commit, T_max=5", ["fold,L=8,T_max=5,flush_at=every_commit,fold=records,track=yes,dst=yes"]),
                             ("decode = snapshots = input replay = folds by replay", ["snapshots,T_max=4"])]:
            command = "bitwise" if "snapshots" in name else "check"
            chosen = MMA_TILINGS if "tensor cores" in name else TILINGS
            tilings = [""] + [tiling.format(V=V, V2=half) for tiling in chosen]
            specs = [f"rule={rule},phase={phase},{shape}" for phase in phases]
            groups.append((f"{rule} {shape}: {name}", specs, tilings, command))
    # A GPU has time for all.
    for rule, H, HV, K, V, state in SMALL_SHAPES + (SHAPES if args.device == "cuda" else []):
        shape = f"H={H},HV={HV},K={K},V={V},state={state}"
        for phase in CYCLES:
            groups.append((f"{rule} {shape}: other batches, every T: {phase}",
                           [f"rule={rule},phase={phase},{shape},io=f32"], ["", "bv=8,warps=1"], "bitwise"))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda group: compare(args, *group), groups))
    passed, failed = results.count(True), results.count(False)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
