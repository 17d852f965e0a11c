"""common/Targets.cpp is the only list of chips: prints each place that has another.

Code names none of them; what is written for readers, and what tests go through, lists
all that the compiler lists, in its order.
"""
import os
import re
import subprocess
import sys

# Code that reads the table.
READERS = ["dialects", "passes", "lib", "runtime"]
WRITTEN = ["README.md", "CHANGELOG.md", "docs", "include", "tools", "scripts", "examples", "test"]
CHIP = r"\bsm_\d+[a-z]?\b"
# Three names or more; two may be a choice of them.
LIST = re.compile(rf"{CHIP}(?:[\s,`\"']*(?:and|or)?[\s`\"']*{CHIP}){{2,}}")


def files(root, folders):
    for folder in folders:
        path = os.path.join(root, folder)
        if os.path.isfile(path):
            yield folder
        for base, inner, names in os.walk(path):
            inner[:] = sorted(f for f in inner if f not in ("Inputs", "measurements"))
            yield from (os.path.relpath(os.path.join(base, name), root) for name in sorted(names)
                        if name.endswith((".cpp", ".h", ".td", ".md", ".py", ".mlir", ".test")))


def main(compiler, root):
    usage = subprocess.run([compiler, "--emit=ptx", "--help"], capture_output=True, text=True, check=True)
    known = re.findall(CHIP, re.search(r"--target +(.*);", usage.stdout).group(1))
    faults = 0
    for path in list(files(root, READERS)) + list(files(root, WRITTEN)):
        with open(os.path.join(root, path)) as file:
            text = file.read()
        faulty = []
        if path.split("/")[0] in READERS:
            faulty = [(m, "names a chip") for m in re.finditer(CHIP, text)]
        for match in LIST.finditer(text):
            if re.findall(CHIP, match.group()) != known:
                faulty.append((match, "lists other chips than " + ", ".join(known)))
        for match, what in faulty:
            faults += 1
            line = text.count("\n", 0, match.start()) + 1
            print(f"{path}:{line}: {what}: {' '.join(match.group().split())}")
    return 1 if faults or not known else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
