"""The mutated tree and its one build."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from operators import rewrite

TARGETS = ["replayssm-opt", "replayssm-run", "replayssm-cursor-tests", "replayssm-layers-tests", "replayssm-host-tests",
           "replayssm-runtime-tests", "replayssm-range-tests", "replayssm-gate-tests"]


def parts(root):
    """What the tree is made of: all but builds and hidden files."""
    return sorted(name for name in os.listdir(root) if not name.startswith((".", "build")))


def put(path, content):
    """Writes what differs only, so that nothing else is built again."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == content:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def span(site):
    """First and last line."""
    return site.text.count("\n", 0, site.begin) + 1, site.text.count("\n", 0, site.end) + 1


class Builder:
    def __init__(self, root, folder, jobs):
        self.root, self.folder, self.jobs = root, folder, jobs
        self.tree, self.out = os.path.join(folder, "tree"), os.path.join(folder, "build")

    def refused_path(self, seed):
        return os.path.join(self.folder, f"refused-{seed}.json")

    def refused_before(self, seed):
        """Numbers that did not compile before, while the sources are the same."""
        try:
            with open(self.refused_path(seed)) as file:
                saved = json.load(file)
        except FileNotFoundError:
            return set()
        return set(saved["numbers"]) if saved["sources"] == self.digest() else set()

    def keep_refused(self, seed, numbers):
        with open(self.refused_path(seed), "w") as file:
            json.dump({"sources": self.digest(), "numbers": sorted(numbers)}, file)

    def digest(self):
        total = hashlib.sha256()
        for part in ["passes", "lib", "runtime", "scripts/mutation"]:
            for base, folders, names in os.walk(os.path.join(self.root, part)):
                folders.sort()
                for name in sorted(names):
                    if name.endswith((".cpp", ".h", "operators.py")):
                        with open(os.path.join(base, name), "rb") as file:
                            total.update(name.encode() + file.read())
        return total.hexdigest()

    def copy(self, chosen):
        mutated, kept = {}, set()
        for number, (path, site) in chosen.items():
            mutated.setdefault(path, {})[number] = site
        for part in parts(self.root):
            source = os.path.join(self.root, part)
            files = [source] if os.path.isfile(source) else [
                os.path.join(base, name) for base, _, names in os.walk(source) for name in names]
            for file in files:
                path = os.path.relpath(file, self.root)
                with open(file, "rb") as opened:
                    content = opened.read()
                if path in mutated:
                    header = "MutantIR.h" if path.startswith("passes/") else "Mutant.h"
                    content = rewrite(mutated[path], header).encode()
                put(os.path.join(self.tree, path), content)
                shutil.copymode(file, os.path.join(self.tree, path))
                kept.add(path)
        for name in ["Mutant.h", "MutantIR.h"]:
            with open(os.path.join(self.root, "scripts/mutation", name), "rb") as file:
                put(os.path.join(self.tree, "mutant", name), file.read())
            kept.add(f"mutant/{name}")
        for base, _, names in os.walk(self.tree):
            for name in names:
                if os.path.relpath(os.path.join(base, name), self.tree) not in kept:
                    os.remove(os.path.join(base, name))

    def build(self, chosen):
        """Numbers that do not compile; exits where something else fails."""
        self.copy(chosen)
        env = {**os.environ, "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
        env.pop("REPLAYSSM_MUTANT", None)
        if not os.path.exists(os.path.join(self.out, "build.ninja")):
            subprocess.run(["cmake", "--preset", "default", "-B", self.out], cwd=self.tree, env=env, check=True,
                           stdout=subprocess.DEVNULL)
        print(f"mutate: building {len(chosen)} faults", flush=True)
        result = subprocess.run(["ninja", "-C", self.out, f"-j{self.jobs}", "-k0", *TARGETS, "lib/libreplayssm_fake_cuda.so"],
                                env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode == 0:
            return set()
        lines = {n: (path, span(site)) for n, (path, site) in chosen.items()}
        broken = set()
        for failure in re.split(r"^FAILED: ", result.stdout, flags=re.MULTILINE)[1:]:
            for kind in ["error", "note"]: # A note has the place where an error is inside a header.
                places = {(os.path.relpath(m[1], self.tree), int(m[2])) for m in
                          re.finditer(rf"^(/\S+?):(\d+):\d+: (?:fatal )?{kind}:", failure, re.MULTILINE)}
                found = {n for n, (path, (first, last)) in lines.items()
                         for at, line in places if at == path and first <= line <= last}
                broken |= found
                if found:
                    break
        if not broken:
            print(result.stdout[-6000:])
            sys.exit("mutate: the build fails, and not at a fault")
        return broken
