#!/usr/bin/env python3
"""Checks the life cycle verify -> compact -> cursors -> fold over a pairwise covering array.

As covering.py, for the kernels of window sets: windows, rings, where and from what
they are folded, shapes and variants; some cases with hard gates, and some of many forwards.
"""
import sys

sys.dont_write_bytecode = True
from covering import VARIANTS, check_line, run_suite

SEED = 20240611
COUNT = {"host": 93, "cuda": 91}

COMMON = {
    "rule": ["gdn", "kda"],
    "T": [1, 2, 3, 4, 5, 6, 7, 8, 9, 16],
    "L": [8, 11, 16, 24, 32, 48, 64],
    "flush_at": ["verify", "commit", "every_commit"],
    "fold": ["records", "replay"],
    "window": ["chain", "tree"],
    "track": ["no", "yes"],
    "dst": ["no", "yes"],
    "layers": ["one", "stride", "table"],
    **VARIANTS,
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


# Decays whose sums are all but lost in their prefix sums, or that vanish fast.
HARD = [
    {"rule": rule, "gate": gate, "gates": gates, "L": 32, "T": T, "flush_at": flush_at, "fold": fold}
    for rule in ["gdn", "kda"]
    for gate, gates in [("precomputed", "alternating"), ("safe", "strong")]
    for T, flush_at, fold in [(8, "verify", "records"), (5, "verify", "replay"), (4, "commit", "records"),
                              (16, "every_commit", "replay")]
]
# Rings that wrap several times.
LONG = [
    {"rule": rule, "gate": "softplus", "gates": "mixed", "L": L, "T": T, "flush_at": "verify", "fold": fold,
     "window": window, "heads": (1, 2), "dims": (8, 8), "steps": 40}
    for rule, L, T, fold, window in [("gdn", 11, 4, "records", "tree"), ("kda", 8, 3, "replay", "chain")]
]
HARD_REST = {
    "window": "chain", "track": "no", "dst": "no", "layers": "one", "state": "f32", "io": "bf16", "null": "lt0",
    "beta": "sigmoid_f32", "factor": 1, "flush": "0.2", "copy": "direct", "heads": (1, 2), "dims": (64, 32),
    "rows": 3, "landing": "issue", "schedule": "5", "perturb": "9",
}
FACTORS = {"host": dict(COMMON, **HOST), "cuda": dict(COMMON, **CUDA)}


def legal(case):
    # A window that is folded inside verify lies behind another one.
    windows = 2 if case.get("flush_at") == "verify" else 1
    if case.get("L", 64) < windows * case.get("T", 1):
        return False
    if case.get("layers", "one") != "one" and case.get("flush_at") == "verify":
        # Its compact alone may be of many layers, which stores no state.
        return case.get("window") != "chain" and case.get("dst") != "yes" and case.get("track") != "yes"
    return case.get("track") != "yes" or case.get("flush_at") != "verify"


def command(run, device, case, index):
    (H, HV), (K, V) = case["heads"], case["dims"]
    rows = case["rows"] if K * V < 65536 else min(case["rows"], 7)  # the oracle's time
    spec = {
        "rule": case["rule"], "phase": "verify", "H": H, "HV": HV, "K": K, "V": V, "L": case["L"],
        "T_max": case["T"], "gate": case["gate"], "beta": case["beta"], "beta_factor": case["factor"],
        "qk_norm": "l2_rsqrt", "null": case["null"], "state": case["state"], "io": case["io"],
        "flush_at": case["flush_at"], "fold": case["fold"], "window": case["window"],
    }
    # What goes elsewhere, and of how many layers a launch is, is said by the kernel that folds or
    # compacts; such a kernel is checked with its set.
    isLayered = case["layers"] != "one"
    if case["flush_at"] != "verify" and ("yes" in (case["track"], case["dst"]) or isLayered):
        spec.update(phase="fold", track=case["track"], dst=case["dst"], layers=case["layers"])
    elif isLayered:
        spec.update(phase="compact", layers=case["layers"])
    elif case["flush_at"] == "verify":
        spec["dst"] = case["dst"]
    if spec["phase"] == "verify":
        spec["T"] = max(case["T"] - index % 3, 1)  # also for fewer tokens than the set's
    if case["gate"] == "safe":
        spec["lower_bound"] = -5
    # About two natural folds of every row.
    steps = 2 * case["L"] // (case["T"] + 1) + 2
    return check_line(run, device, case, index, spec, rows, null_rate=0.2, steps=case.get("steps", min(steps, 12)))


if __name__ == "__main__":
    sys.exit(run_suite(__doc__, FACTORS, SEED, command, COUNT, legal, [dict(HARD_REST, **case) for case in HARD + LONG]))
