#!/usr/bin/env python3
"""Checks the kernels that run the recurrence token by token over a pairwise covering array.

As covering.py, for snapshots, input replay, and commit sets that fold by replay.
"""
import sys

sys.dont_write_bytecode = True
from covering import VARIANTS, check_line, run_suite

SEED = 20240619
COUNT = {"host": 41, "cuda": 50}

COMMON = {
    "rule": ["gdn", "kda"],
    "phase": ["snapshots", "input_replay", "verify"],
    "window": ["chain", "tree"],
    "dst": ["no", "yes"],
    "T": [1, 2, 3, 4, 5, 8, 16],
    **VARIANTS,
    "io": ["bf16", "f32", "f16"],
}
# Heads and dims are small on the host device: it runs every thread of every block.
HOST = {
    "heads": [(1, 1), (1, 2), (1, 3), (1, 4), (2, 2)],
    "dims": [(128, 16), (96, 80), (64, 32), (8, 8), (24, 40)],
    "rows": [1, 3],
    "landing": ["issue", "wait"],
    "schedule": ["0", "5"],
    "perturb": ["0", "9"],
}
CUDA = {
    "heads": [(16, 32), (16, 48), (4, 16), (2, 6), (32, 32), (5, 15)],
    "dims": [(128, 128), (96, 80), (64, 32), (8, 8), (24, 200), (256, 256)],
    "rows": [1, 3, 7, 64],
}


FACTORS = {"host": dict(COMMON, **HOST), "cuda": dict(COMMON, **CUDA)}


def legal(case):
    return case.get("dst") != "yes" or case.get("phase", "input_replay") == "input_replay"


def command(run, device, case, index):
    (H, HV), (K, V) = case["heads"], case["dims"]
    rows = case["rows"] if K * V < 65536 else min(case["rows"], 7)  # the oracle's time
    spec = {
        "rule": case["rule"], "phase": case["phase"], "H": H, "HV": HV, "K": K, "V": V, "T_max": case["T"],
        "gate": case["gate"], "beta": case["beta"], "beta_factor": case["factor"], "qk_norm": "l2_rsqrt",
        "null": case["null"], "state": case["state"], "io": case["io"], "window": case["window"],
    }
    spec["T"] = max(case["T"] - index % 3, 1)  # also for fewer tokens than the set's
    if case["gate"] == "safe":
        spec["lower_bound"] = -5
    if case["phase"] == "verify":
        spec.update(L=16, flush_at="commit", fold="replay")
    if case["dst"] == "yes":
        spec["dst"] = "yes"
    return check_line(run, device, case, index, spec, rows, null_rate=0.2, steps=6)


if __name__ == "__main__":
    sys.exit(run_suite(__doc__, FACTORS, SEED, command, COUNT, legal))
