"""Puts faults into the text of compiled kernels, one at a time, and says what a run finds."""
import re
import subprocess


def seed_faults(opt, path, title, stage, spec, faults, run, verdict):
    """`faults`: name, pattern, replacement; `run`: what runs the kernel in the file `path`;
    `verdict` of its result: what it found, or None. The kernel as it is comes first."""
    line = [opt, "--emit=mlir", f"--stop-after={stage}", f"--spec={spec}"]
    text = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    for name, pattern, replacement in [("as it is", None, None)] + faults:
        changed = re.sub(pattern, replacement, text, count=1) if pattern else text
        if pattern and changed == text:
            print(f"{title}: {name}: the pattern is not in the kernel\n{text}")
            continue
        with open(path, "w") as file:
            file.write(changed)
        result = subprocess.run(run, capture_output=True, text=True)
        found = verdict(result)
        if (result.returncode != 0) != bool(found):
            print(result.stdout, result.stderr)
        yield name, found
