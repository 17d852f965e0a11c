#!/usr/bin/env python3
"""Checks kernels over a pairwise covering array of shapes and variants.

Every pair of values of two different factors occurs in at least one case (where
the pair is legal). The array follows from the seed alone; its size is asserted,
so that a change of the factors shows.
"""
import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time

SEED = 20240607
COUNT = {"host": 41, "cuda": 50}

# What every kernel of a layer varies in.
VARIANTS = {
    "state": ["f32", "bf16"],
    "io": ["bf16", "f32"],
    "null": ["lt0", "le0"],
    "gate": ["softplus", "safe", "precomputed"],
    "beta": ["sigmoid_f32", "sigmoid_io", "precomputed"],
    "factor": [1, 2],
    "gates": ["mixed", "strong", "mild", "extreme"],
    "flush": ["0", "0.2"],
    "copy": ["direct", "bulk"],
}
COMMON = {
    "rule": ["gdn", "kda"],
    "phase": ["packed", "replay"],
    "L": [1, 3, 8, 16, 32, 64],
    "dst": ["no", "yes"],
    **VARIANTS,
}
# Heads and dims are small on the host device: it runs every thread of every block.
HOST = {
    "heads": [(1, 1), (1, 2), (2, 6), (2, 2)],
    "dims": [(128, 128), (96, 80), (64, 32), (8, 8), (24, 200), (256, 16)],
    "rows": [1, 3],
    "landing": ["issue", "wait"],
    "schedule": ["0", "5"],
    "perturb": ["0", "9"],
}
CUDA = {
    "heads": [(16, 32), (16, 48), (4, 16), (2, 6), (32, 32), (12, 12), (5, 15)],
    "dims": [(128, 128), (96, 80), (64, 32), (8, 8), (24, 200), (256, 256)],
    "rows": [1, 3, 7, 64],
}


def legal(case):
    """Combinations that the specification has no meaning for."""
    if case.get("phase") == "packed" and case.get("flush") == "0.2":
        return False
    if case.get("phase") == "packed" and case.get("L", 1) != 1:
        return False
    return True


def covering_array(factors, seed, legal=legal):
    rng = random.Random(seed)
    names = list(factors)
    pairs = set()
    for a, b in itertools.combinations(names, 2):
        for x in factors[a]:
            for y in factors[b]:
                if legal({a: x, b: y}):
                    pairs.add((a, x, b, y))
    cases = []
    while pairs:
        best, best_cover = None, set()
        for _ in range(60):
            seed_pair = rng.choice(sorted(pairs, key=repr))
            case = {seed_pair[0]: seed_pair[1], seed_pair[2]: seed_pair[3]}
            rest = [n for n in names if n not in case]
            rng.shuffle(rest)
            for name in rest:
                options = []
                for value in factors[name]:
                    trial = dict(case, **{name: value})
                    if not legal(trial):
                        continue
                    gain = sum(
                        1
                        for other, v in case.items()
                        if ((name, value, other, v) in pairs or (other, v, name, value) in pairs)
                    )
                    options.append((gain, rng.random(), value))
                if not options:
                    case = None
                    break
                case[name] = max(options, key=lambda o: (o[0], o[1]))[2]
            if case is None or not legal(case):
                continue
            cover = {
                (a, case[a], b, case[b])
                for a, b in itertools.combinations(names, 2)
                if (a, case[a], b, case[b]) in pairs
            }
            if len(cover) > len(best_cover):
                best, best_cover = case, cover
        if best is None:
            sys.exit("covering array: a pair is part of no legal case")
        cases.append(best)
        pairs -= best_cover
    return cases
FACTORS = {"host": dict(COMMON, **HOST), "cuda": dict(COMMON, **CUDA)}


def command(run, device, case, index):
    (H, HV), (K, V) = case["heads"], case["dims"]
    spec = {
        "rule": case["rule"], "phase": case["phase"], "H": H, "HV": HV, "K": K, "V": V,
        "gate": case["gate"], "beta": case["beta"], "beta_factor": case["factor"], "qk_norm": "l2_rsqrt", "null": case["null"],
        "state": case["state"], "io": case["io"], "dst": case["dst"],
    }
    if case["gate"] == "safe":
        spec["lower_bound"] = -5
    if case["phase"] == "replay":
        spec["L"] = case["L"]
    steps = None if device == "cuda" else 4 if case["phase"] == "packed" else case["L"] + 3
    return check_line(run, device, case, index, spec, case["rows"], null_rate=0.3, steps=steps)


def check_line(run, device, case, index, spec, rows, null_rate, steps):
    """One check; spread over the checkers of the host device too."""
    line = [
        run, "check", "--spec=" + ",".join(f"{k}={v}" for k, v in spec.items()),
        f"--device={device}", f"--rows={rows}", f"--seed={index + 1}",
        f"--flush-rate={case['flush']}", f"--null-rate={null_rate}", f"--gates={case['gates']}",
        f"--tiling=copy={case['copy']}",
    ]
    if device == "host":
        line += [
            f"--landing={case['landing']}", f"--schedule-seed={case['schedule']}",
            f"--perturb-seed={case['perturb']}",
        ]
    return line + ([f"--steps={steps}"] if steps else [])


def run_suite(doc, factors, seed, command, count, legal=None, extra=()):
    """`factors` and `count` by device; `extra` are cases beside the array. The status of the script."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--run", required=True, help="replayssm-run")
    parser.add_argument("--device", default="host", choices=["host", "cuda"])
    parser.add_argument("--list", action="store_true", help="print the commands only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th case")
    parser.add_argument("--cache", metavar="DIR", help="compiled kernels are kept there (cuda)")
    parser.add_argument("--compile-only", metavar="CHIP",
                        help="only compile the array of --device=cuda into --cache, for this chip; needs no GPU")
    parser.add_argument("--digests", metavar="FILE",
                        help="hashes of every buffer behind every launch: compared with those of FILE, or kept there "
                             "where it has none of this array")
    args = parser.parse_args()
    if args.digests and args.compile_only:
        parser.error("--digests needs a run, not --compile-only")
    if args.compile_only and not args.cache:
        parser.error("--compile-only needs --cache=<folder>")
    if args.compile_only and args.device != "cuda":
        parser.error("--compile-only needs --device=cuda: the host device always compiles")
    cases = covering_array(factors[args.device], seed, *([legal] if legal else [])) + list(extra)
    print(f"covering array: seed {seed}, {len(cases)} cases, device {args.device}", flush=True)
    lines = [command(args.run, args.device, case, i) for i, case in enumerate(cases)]
    if args.cache:
        lines = [cached(line, args) for line in lines]
    return run_all(lines, args, count[args.device], os.path.basename(sys.argv[0]))


def cached(line, args):
    """The check with the cache, or its kernels compiled into it."""
    line = line + [f"--cache={args.cache}"]
    if not args.compile_only:
        return line
    return [part for part in line if part != f"--device={args.device}"] + ["--compile-only", f"--target={args.compile_only}"]


def other_bits(path, suite, found):
    """The cases whose hashes are not those kept; all are kept where none of the suite are."""
    kept = {}
    if os.path.exists(path):
        with open(path) as file:
            kept = json.load(file)
    if suite in kept:
        return [case for case, hashes in found.items() if kept[suite].get(case) != hashes]
    kept[suite] = found
    with open(path, "w") as file:
        json.dump(kept, file, indent=0, sort_keys=True)
        file.write("\n")
    return []


def run_all(lines, args, count, suite):
    """Runs every check; the status of the script."""
    if len(lines) != count:
        print(f"expected {count} cases but got {len(lines)}: update COUNT if the factors changed")
        return 1
    lines = lines[::args.every]
    if args.list:
        print("\n".join(" ".join(line) for line in lines))
        return 0
    from concurrent.futures import ThreadPoolExecutor

    def one(line):
        start = time.time()
        result = subprocess.run(line, capture_output=True, text=True)
        return line, result, time.time() - start

    failed, slowest, found, compiled, hashes = 0, [], 0, 0, {}
    with ThreadPoolExecutor(args.jobs) as pool:
        for line, result, seconds in pool.map(one, lines):
            slowest.append((seconds, line))
            if result.returncode != 0:
                failed += 1
                print("FAIL", " ".join(line[1:]))
                print(result.stdout[-3000:], result.stderr[-3000:], flush=True)
            case = " ".join(part for part in line[2:] if not part.startswith("--cache="))
            hashes[case] = re.findall(r", buffers ([0-9a-f]{16})$", result.stdout, re.MULTILINE)
            for counts in re.findall(r"^cache: (\d+) kernels found, (\d+) compiled$", result.stdout, re.MULTILINE):
                found, compiled = found + int(counts[0]), compiled + int(counts[1])
    for seconds, line in sorted(slowest, reverse=True)[:3]:
        print(f"slowest: {seconds:.1f} s  {line[2]} {line[4]}")
    if found + compiled:
        print(f"cache: {found} kernels found, {compiled} compiled")
    others = other_bits(args.digests, suite, hashes) if args.digests and not failed else []
    for case in others:
        print("OTHER BITS", case)
    print(f"{len(lines) - failed} passed, {failed} failed")
    return 1 if failed or others else 0


if __name__ == "__main__":
    sys.exit(run_suite(__doc__, FACTORS, SEED, command, COUNT))
