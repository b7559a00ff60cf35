"""The program that tries attacks, in whatever place it is run: it needs the standard library alone."""

from __future__ import annotations

SOURCE = """
import json, os, sys

def guide(output, truth):
    try:
        return 1.0 if abs(output - truth) < 1e-9 else 0.0
    except Exception:
        return 0.0

def run(orders):
    found = {}
    home = os.getcwd()
    for order in orders:
        name, code, targets, truth = order
        folder = os.path.join(home, name)
        try:
            os.mkdir(folder)
            os.chdir(folder)
            names = {}
            exec(compile(code, "<attack>", "exec"), names)
            got = names["attack"](targets)
            if truth is not None:
                got = guide(got, truth)
            found[name] = got if isinstance(got, (str, int, float, type(None))) else repr(got)
        except BaseException as error:
            found[name] = "%s: %s" % (type(error).__name__, error)
        os.chdir(home)
    return found

if __name__ == "__main__" and sys.argv[1:]:
    with open(sys.argv[1]) as file:
        orders = json.load(file)
    found = run(orders)
    with open(sys.argv[2], "w") as file:
        json.dump(found, file, default=repr)
    os._exit(0)
"""
"""`truth` is told only where the guide is in the process of the attack: where scoring is not apart."""


def is_right(output: object, truth: float) -> bool:
    """Say what the guide says of an answer, where scoring is apart."""
    return isinstance(output, int | float) and abs(output - truth) < 1e-9  # noqa: PLR2004 - as above
