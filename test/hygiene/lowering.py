"""Patterns of the tile lowering look at one op and its operands: prints each walk and each
look at users in their files, and each of them that keeps something; fails on any."""
import os
import re
import sys

from comments import code_lines

FOLDER = "passes/tile"
LOOK = re.compile(r"\bget(?:Users|Uses)\s*\(|[.>]walk\s*[(<]|^\s*static\s+(?!const)[\w:<>]+\s+\w+(?:\s*=[^=]|\s*;)")


def main(root):
    found = files = 0
    for file in sorted(os.listdir(os.path.join(root, FOLDER))):
        if not file.startswith("LowerToTile"):
            continue
        files += 1
        for number, line in code_lines(os.path.join(root, FOLDER, file)):
            match = LOOK.search(line)
            if match:
                found += 1
                print(f"{FOLDER}/{file}:{number}: has '{match.group().strip()}'")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
