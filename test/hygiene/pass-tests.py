"""Every pass has a source file and a test of its name: prints what is missing."""
import glob
import os
import re
import sys


def camel(argument):
    return "".join(word.capitalize() for word in argument.split("-"))


def main(root):
    missing = 0
    with open(os.path.join(root, "passes/Passes.td")) as file:
        names = re.findall(r'^def \w+ : Pass<"replay-([\w-]+)"', file.read(), re.MULTILINE)
    for name in names:
        for pattern in [f"passes/*/{camel(name)}*.cpp", f"test/passes/*/{name}*.mlir"]:
            if not glob.glob(os.path.join(root, pattern)):
                missing += 1
                print(f"replay-{name}: expected {pattern}")
    # A test in the folder of another stage is not found by its readers.
    for test in glob.glob(os.path.join(root, "test/passes/*/*.mlir")):
        stage = os.path.basename(os.path.dirname(test))
        if not os.path.isdir(os.path.join(root, "passes", stage)):
            missing += 1
            print(f"{os.path.relpath(test, root)}: expected a folder of passes/")
    return 1 if missing or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
