"""Compiles every example for every target; assembles the PTX where ptxas is present."""
import glob
import json
import os
import subprocess
import sys

TARGETS = ["sm_90", "sm_90a", "sm_100a", "sm_100f"]


def main(compiler, examples, work, emit):
    os.makedirs(work, exist_ok=True)
    kernels = 0
    sources = sorted(glob.glob(os.path.join(examples, "*.mlir")))
    for source in sources:
        name = os.path.splitext(os.path.basename(source))[0]
        with open(source) as text:
            requests = sum(line.startswith("replay.kernel ") for line in text)
        for target in TARGETS:
            output = os.path.join(work, f"{name}.{target}.{emit}")
            manifest = output + ".json"
            subprocess.run([compiler, f"--emit={emit}", f"--target={target}", source,
                            "-o", output, f"--manifest={manifest}"], check=True)
            with open(manifest) as text:
                listed = json.load(text)
            if len(listed) != requests:
                sys.exit(f"{source}: expected {requests} kernels but got {len(listed)}")
            with open(output, "rb") as file:
                code = file.read()
            if emit == "ptx" and f".target {target}".encode() not in code:
                sys.exit(f"{output}: expected .target {target}")
            for kernel in listed:
                if kernel["name"].encode() not in code:
                    sys.exit(f"{output}: expected a kernel called {kernel['name']}")
            kernels += requests
    print(f"{len(sources)} examples, {len(TARGETS)} targets, {kernels} kernels: {emit} ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
