"""Every diagnostic of the sources is expected by a test: prints those that are not.

A site is a call that makes an error; its text is the longest literal of the
statement. Texts of diagnostics-untested.txt are known to be out of reach.
"""
import os
import re
import sys

FOLDERS = ["dialects", "passes", "lib", "runtime"]
SITE = re.compile(r"\b(?:emitOpError|emitError|StatusCode::(?!Ok\b)\w+|invalid|unsupported|fail|"
                  r"fault|failure|error)\s*[({,]")
# A fault of the library itself: no input can provoke it. The host device's
# findings have the same code, and those are tested.
INTERNAL = re.compile(r"StatusCode::Internal")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINED = re.compile(r'"\s*\n\s*"')
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def unescape(text):
    return text.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n")


def statement(code, begin):
    """The text from `begin` to the end of its statement."""
    position = begin
    while position < len(code):
        string = STRING.match(code, position)
        if string:
            position = string.end()
        elif code[position] in ";{" and position > begin + 40 or code[position] == ";":
            break
        else:
            position += 1
    return code[begin:position]


def sites(path):
    with open(path) as file:
        code = JOINED.sub("", COMMENT.sub("", file.read()))
    covered = 0
    for match in SITE.finditer(code):
        if match.start() < covered:
            continue
        text = statement(code, match.start())
        literals = [unescape(s) for s in STRING.findall(text)]
        if not literals:
            continue
        covered = match.start() + len(text)
        longest = max(literals, key=len).strip()
        if INTERNAL.match(match.group()) and not path.startswith("runtime/host"):
            continue
        if len(longest) >= 6:
            yield longest


def read_tests(root):
    corpus = []
    for base, folders, files in os.walk(os.path.join(root, "test")):
        for file in files:
            if file.endswith((".mlir", ".test", ".cpp", ".h", ".py")):
                with open(os.path.join(base, file)) as text:
                    corpus.append(unescape(JOINED.sub("", text.read())))
    return "\n".join(corpus)


def main(root):
    os.chdir(root)
    tests = read_tests(".")
    with open("test/hygiene/diagnostics-untested.txt") as file:
        exceptions = {line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")}
    unused, missing = set(exceptions), 0
    for folder in FOLDERS:
        for base, folders, files in os.walk(folder):
            folders.sort()
            for file in sorted(files):
                path = os.path.join(base, file)
                if not file.endswith((".cpp", ".h")):
                    continue
                for text in sites(path):
                    if text in exceptions:
                        unused.discard(text)
                    elif text not in tests:
                        missing += 1
                        print(f"{path}: no test expects: {text}")
    for text in sorted(unused):
        missing += 1
        print(f"diagnostics-untested.txt: no source has: {text}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
