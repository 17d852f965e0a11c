"""Every option of every command of replayssm-run: twice, and without its value, is an error that names it."""
import re
import subprocess
import sys


def error(*line):
    result = subprocess.run([sys.argv[1], *line], capture_output=True, text=True)
    return result.stderr if result.returncode == 2 else f"exit code {result.returncode}: {result.stderr}"


usage = subprocess.run([sys.argv[1], "--help"], capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  (\w+) ", usage[usage.index("\ncommands"):usage.index("\noptions")], re.MULTILINE)
options = sorted(set(re.findall(r"--([a-z-]+)", usage[usage.index("\noptions"):])) - {"help"})  # that of replayssm-opt
assert len(commands) == 6 and len(options) == 24, (commands, options)
flags = {"dry-run", "compile-only"}
legal = {"device": "host", "gates": "mild", "landing": "wait"}
failed, accepted = 0, 0
for command in commands:
    for option in options:
        text = "--" + option if option in flags else f"--{option}={legal.get(option, '1')}"
        refusal = f"--{option}: expected the command "
        messages = [(error(command, text, text), f"'{text}': expected each option once")]
        if option not in flags:
            messages += [(error(command, f"--{option}"), f"'--{option}': expected a value"),
                         (error(command, f"--{option}="), f"'--{option}=': expected a value")]
        for message, expected in messages:
            if refusal in message and f"but got '{command}'" in message:
                continue
            accepted += 1
            if expected not in message:
                failed += 1
                print(f"{command} {text}: expected {expected!r} but got {message[:200]!r}")
assert accepted > 150, accepted
sys.exit(failed != 0)
