#!/usr/bin/env python3
"""Compares the registers that the schedule estimates with those that ptxas uses.

An estimate is within a factor of 1.5, both ways, of what ptxas takes; both in the units of
8 in which a chip gives registers away, and the estimate no more than ptxas may take. One
that is more than that means spills. With --arrays every kernel of the covering arrays is
compared too, which takes minutes.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

COMMON = "gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
SHAPES = ["rule=gdn,H=16,HV=32,K=128,V=128", "rule=kda,H=32,HV=32,K=128,V=128"]
KERNELS = [
    "phase=packed",
    "phase=replay,L=16,state=bf16",
    "phase=snapshots,T_max=4",
    "phase=input_replay,T_max=4",
    "phase=verify,L=16,T_max=4,flush_at=commit,fold=records,state=bf16",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records",
    "phase=verify,L=32,T_max=8,flush_at=verify,fold=records",
    "phase=verify,L=16,T_max=4,flush_at=verify,fold=replay",
    "phase=verify,L=32,T_max=8,flush_at=commit,fold=records,window=tree",
    "phase=fold,L=32,T_max=8,flush_at=commit,fold=records",
    "phase=fold,L=16,T_max=4,flush_at=commit,fold=replay",
]
EXAMPLES = ["gdn.mlir", "kda.mlir", "gdn-odd.mlir"]
FACTOR = 1.5
FEW_BYTES = 48  # of local memory: as good as none
CHOSEN = re.compile(r"remark: tiling #replay\.tiling<([^>]*)>: (\d+) registers.*\(chosen\)$", re.MULTILINE)
RESOURCES = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers", re.DOTALL)


def array_cases(folder):
    """(arguments, tiling) of every kernel of the covering arrays: with each fold its verify, and back."""
    for script in ["covering.py", "covering_verify.py", "covering_recurrent.py"]:
        listed = subprocess.run([sys.executable, os.path.join(folder, script), "--run=replayssm-run", "--device=cuda", "--list"],
                                check=True, capture_output=True, text=True).stdout
        for line in listed.splitlines()[1:]:
            spec, tiling = re.search(r"--spec=(\S+)", line)[1], re.search(r"--tiling=(\S+)", line)[1]
            phase = re.search(r"phase=(\w+)", spec)[1]
            yield f"--spec={spec}", tiling
            if phase in ("fold", "compact"):
                spec = re.sub(r",(layers|track|dst)=\w+", "", spec)
                yield "--spec=" + spec.replace(f"phase={phase}", "phase=verify"), tiling
            elif phase == "verify" and "flush_at=verify" not in spec:
                yield "--spec=" + re.sub(r",T=\d+", "", spec).replace("phase=verify", "phase=fold"), tiling


def cap(tiling):
    """What a thread may have: a bound on blocks is one on registers."""
    number = lambda name: int((re.search(name + r" = (\d+)", tiling) or [0, 1])[1])
    blocks = number("blocks")
    warps = -(-number("warps") * blocks // 4)  # of a scheduler, which has a quarter of 65536
    return 255 if blocks == 1 else min(255, 65536 // 4 // (warps * 32) // 8 * 8)


def fault(estimate, most, registers, local):
    """What is wrong, or None."""
    up = lambda count: -(-count // 8) * 8
    said, used = up(min(estimate, most)), up(registers)
    if max(said, used) > FACTOR * min(said, used):
        return f"expected {registers} registers within a factor of {FACTOR}"
    if estimate > most and local <= FEW_BYTES:
        return f"expected at most {most} registers of a kernel without spills"
    return None


def compare(opt, work, case):
    """(kernel, estimate, registers, local bytes, fault) of each kernel."""
    (source, tiling), index = case

    def call(*args):
        result = subprocess.run(args, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"failed: {' '.join(args)}\n{result.stderr}")
        return result

    path = os.path.join(work, str(index))
    call(opt, "--emit=mlir", "--stop-after=fuse", source, "-o", path + ".mlir")
    forced = f" tiling={tiling}" if tiling else ""
    remarks = call(opt, f"-replay-schedule=print-candidates=true chip=sm_90a{forced}", path + ".mlir", "-o", os.devnull).stderr
    call(opt, "--emit=ptx", "--target=sm_90a", source, *([f"--tiling={tiling}"] if tiling else []), "-o", path + ".ptx")
    report = call("ptxas", "-arch=sm_90a", "-v", path + ".ptx", "-o", path + ".cubin")
    used = {name: (int(registers), int(local)) for name, local, registers in RESOURCES.findall(report.stdout + report.stderr)}
    with open(path + ".mlir") as file:
        names = re.findall(r"replay\.kernel @(\w+)", file.read())
    chosen = CHOSEN.findall(remarks)
    if not names or len(names) != len(chosen) or set(names) != set(used):
        sys.exit(f"{source}: expected kernels {names} but got {len(chosen)} tilings and {sorted(used)} of ptxas")
    found = []
    for name, (text, estimate) in zip(names, chosen):
        registers, local = used[name]
        what = f"{source} {name} <{text}>"
        found.append((what, int(estimate), registers, local, fault(int(estimate), cap(text), registers, local)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("opt", help="replayssm-opt")
    parser.add_argument("examples")
    parser.add_argument("--arrays", metavar="FOLDER", help="also the covering arrays of this folder, and all examples")
    parser.add_argument("--all", action="store_true", help="print every kernel")
    args = parser.parse_args()
    cases = [(f"--spec={shape},{kernel},{COMMON}", "") for shape in SHAPES for kernel in KERNELS]
    examples = EXAMPLES if not args.arrays else sorted(map(os.path.basename, glob.glob(os.path.join(args.examples, "*.mlir"))))
    cases += [(os.path.join(args.examples, name), "") for name in examples]
    if args.arrays:
        cases += array_cases(args.arrays)
    cases = list(dict.fromkeys(cases))
    faults = kernels = 0
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda case: compare(args.opt, work, case), zip(cases, range(len(cases)))):
            for what, estimate, registers, local, wrong in found:
                kernels, faults = kernels + 1, faults + bool(wrong)
                if wrong or args.all:
                    print(f"{what}: estimated {estimate}, used {registers}, {local} local bytes{': ' + wrong if wrong else ''}", flush=True)
    print(f"{kernels} kernels, {faults} estimates out of bounds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
