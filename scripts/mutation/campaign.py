"""Runs the tests on one fault after another."""
import glob
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

SUITES = ["covering", "covering_verify", "covering_recurrent", "covering_mma"]
NUMERIC_TESTS = ["replayssm-cursor-tests", "replayssm-layers-tests", "replayssm-range-tests", "replayssm-gate-tests"]
HOST_TESTS = ["replayssm-host-tests", "replayssm-runtime-tests"]
CHIPS = ["sm_90a", "sm_100a"]
MEMORY_BYTES = 8 << 30
LIT_SHARES = [0.03, 0.1, 0.3, 1.0] # Of the time of all lit tests: each run of lit goes up to one.
FIRST = 16 # Numerical tests that a fault of a pass meets before its texts are compared.


@dataclass
class Outcome:
    status: int  # of the process; None for a hang
    output: str
    seconds: float

    def how(self):
        if self.status is None:
            return "hang"
        return "crash" if self.status < 0 or self.status >= 126 else "fail"


@dataclass
class Test:
    name: str
    command: list
    output: str = ""
    seconds: float = 0.0
    finds: float = 0
    limit: float = 600.0

    def gain(self):
        return (self.finds + 0.1) / (self.seconds + 0.05)


def run(command, limit, number=0, cwd=None):
    """Runs a command with a fault and a time limit, its process group ended in any case."""
    env = {**os.environ, "REPLAYSSM_MUTANT": str(number)}
    start = time.time()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)))
    try:
        output, _ = process.communicate(timeout=limit)
        status = process.returncode
    except subprocess.TimeoutExpired:
        status = None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if status is None:
        output, _ = process.communicate()
    return Outcome(status, output, time.time() - start)


class Campaign:
    def __init__(self, root, folder, jobs):
        self.tree, self.out, self.folder, self.jobs = (os.path.join(folder, "tree"), os.path.join(folder, "build"),
                                                       folder, jobs)
        self.bin = os.path.join(self.out, "bin")
        self.lock, self.places = threading.Lock(), list(range(jobs))

    # What the tests do without a fault.

    def measure(self):
        """Runs every test once without a fault, for its time and its results; kept for the next run of the same build."""
        self.numerics = [Test(f"{suite} {i}", line) for suite in SUITES for i, line in enumerate(self.cases(suite))]
        self.numerics += [Test(name, [os.path.join(self.bin, name), "--gtest_brief=1"]) for name in NUMERIC_TESTS]
        self.host = [Test(name, [os.path.join(self.bin, name), "--gtest_brief=1"]) for name in HOST_TESTS]
        self.texts = [Test(f"{os.path.basename(source)} {chip}",
                           [os.path.join(self.bin, "replayssm-opt"), "--emit=ptx", f"--target={chip}", source])
                      for source in sorted(glob.glob(os.path.join(self.tree, "examples/*.mlir"))) for chip in CHIPS]
        tests, path = self.numerics + self.host + self.texts, os.path.join(self.folder, "baseline.json")
        build = self.identity(tests)
        self.make_lit_folders()
        try:
            with open(path) as file:
                saved = json.load(file)
        except FileNotFoundError:
            saved = {}
        if saved.get("build") != build:
            print("mutate: running the tests without a fault", flush=True)
            with ThreadPoolExecutor(self.jobs) as pool:
                list(pool.map(self.measure_one, tests))
                made = dict(pool.map(lambda test: (test.name, self.compiled(test, 0)), self.compiling()))
            saved = {"build": build, "tests": {test.name: [test.output, test.seconds] for test in tests}, "made": made,
                     "lit": self.measure_lit()}
            with open(path, "w") as file:
                json.dump(saved, file)
        self.made = saved["made"]
        for test in tests:
            test.output, test.seconds = saved["tests"][test.name]
            test.limit = 10 + 20 * test.seconds
        self.lit = [Test(name, [], seconds=seconds) for name, seconds in sorted(saved["lit"].items(), key=lambda t: t[1])]
        # Kernels of every suite come early, before anything is known about what finds faults.
        for suite in SUITES:
            ranked = sorted((t for t in self.numerics if t.name.split()[0] == suite), key=lambda t: t.seconds)
            for rank, test in enumerate(ranked):
                test.finds = 1 / (1 + rank)

    def make_lit_folders(self):
        """A folder of outputs for each worker."""
        for worker in range(self.jobs):
            with open(os.path.join(self.out, "test/lit.site.cfg.py")) as file:
                config = file.read()
            os.makedirs(self.lit_folder(worker), exist_ok=True)
            with open(os.path.join(self.lit_folder(worker), "lit.site.cfg.py"), "w") as file:
                file.write(config + "import os\nconfig.test_exec_root = os.path.dirname(os.path.abspath(__file__))\n"
                           'config.environment["REPLAYSSM_MUTANT"] = os.environ["REPLAYSSM_MUTANT"]\n')

    def identity(self, tests):
        """Digest of what runs."""
        digest = hashlib.sha256(repr([test.command for test in tests]).encode())
        for path in [os.path.join(self.out, "lib/libreplayssm.so"), *sorted(glob.glob(os.path.join(self.bin, "*"))),
                     *sorted(glob.glob(os.path.join(self.tree, "test/**/*.*"), recursive=True))]:
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    digest.update(file.read())
        return digest.hexdigest()

    def measure_one(self, test):
        outcome = run(test.command, 600)
        if outcome.status != 0:
            sys.exit(f"mutate: {test.name} fails without a fault: {' '.join(test.command)}\n{outcome.output[-2000:]}")
        test.output, test.seconds = self.stable(outcome.output), outcome.seconds

    @staticmethod
    def stable(output):
        """Without the times of gtest."""
        return re.sub(r"\(\d+ ms(?: total)?\)", "", output)

    def cases(self, suite):
        listing = subprocess.run([sys.executable, os.path.join(self.tree, "test/numerics", suite + ".py"), "--list", "--run",
                                  os.path.join(self.bin, "replayssm-run")], check=True, capture_output=True, text=True)
        return [line.split() for line in listing.stdout.splitlines()[1:]]

    def compiling(self):
        return [test for test in self.numerics if "check" in test.command]

    def compiled(self, test, number):
        """Digest of the PTX and manifests of all kernels of a check."""
        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
            line = [part for part in test.command if not part.startswith("--device=")]
            outcome = run(line + ["--compile-only", "--target=sm_90a", f"--cache={cache}"], test.limit, number)
            digest = hashlib.sha256(str(outcome.status).encode())
            for name in sorted(os.listdir(cache)):
                with open(os.path.join(cache, name), "rb") as file:
                    digest.update(file.read())
        return digest.hexdigest()

    def measure_lit(self):
        """Seconds of every lit test that passes, by name."""
        seconds = {}
        results = os.path.join(self.folder, "lit.json")
        # Hygiene tests are about the sources, which have changed.
        run([*self.lit_tool(), f"-j{self.jobs}", "-o", results, "--filter-out=:: hygiene/", self.lit_folder(0)], 1800)
        with open(results) as file:
            for test in json.load(file)["tests"]:
                name = test["name"].split(" :: ")[1]
                if test["code"] == "PASS":
                    seconds[name] = test["elapsed"]
                elif test["code"] not in ("UNSUPPORTED", "EXCLUDED"):
                    print(f"mutate: without a fault {name} is {test['code']}: left out", flush=True)
        return seconds

    def lit_tool(self):
        with open(os.path.join(self.out, "CMakeCache.txt")) as file:
            path = re.search(r"^REPLAYSSM_LIT:\w+=(.*)$", file.read(), re.MULTILINE)[1]
        return [sys.executable, path]

    def lit_folder(self, worker):
        return os.path.join(self.folder, f"lit-{worker}")

    # One fault.

    def test(self, fault):
        """The fault's description with what was found."""
        with self.lock:
            worker = self.places.pop()
        start, number = time.time(), fault["id"]
        try:
            result = dict(fault, host_tests=None)
            result["numerics"], result["results_change"], result["text_changes"] = self.search_numerics(fault)
            if fault["file"].startswith("runtime/host"):
                result["host_tests"] = self.search(self.host, number)[0]
            result["lit"] = self.search_lit(number, worker)
            result["seconds"] = round(time.time() - start, 1)
        finally:
            with self.lock:
                self.places.append(worker)
        return result

    def search_numerics(self, fault):
        """What finds the fault; whether a result differs, and whether the text of a kernel does."""
        number, is_pass = fault["id"], fault["file"].startswith("passes/")
        ranked = sorted(self.numerics, key=lambda test: -test.gain())
        first = ranked[:FIRST] if is_pass else ranked
        found, changed = self.search(first, number)
        texts = not fault["file"].startswith("runtime/")
        differs = texts and any(self.text_differs(test, number) for test in self.texts)
        if found or not texts:
            return found, changed, differs
        # Passes are deterministic: where they leave the same text, the device code of both devices is the same.
        others = [test for test in self.compiling() if self.compiled(test, number) != self.made[test.name]]
        if is_pass and (differs or changed or others):
            rest = [test for test in ranked[FIRST:] if test in others or test not in self.compiling()]
            found, more = self.search(rest, number)
            changed = changed or more
        return found, changed, differs or bool(others)

    def text_differs(self, test, number):
        outcome = run(test.command, test.limit, number)
        return outcome.status != 0 or outcome.output != test.output

    def search(self, tests, number):
        """The first test that finds the fault, and whether any result differs."""
        changed = False
        for test in tests:
            outcome = run(test.command, test.limit, number)
            if outcome.status != 0:
                test.finds += 1
                return {"test": self.title(test), "how": outcome.how()}, True
            changed = changed or self.stable(outcome.output) != test.output
        return None, changed

    def title(self, test):
        spec = [part for part in test.command if part.startswith("--spec=")]
        return f"{test.name}: {spec[0][7:]}" if spec else test.name

    def search_lit(self, number, worker):
        best = sorted((t for t in self.lit if t.finds >= 1), key=lambda t: -t.gain())[:8]
        rest = [t for t in self.lit if t not in best]
        batches, total, passed = [best] + [[] for _ in LIT_SHARES], sum(t.seconds for t in rest), 0.0
        for test in rest: # Shortest first.
            batches[1 + next(i for i, share in enumerate(LIT_SHARES) if passed <= share * total)].append(test)
            passed += test.seconds
        for batch in filter(None, batches):
            names = {t.name: t for t in batch}
            limit = 20 + 10 * sum(t.seconds for t in batch)
            paths = [os.path.join(self.lit_folder(worker), name) for name in names]
            outcome = run([*self.lit_tool(), "-j1", "--max-failures=1", *paths], limit, number)
            if outcome.status == 0:
                continue
            failed = re.search(r"^(?:FAIL|TIMEOUT|UNRESOLVED|XPASS): replayssm :: (\S+)", outcome.output, re.MULTILINE)
            if not failed and outcome.status is not None:
                sys.exit(f"mutate: lit says no failed test:\n{outcome.output[-2000:]}")
            name = failed[1] if failed else min(names)
            names[name].finds += 1
            return {"test": name if failed else "lit", "how": "fail" if failed else "hang"}
        return None
