"""Each field of #replay.tiling, edited in the scheduled IR to every other legal
value that is effective, changes the instructions and still passes check."""
import json
import os
import re
import subprocess
import sys

COMMON = "gate=softplus,beta=sigmoid_f32,qk_norm=l2_rsqrt,null=lt0"
SHAPE = "H=1,HV=2,K=64,V=64"
# Kernel -> the fields that its instructions depend on.
KERNELS = {
    f"rule=gdn,phase=replay,{SHAPE},L=16": ["bv", "bc", "warps", "copy", "unroll"],
    f"rule=kda,phase=replay,{SHAPE},L=16": ["bv", "bc", "warps", "copy", "unroll"],
    f"rule=gdn,phase=packed,{SHAPE}": ["bv", "warps", "copy"],
    f"rule=gdn,phase=verify,{SHAPE},L=8,T_max=3,flush_at=commit,fold=records": ["bv", "warps", "copy", "unroll", "blocks", "sink"],
}
TILING = re.compile(r"tiling(?: #replay\.tiling)? ?<([^>]*)>")


def fields_of(text):
    return {"blocks": "1", "sink": "8", **dict(pair.split(" = ") for pair in TILING.search(text).group(1).split(", "))}


def with_fields(text, fields):
    body = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return TILING.sub(f"tiling <{body}>", text, count=1)


def instructions(ptx):
    """Instructions alone: no comments, directives, labels or names; every register
    of a class is alike, so that a mere renumbering does not count."""
    lines = []
    for line in re.sub(r"/\*.*?\*/", "", ptx, flags=re.DOTALL).split("\n"):
        line = line.split("//")[0].strip()
        if not line.endswith(";") or line.startswith("."):
            continue
        line = re.sub(r"\$L\w+", "LABEL", line)
        line = re.sub(r"(%[a-z]+)\d+", r"\1", line)
        lines.append(re.sub(r"\w+_param_(\d+)", r"param\1", line))
    return lines


class Tools:
    def __init__(self, compiler, runner, work):
        self.compiler, self.runner, self.work = compiler, runner, work
        os.makedirs(work, exist_ok=True)

    def path(self, name, text=None):
        path = os.path.join(self.work, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def call(self, *command):
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"failed: {' '.join(command)}\n{result.stdout}{result.stderr}")
        return result

    def emit(self, *options):
        return self.call(self.compiler, *options, "-o", "-").stdout

    def candidates(self, scheduled):
        """Every legal tiling, as the schedule lists them; it keeps a given one, so
        that has to be taken out."""
        free = self.path("free.mlir", TILING.sub("", scheduled, count=1))
        remarks = self.call(self.compiler, "--replay-schedule=print-candidates=true", free).stderr
        return [fields_of(line) for line in remarks.split("\n") if "remark: tiling" in line]

    def check(self, path):
        report = self.path("report.json")
        self.call(self.runner, "check", path, "--device=host", "--rows=1", "--steps=18",
                  "--seed=5", "--null-rate=0", f"--json={report}")
        with open(report) as file:
            (entry,) = json.load(file)["checks"]
        return entry["report"]["digest"]


def one_kernel(tools, spec, effective):
    scheduled = tools.emit("--emit=mlir", "--stop-after=schedule", f"--spec={spec},{COMMON}")
    given, legal = fields_of(scheduled), tools.candidates(scheduled)
    if given not in legal:
        sys.exit(f"{spec}: the chosen tiling {given} is not among the candidates")
    base = tools.path("base.mlir", scheduled)
    code, digest = instructions(tools.emit("--emit=ptx", base)), tools.check(base)
    changes = 0
    for field in given:
        others = [t for t in legal if t[field] != given[field]
                  and all(t[f] == given[f] for f in given if f != field)]
        if field not in effective:
            if others:
                sys.exit(f"{spec}: {field} has no effect but {len(others)} other values are listed")
            continue
        if not others:
            sys.exit(f"{spec}: no other value of {field} is legal beside {given}")
        for tiling in others:
            what = f"{spec}: {field} = {tiling[field]} (chosen: {given[field]})"
            edited = tools.path(f"{field}-{tiling[field]}.mlir", with_fields(scheduled, tiling))
            kept = fields_of(tools.emit("--emit=mlir", "--stop-after=schedule", edited))
            if kept != tiling:
                sys.exit(f"{what}: the schedule made it {kept}")
            ptx = tools.emit("--emit=ptx", edited)
            bound = re.search(r"^\.minnctapersm (\d+)", ptx, re.MULTILINE)
            if (bound[1] if bound else "1") != tiling["blocks"]:
                sys.exit(f"{what}: expected the blocks to be a bound in the PTX")
            if field != "blocks" and instructions(ptx) == code:
                sys.exit(f"{what}: the instructions are the same")
            if tools.check(edited) != digest:
                sys.exit(f"{what}: results differ in their bits")
            changes += 1
    return changes


def main(compiler, runner, work):
    tools = Tools(compiler, runner, work)
    for spec, effective in KERNELS.items():
        changes = one_kernel(tools, spec, effective)
        rule, phase = (pair.split("=")[1] for pair in spec.split(",")[:2])
        print(f"{rule} {phase}: {', '.join(effective)}: {changes} changes ok", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
