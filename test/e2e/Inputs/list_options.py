#!/usr/bin/env python3
"""list_options.py SCRATCH: options that may be given several times take one word each, so that a file may stand after them.

Options are taken from --help, so that a new one is tried, too: on the command line, and as the last key of a --config."""
import json
import pathlib
import re
import subprocess
import sys

scratch = pathlib.Path(sys.argv[1])
config = scratch / "list.json"
COMMANDS = {"compile": ["model.onnx", "-o", "out"], "export": ["checkpoint", "--model", "model.onnx", "-o", "out.onnx"]}


def says_missing(command):
    result = subprocess.run(["cleave", *command], capture_output=True, text=True)
    if "is missing" not in result.stderr and result.returncode:  # there is no such file
        return False
    print("FAILED", *command, result.stderr)
    return True


tried = failures = 0
for command, rest in COMMANDS.items():
    text = subprocess.run(["cleave", command, "--help"], capture_output=True, text=True).stdout
    for option in re.findall(r"^ +(--[\w-]+) \S+ \.\.\.", text, re.M):
        tried += 1
        failures += says_missing([command, option, "x=1", *rest])
        if command == "compile":
            config.write_text(json.dumps({option[2:]: "x=1"}))
            failures += says_missing([command, "--config", str(config), *rest])
print(f"{tried} options, {failures} took more than one word")
