#!/usr/bin/env python3
"""Prints the five slowest translation units of a ninja log; fails over the limit."""
import argparse
import sys


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--limit-seconds", type=float, required=True)
    arguments = parser.parse_args()
    with open(arguments.log) as log:
        units = durations(log)
    print("slowest translation units:")
    for output, seconds in units[:5]:
        print(f"  {seconds:6.1f} s  {output}")
    slow = [output for output, seconds in units if seconds > arguments.limit_seconds]
    for output in slow:
        print(f"error: {output} took over {arguments.limit_seconds:g} s", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
