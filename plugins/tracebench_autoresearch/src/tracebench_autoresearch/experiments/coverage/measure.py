"""Runs the tests and counts the lines of the package that they run. Tests run in the process that counts."""

import importlib
import sys
import traceback
from pathlib import Path

PACKAGE = Path("shop").resolve()


def lines_of(code):
    yield from (line for _, _, line in code.co_lines() if line)
    for constant in code.co_consts:
        if hasattr(constant, "co_lines"):
            yield from lines_of(constant)


def main():
    wanted = {
        (str(path), line)
        for path in PACKAGE.glob("*.py")
        for line in lines_of(compile(path.read_text(), str(path), "exec"))
    }
    seen = set()

    def trace(frame, event, _):
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace if frame.f_code.co_filename.startswith(str(PACKAGE)) else None

    sys.path.insert(0, ".")
    sys.settrace(trace)
    tests = importlib.import_module("test_shop")
    failed = 0
    for name, test in sorted(vars(tests).items()):
        if name.startswith("test_") and callable(test):
            try:
                test()
            except Exception:
                failed += 1
                traceback.print_exc()
    sys.settrace(None)
    missed = sorted((Path(path).name, line) for path, line in wanted - seen if line)
    print("not run: " + ", ".join(f"{name}:{line}" for name, line in missed[:40]))
    print(f"coverage: {100 * (1 - len(missed) / len(wanted)):.4f}")
    print(f"failed: {failed}")


main()
