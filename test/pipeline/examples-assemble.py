"""Compiles every example for every target and assembles the PTX where ptxas is
present: prints how many kernels were assembled, and fails on spills."""
import glob
import os
import re
import shutil
import subprocess
import sys

TARGETS = ["sm_90", "sm_90a", "sm_100a", "sm_100f"]
ENTRY = re.compile(r"Compiling entry function '(\w+)'")
RESOURCES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")


def assemble(ptxas, target, path):
    """(kernel, registers, stack and spill bytes) of each kernel, as ptxas reports them."""
    result = subprocess.run([ptxas, f"-arch={target}", "-v", path, "-o", path + ".cubin"],
                            capture_output=True, text=True)
    report = result.stdout + result.stderr
    if result.returncode:
        sys.exit(f"{path}: ptxas failed:\n{report}")
    kernels = []
    for entry in re.split(r"(?=Compiling entry function)", report)[1:]:
        memory, registers = RESOURCES.search(entry), REGISTERS.search(entry)
        if not memory or not registers:
            sys.exit(f"{path}: expected a report of registers and spills but got:\n{entry}")
        kernels.append((ENTRY.search(entry)[1], int(registers[1]), sum(map(int, memory.groups()))))
    return kernels


def main(compiler, examples, work):
    os.makedirs(work, exist_ok=True)
    ptxas = shutil.which("ptxas")
    sources = sorted(glob.glob(os.path.join(examples, "*.mlir")))
    if not sources:
        sys.exit(f"{examples}: no examples")
    compiled = assembled = spilled = most = 0
    for source in sources:
        for target in TARGETS:
            path = os.path.join(work, f"{os.path.basename(source)[:-5]}.{target}.ptx")
            subprocess.run([compiler, "--emit=ptx", f"--target={target}", source, "-o", path], check=True)
            with open(path) as file:
                entries = re.findall(r"\.visible \.entry (\w+)\(", file.read())
            if not entries:
                sys.exit(f"{path}: no kernel")
            compiled += len(entries)
            if not ptxas:
                continue
            kernels = assemble(ptxas, target, path)
            if sorted(name for name, _, _ in kernels) != sorted(entries):
                sys.exit(f"{path}: expected ptxas to report {entries} but got {kernels}")
            assembled += len(kernels)
            for name, registers, local in kernels:
                most = max(most, registers)
                if local:
                    spilled += 1
                    print(f"{path}: {name}: {local} bytes of stack and spills, {registers} registers")
    print(f"{len(sources)} examples, {len(TARGETS)} targets: {compiled} kernels compiled")
    if not ptxas:
        print("skipped: no ptxas, nothing was assembled")
        return 0
    print(f"{assembled} kernels assembled, {spilled} with spills, at most {most} registers")
    return 1 if spilled else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
