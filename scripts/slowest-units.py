#!/usr/bin/env python3
"""Prints the five slowest translation units of a build; fails over the limit.

The log has wall-clock times, which other work on the machine stretches: a unit
over the limit is compiled once more, and its processor time decides.
"""
import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile


def durations(log):
    """Seconds of the last build of every object and precompiled header."""
    seconds = {}
    for line in log:
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.rstrip("\n").split("\t")
        if output.endswith((".o", ".pch")):
            seconds[output] = (int(end) - int(start)) / 1000
    return sorted(seconds.items(), key=lambda item: -item[1])


def processor_seconds(build, output):
    """Processor time of one compilation, its results thrown away."""
    command = shlex.split(subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "-s", output],
        check=True, capture_output=True, text=True).stdout.strip().split("\n")[-1])
    with tempfile.TemporaryDirectory() as folder:
        for option in ["-o", "-MF"]:
            if option in command:
                command[command.index(option) + 1] = os.path.join(folder, "out" + option)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, cwd=build, env={**os.environ, "CCACHE_DISABLE": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--limit-seconds", type=float, required=True)
    arguments = parser.parse_args()
    with open(os.path.join(arguments.build, ".ninja_log")) as log:
        # The log keeps objects of targets that no longer exist.
        units = [(output, seconds) for output, seconds in durations(log)
                 if os.path.exists(os.path.join(arguments.build, output))]
    print("slowest translation units:")
    for output, seconds in units[:5]:
        print(f"  {seconds:6.1f} s  {output}")
    failed = False
    for output, seconds in units:
        if seconds <= arguments.limit_seconds:
            break
        alone = processor_seconds(arguments.build, output)
        print(f"  {alone:6.1f} s  {output}, compiled again (processor time)")
        if alone > arguments.limit_seconds:
            failed = True
            print(f"error: {output} took over {arguments.limit_seconds:g} s", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
