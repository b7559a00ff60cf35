"""Calls the functions in a process of their own, and compares what they return here."""

import json
import subprocess
import sys

CALL = """
import importlib, json, sys
module, name, arguments = json.loads(sys.stdin.readline())
answers, sys.stdout = sys.stdout, sys.stderr
value = getattr(importlib.import_module(f"toolbox.{module}"), name)(*arguments)
print(json.dumps(value), file=answers)
"""


def main():
    passed = 0
    cases = json.load(sys.stdin)
    begun = [start(function, arguments) for function, arguments, _ in cases]
    for (function, arguments, expected), child in zip(cases, begun):
        try:
            said, errors = child.communicate(timeout=5)
            value = json.loads(said)
            words = f"returned {value!r}"
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            value, words = None, "took longer than 5 s"
        except ValueError:
            value, words = None, f"failed: {errors.strip().splitlines()[-1] if errors.strip() else 'no answer'}"
        if value == expected:
            passed += 1
        else:
            print(f"{function}{tuple(arguments)!r} {words}, not {expected!r}"[:300])
    print(f"pass_rate: {passed / len(cases):.6f}")


def start(function, arguments):
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", CALL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    child.stdin.write(json.dumps([*function.split("."), arguments]) + "\n")
    child.stdin.flush()
    return child


main()
