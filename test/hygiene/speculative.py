"""docs/speculative.md against the compiler: which kernels each set has, and which
kernels take which buffer."""
import itertools
import json
import os
import re
import subprocess
import sys

LAYER = "rule=kda,H=1,HV=1,K=16,V=8,L=4,T_max=2,gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
SETS = ["commit", "verify", "every_commit"]
KERNELS = ["reset", "verify", "compact", "cursors", "fold"]


def compile(opt, path, phase, flush_at, **others):
    """The names of the kernel's pointers, None if there is no such kernel."""
    keys = ",".join(f"{key}={value}" for key, value in others.items())
    spec = f"--spec={LAYER},phase={phase},flush_at={flush_at},{keys}"
    command = [opt, "--emit=llvm", "-o", "/dev/null", f"--manifest={path}", spec]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    with open(path) as file:
        (manifest,) = json.load(file)
    return {arg["name"] for arg in manifest["args"] if arg["kind"] == "pointer"}


def rows(text, heading):
    """The cells of the first table behind `heading`, without its two head lines."""
    table = re.search(r"^\|.*?(?=^[^|]|\Z)", text[text.index(f"\n## {heading}\n"):], re.MULTILINE | re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].strip().split("\n")[2:]]


def kernels(opt, path):
    """Which kernels take a buffer, and which sets have a kernel. A tree's kernel takes
    all that a chain's does."""
    takers, sets = {}, {kernel: set() for kernel in KERNELS}
    for kernel, flush_at, fold in itertools.product(KERNELS, SETS, ["records", "replay"]):
        more = {"track": "yes"} if kernel in ("cursors", "fold") and flush_at != "verify" else {}
        if kernel == "fold" or (kernel == "verify" and flush_at == "verify"):
            more["dst"] = "yes"
        names = compile(opt, path, kernel, flush_at, fold=fold, window="tree", **more)
        if names is None:
            continue
        sets[kernel].add(flush_at)
        for name in names:
            takers.setdefault(name, set()).add(kernel)
    return takers, sets


def faults(text, takers, sets):
    def compare(what, expected, got):
        if expected != got:
            yield f"{what}: expected {sorted(expected)} but got {sorted(got)}"

    launched = {}
    for cells in rows(text, "One forward"):
        if name := re.fullmatch(r"`(\w+)`", cells[0]):
            of = re.findall(r"\w+", cells[-1]) if cells[-1] != "all sets" else SETS
            launched[name[1]] = set(of) & set(SETS)
    yield from compare("'One forward'", set(KERNELS), set(launched))
    for kernel, of in launched.items():
        yield from compare(f"'One forward', {kernel}", sets[kernel], of)

    documented = {}
    for buffers, _, taken_by, _ in rows(text, "Who writes what"):
        for name in re.findall(r"`(\w+)`", buffers):
            documented[name] = set(taken_by.split(", "))
    yield from compare("'Who writes what'", set(takers), set(documented))
    for name in sorted(takers.keys() & documented.keys()):
        yield from compare(f"'Who writes what', {name}", takers[name], documented[name])


def main(opt, path, *documents):
    takers, sets = kernels(opt, path)
    failed = False
    for document in documents:
        with open(document) as file:
            found = list(faults(file.read(), takers, sets))
        failed |= bool(found)
        print(f"{os.path.basename(document)}: {len(found)} faults, {len(takers)} buffers of {len(KERNELS)} kernels", *found, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
