#!/usr/bin/env python3
"""Checks sets of kernels that read on tensor cores (dot=mma) over the covering array of windows.

As covering_verify.py, every set with dot=mma; on the host device head dims of at most 64: it
multiplies the tiles of tensor cores number by number.
"""
import sys

sys.dont_write_bytecode = True
import covering_verify
from covering import run_suite

COUNT = {"host": 89, "cuda": 91}
HOST_DIMS = [(64, 64), (56, 48), (64, 32), (8, 8), (24, 40)]


def command(run, device, case, index):
    line = covering_verify.command(run, device, case, index)
    return [part + ",dot=mma" if part.startswith("--spec=") else part for part in line]


if __name__ == "__main__":
    factors = {device: dict(of) for device, of in covering_verify.FACTORS.items()}
    factors["host"]["dims"] = HOST_DIMS
    extra = [dict(covering_verify.HARD_REST, **case) for case in covering_verify.HARD + covering_verify.LONG]
    sys.exit(run_suite(__doc__, factors, covering_verify.SEED, command, COUNT, covering_verify.legal, extra))
