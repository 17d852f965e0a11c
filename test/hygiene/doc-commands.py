"""Runs the commands of README.md and docs/: lines of `sh` blocks, from the root.

Commands that cannot run inside a test stand in doc-commands-not-run.txt.
"""
import glob
import os
import re
import shutil
import subprocess
import sys


def commands(path):
    with open(path) as file:
        text = file.read()
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").split("\n"):
            if line.strip() and not line.startswith("#"):
                yield line.strip()


def main(root, build, work):
    root = os.path.abspath(root)
    # Outputs of the commands belong to the work folder, not to the sources.
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    for name in ["examples", "docs", "include", "test"]:
        os.symlink(os.path.join(root, name), os.path.join(work, name))
    os.symlink(build, os.path.join(work, "build"))
    with open(os.path.join(root, "test/hygiene/doc-commands-not-run.txt")) as file:
        skipped = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    unused, ran, failed = set(skipped), 0, 0
    for path in [os.path.join(root, "README.md")] + sorted(glob.glob(os.path.join(root, "docs/**/*.md"), recursive=True)):
        for command in commands(path):
            if command in skipped:
                unused.discard(command)
                continue
            ran += 1
            result = subprocess.run(command, shell=True, cwd=work, capture_output=True, text=True)
            if result.returncode:
                failed += 1
                print(f"{os.path.relpath(path, root)}: failed: {command}\n{result.stderr}")
    for command in sorted(unused):
        failed += 1
        print(f"doc-commands-not-run.txt: no document has: {command}")
    print(f"{ran} commands ran, {len(skipped)} are listed as not run")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
