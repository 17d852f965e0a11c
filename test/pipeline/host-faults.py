"""Faults seeded into a replay kernel are found by the host device, with the op's place.

Edits are made in the text of a stage: a stride in the tile program, a barrier and
a store in the program of threads (the stage tile would put a barrier back).
"""
import os
import re
import subprocess
import sys

SPEC = ("phase=replay,H=1,HV=2,K=64,V=64,L=16,"
        "gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0")
# One warp: what a missing barrier leaves to chance is the order of its lanes.
TILING = "bv=16,warps=1,copy=direct"
PLACE = re.compile(r"(tile\.\w+) at ([^ ;,()]+):(\d+):(\d+)")


class Source:
    """One stage of one kernel, and the tile program that its places refer to."""

    def __init__(self, compiler, runner, work, rule):
        os.makedirs(work, exist_ok=True)
        self.compiler, self.runner, self.work, self.rule = compiler, runner, work, rule
        self.tile_path = os.path.join(work, f"{rule}.tile.mlir")
        self.tile = self.emit("tile", f"--spec=rule={rule},{SPEC}", f"--tiling={TILING}")
        self.write(self.tile_path, self.tile)
        self.threads = self.emit("gpu", self.tile_path)

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def emit(self, stage, *options):
        return subprocess.run([self.compiler, "--emit=mlir", f"--stop-after={stage}", *options, "-o", "-"],
                              check=True, capture_output=True, text=True).stdout

    def check(self, name, text):
        path = os.path.join(self.work, f"{self.rule}.{name}.mlir")
        self.write(path, text)
        result = subprocess.run([self.runner, "check", path, "--device=host", "--rows=1", "--steps=18",
                                 "--null-rate=0", "--flush-rate=0"], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr, path

    def passes(self, name, text):
        code, report, _ = self.check(name, text)
        if code:
            sys.exit(f"{self.rule} {name}: expected a pass but got:\n{report}")

    def faults(self, name, text, message, op, places=None):
        """The check fails with `message`; the place that it names holds `op`."""
        code, report, path = self.check(name, text)
        if code == 0 or not re.search(message, report):
            sys.exit(f"{self.rule} {name}: expected '{message}' but got exit code {code}:\n{report}")
        found = PLACE.findall(report.split("thread")[-1])
        if not found:
            sys.exit(f"{self.rule} {name}: expected a place but got:\n{report}")
        name_there, file, line, _ = found[-1]
        with open(file) as lines:
            text_there = lines.read().split("\n")[int(line) - 1]
        if name_there != op or op not in text_there:
            sys.exit(f"{self.rule} {name}: expected {op} but {file}:{line} is: {text_there}")
        if os.path.abspath(file) not in (os.path.abspath(self.tile_path), os.path.abspath(path)):
            sys.exit(f"{self.rule} {name}: expected a place in the source but got {file}")
        print(f"{self.rule} {name}: {op}: found", flush=True)


RACES = {
    "gdn": r"shared load of .* reads shared memory that nothing has written",
    "kda": r"shared load of .* races with a store by thread \d+ \(tile\.store at .*\): no barrier between them",
}


def without(text, pattern, index):
    """`text` without the line of the `index`-th match of `pattern`."""
    lines = text.split("\n")
    hits = [i for i, line in enumerate(lines) if re.search(pattern, line)]
    if not hits:
        sys.exit(f"expected a line with '{pattern}'")
    del lines[hits[index]]
    return "\n".join(lines)


def edited(text, pattern, replacement):
    result, count = re.subn(pattern, replacement, text, count=1)
    if count != 1:
        sys.exit(f"expected a place with '{pattern}'")
    return result


def main(compiler, runner, work):
    for rule in ["gdn", "kda"]:
        source = Source(compiler, runner, work, rule)
        # The text of each stage is the kernel; no fault without an edit.
        source.passes("tile", source.tile)
        source.passes("threads", source.threads)
        if source.emit("gpu", os.path.join(work, f"{rule}.threads.mlir")) != source.threads:
            sys.exit(f"{rule}: the program of threads changes when it is read again")
        # The stage tile places barriers: one that is gone comes back.
        bare = os.path.join(work, f"{rule}.bare.mlir")
        source.write(bare, re.sub(r"\n *tile\.barrier", "", source.tile))
        if source.emit("tile", bare) != source.tile:
            sys.exit(f"{rule}: expected the barriers to be put back")

        # The first barrier stands between stores and loads. What a thread reads has been stored by another,
        # or by nobody yet.
        source.faults("race", without(source.threads, r"call @rssm\.barrier\(", 0), RACES[rule], "tile.load")
        source.faults("unwritten", without(source.threads, r"call @rssm\.st\.shared\.f32\(", 0),
                      "reads shared memory that nothing has written", "tile.load")
        state = r"(tile\.load %arg4\[%\d+\] strides \[)64(, 1\])"
        source.faults("stride", edited(source.tile, state, r"\g<1>1048576\2"),
                      "global load of 16 bytes is outside every live buffer", "tile.load")
        store = r"(tile\.store %\d+, %arg4\[%\d+\] strides \[)64(, 1\])"
        source.faults("store-stride", edited(source.tile, store, r"\g<1>1048576\2"),
                      "global store of 16 bytes is outside every live buffer", "tile.store")
        # Block 3 does what block 2 does: the report names block 2, neither its neighbour nor the first.
        number = r"(%\d+)( = arith\.index_cast %block_id_x : index to i32)"
        same = edited(source.tile, number, r"%all\2\n%two = arith.constant 2 : i32\n\1 = arith.minsi %all, %two : i32")
        source.faults("blocks", same, r"races with a store by thread \d+ of block \(2, 0\) \(tile\.store at [^)]*\); "
                      r"thread \d+ of block \(3, 0\)", "tile.store")


if __name__ == "__main__":
    main(*sys.argv[1:])
