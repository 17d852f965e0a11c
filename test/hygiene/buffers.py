"""docs/abi.md lists the buffers of include/replayssm/KernelABI.h: prints each difference.

Names in their order, integers and flags as such, and what has a stride.
"""
import os
import re
import sys

ROW = re.compile(r'KernelBuffer\{"(\w+)", E::(\w+), Of::(\w+), (\w+), (\w+), (\w+)')
DTYPES = {"i32": "Index", "i8": "Flag"}


def declared(path):
    with open(path) as file:
        rows = ROW.findall(file.read())
    seen = []
    for name, element, entry, wide, strided, layered in rows:
        row = ("<field>_ring" if entry == "Record" else name, element, strided == "true")
        if row not in seen:
            seen.append(row)
    return seen


def documented(path):
    with open(path) as file:
        lines = [line.split("|")[1:-1] for line in file if line.startswith("| `")]
    rows = []
    for cells in (cells for cells in lines if len(cells) == 4):
        for name in re.findall(r"`([^`]+)`", cells[0]):
            element = DTYPES.get(cells[1].strip(), "Number")
            rows.append((name, element, "_stride`" in cells[3]))
    return rows


def main(header, document):
    code, text = declared(header), documented(document)
    for row in code:
        if row not in text:
            print(f"{os.path.basename(document)}: expected {row}")
    for row in text:
        if row not in code:
            print(f"{os.path.basename(document)}: unknown {row}")
    if sorted(code) == sorted(text) and code != text:
        print(f"{os.path.basename(document)}: expected the order of arguments")
    return 1 if code != text or not code else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
