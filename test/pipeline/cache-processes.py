"""Compiles sources in many processes at once, all with one cache: the same code from each."""
import os
import subprocess
import sys


def main(compiler, cache, *sources):
    def start(source, cache):
        return subprocess.Popen([compiler, "--emit=ptx", *cache, source], stdout=subprocess.PIPE)

    expected = {source: start(source, []).communicate()[0] for source in sources}
    running = [(source, start(source, [f"--cache={cache}"])) for source in list(sources) * 6]
    for source, process in running:
        code = process.communicate()[0]
        if process.returncode or code != expected[source]:
            sys.exit(f"{source}: exit code {process.returncode}, {len(code)} bytes, expected {len(expected[source])}")
    print(f"{len(running)} processes, {len(os.listdir(cache))} entries, {len(set(expected.values()))} codes")


if __name__ == "__main__":
    main(*sys.argv[1:])
