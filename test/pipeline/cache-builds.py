"""Compiles with one cache by a compiler and by others, each with one library of another build: a copy with another build id."""
import os
import struct
import subprocess
import sys

NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0"  # Of a SHA-1.


def libraries(compiler):
    """The library of this project, and those of LLVM where it does not hold them."""
    lines = subprocess.run(["ldd", compiler], capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [line.split()[2] for line in lines if "=> /" in line]
    return [path for path in paths if os.path.basename(path).startswith(("libreplayssm", "libMLIR", "libLLVM"))]


def rebuild(path, copy):
    with open(path, "rb") as file:
        code = bytearray(file.read())
    code[code.index(NOTE) + len(NOTE)] ^= 1
    with open(copy, "wb") as file:
        file.write(code)


def main(compiler, source, folder):
    cache = os.path.join(folder, "cache")

    def entries(preload=""):
        subprocess.run([compiler, "--emit=ptx", f"--cache={cache}", source], stdout=subprocess.DEVNULL, check=True,
                       env={**os.environ, "LD_PRELOAD": preload})
        return len(os.listdir(cache))

    counts = [entries(), entries()]
    for path in libraries(compiler):
        copy = os.path.join(folder, os.path.basename(path))
        rebuild(path, copy)
        counts += [entries(copy), entries(copy)]
        os.remove(copy)
    expected = [1 + i // 2 for i in range(len(counts))]
    if len(counts) < 4 or counts != expected:
        sys.exit(f"expected {expected} entries but got {counts}")
    print(f"{len(counts) // 2} builds, {counts[-1]} entries, {entries()} in the end")


if __name__ == "__main__":
    main(*sys.argv[1:])
