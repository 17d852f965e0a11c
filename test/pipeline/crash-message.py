"""What the compiler says when it dies: one line, whatever the signal, and no stack trace.

Usage: crash-message.py <replayssm-opt>
"""
import signal
import subprocess
import sys
import time

LINE = "error: internal: the compiler has crashed; please report the command line and the input\n"


def catches(process, number):
    with open(f"/proc/{process.pid}/status") as file:
        mask = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
    return int(mask, 16) >> (number - 1) & 1


def main(compiler):
    for number in [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE]:
        # It waits for its input, and is hit while it does.
        process = subprocess.Popen([compiler, "--emit=ptx", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not catches(process, number) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
        if (process.returncode, output, errors) != (70, "", LINE):
            print(f"{number.name}: exit code {process.returncode}, output {output!r}, errors {errors!r}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
