"""Checks which folder includes what: prints each violation and fails on any."""
import os
import re
import sys

PUBLIC = "replayssm/"
PUBLIC_C = "replayssm-c/"
STANDARD = "<standard>"
# Folder -> what its quoted or angled includes may begin with; the longest
# matching folder decides.
RULES = {
    "include": [STANDARD, PUBLIC, PUBLIC_C],
    "common": [STANDARD, "common/", "replayssm/Status.h"],
    "dialects": [STANDARD, "dialects/", "common/", "mlir/", "llvm/", "replayssm/KernelABI.h",
                 "replayssm/KernelSpec.h", "replayssm/Status.h"],
    "passes": [STANDARD, "passes/", "dialects/", "common/", "mlir/", "llvm/ADT/", "llvm/Support/",
               "replayssm/KernelABI.h", "replayssm/KernelSpec.h", "replayssm/Status.h"],
    "lib": [STANDARD, "lib/", "passes/", "dialects/", "common/", "mlir/", "llvm/", PUBLIC],
    "lib/Jit": [STANDARD, "lib/", "passes/", "dialects/", "common/", "runtime/", "mlir/", "llvm/",
                PUBLIC],
    # The host step emits calls of this C interface; no code of the runtime.
    "lib/Codegen": [STANDARD, "lib/", "passes/", "dialects/", "common/", "mlir/", "llvm/",
                    "runtime/host/HostABI.h", PUBLIC],
    "lib/CAPI": [STANDARD, "lib/", PUBLIC, PUBLIC_C],
    "lib/Import": [STANDARD, "lib/Import/", "common/", PUBLIC],
    "lib/Reference": [STANDARD, "lib/Reference/", PUBLIC],
    "runtime": [STANDARD, "runtime/", "common/", PUBLIC, PUBLIC_C],
    "tools": [STANDARD, "lib/", "runtime/", "common/", PUBLIC],
    "examples": [STANDARD, PUBLIC, PUBLIC_C],
}
# What the C and C++ libraries and the operating system offer.
SYSTEM = re.compile(r"^([a-z_0-9]+|[a-z_0-9]+\.h|(sys|linux|sanitizer)/[a-z_]+\.h)$")
NEVER = {"cuda.h", "cuda_runtime.h", "nvrtc.h", "nvml.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed(folder, kind, name, beside):
    if os.path.basename(name) in NEVER:
        return False
    rules = RULES[folder]
    if kind == "<" and SYSTEM.match(name):
        return STANDARD in rules
    # A tool may include files of its own folder.
    if folder.startswith("tools") and name.startswith("tools/"):
        return True
    # A program of several files may include those that lie beside it.
    if folder == "examples" and kind == '"' and "/" not in name and name in beside:
        return True
    return any(name.startswith(rule) for rule in rules if rule != STANDARD)


def folder_of(path):
    matches = [f for f in RULES if path.startswith(f + "/")]
    return max(matches, key=len) if matches else None


def main(root):
    violations = 0
    for base, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        for file in sorted(files):
            path = os.path.relpath(os.path.join(base, file), root)
            folder = folder_of(path)
            if not folder or not file.endswith((".h", ".cpp", ".c", ".def", ".inc")):
                continue
            with open(os.path.join(root, path)) as text:
                for number, line in enumerate(text, 1):
                    match = INCLUDE.match(line)
                    if match and not allowed(folder, *match.groups(), files):
                        violations += 1
                        print(f"{path}:{number}: {folder} may not include {match.group(2)}")
                    elif match and folder == "tools" and match.group(2).startswith("tools/") \
                            and path.split("/")[1] != match.group(2).split("/")[1]:
                        violations += 1
                        print(f"{path}:{number}: a tool may not include another tool")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
