"""Kernel kinds and rule names may not be used behind fuse: prints each use, fails on any."""
import os
import re
import sys

from comments import code_lines

FOLDERS = ["passes/schedule", "passes/tile", "passes/gpu"]
# The enum and its accessors, the reference to a layer, and the names of kinds
# and rules in strings or identifiers.
USE = re.compile(
    r"\b(?:replay::)?Kind(?:Attr|Enum)?::|\b[gs]etKind(?:Attr)?\s*\(|\b[gs]etOf(?:Attr)?\s*\("
    r"|(?i:gdn|kda|packed|cursors)")


def main(root):
    found = 0
    for folder in FOLDERS:
        for base, _, files in sorted(os.walk(os.path.join(root, folder))):
            for file in sorted(files):
                path = os.path.join(base, file)
                for number, line in code_lines(path):
                    match = USE.search(line)
                    if match:
                        found += 1
                        print(f"{os.path.relpath(path, root)}:{number}: uses '{match.group().strip()}'")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
