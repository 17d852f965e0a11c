#!/usr/bin/env python3
"""Checks the kernels that run the recurrence token by token over a pairwise covering array.

As covering.py, for snapshots, input replay, and commit sets that fold by replay.
"""
import sys

sys.dont_write_bytecode = True
from covering import VARIANTS, check_line, run_suite
from covering_verify import CUDA, HOST

SEED = 20240619
COUNT = {"host": 41, "cuda": 53}

COMMON = {
    "rule": ["gdn", "kda"],
    "phase": ["snapshots", "input_replay", "verify"],
    "window": ["chain", "tree"],
    "dst": ["no", "yes"],
    "layers": ["one", "stride", "table"],
    "T": [1, 2, 3, 4, 5, 8, 16],
    **VARIANTS,
    "io": ["bf16", "f32", "f16"],
}
FACTORS = {"host": dict(COMMON, **HOST), "cuda": dict(COMMON, **CUDA)}


def legal(case):
    if case.get("layers", "one") != "one" and case.get("phase", "input_replay") == "snapshots":
        return False
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
        if case["layers"] != "one":
            spec.update(phase="fold", T=case["T"])
    if case["dst"] == "yes":
        spec["dst"] = "yes"
    if case["layers"] != "one":
        spec["layers"] = case["layers"]
    return check_line(run, device, case, index, spec, rows, null_rate=0.2, steps=6)


if __name__ == "__main__":
    sys.exit(run_suite(__doc__, FACTORS, SEED, command, COUNT, legal))
