"""Evaluates a candidate in one locked-down process with its evaluator: `python -m foreign.together`, the order in `order.json`.

For evaluators that need the candidate's text or call it too often for a conversation. The score is computed where the candidate runs.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from .loading import load

MARK = "tracebench-report "


def main() -> None:
    """Load, run the candidate's text, evaluate, and print the report as the last line."""
    order: dict[str, Any] = json.loads(Path("order.json").read_text(encoding="utf-8"))
    say = sys.stdout.write
    try:
        foreign = load(order)
    except BaseException as err:  # noqa: BLE001 - whatever a foreign module raises is the answer
        say(f"\n{MARK}{json.dumps({'broken': f'{type(err).__name__}: {err}'})}\n")
        return
    program = whole(order["prelude"], order["code"])
    try:
        namespace: dict[str, Any] = {"__name__": "candidate"}
        exec(compile(order["prelude"], "<prelude>", "exec"), namespace)  # noqa: S102 - this is what the process is for
        exec(compile(order["code"], "<candidate>", "exec"), namespace)  # noqa: S102 - as above
        function = namespace.get(foreign.facts["entry"])
        if not callable(function):
            answer = {"refused": f"The code defines no function `{foreign.facts['entry']}`."}
        else:
            answer = foreign.evaluate(
                program,
                function,
                seed=order["seed"],
                repeats=order["repeats"],
                written_back=order["written_back"],
            )
    except BaseException as err:  # noqa: BLE001 - as above
        frames = traceback.extract_tb(err.__traceback__)
        own = [f"(line {f.lineno} of the program, in {f.name})" for f in frames if f.filename == "<candidate>"][-1:]
        answer = {"error": " ".join([f"{type(err).__name__}: {err}", *own])}
    say(f"\n{MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()


def whole(prelude: str, code: str) -> str:
    """Return both as one program for an evaluator that runs the text; imports from `__future__`, and what is before them, stay first."""
    body: list[ast.stmt] = []
    with suppress(SyntaxError, ValueError):
        body = ast.parse(code).body
    first = [s for s in body if isinstance(s, ast.ImportFrom) and s.module == "__future__" and not s.level]
    lines = io.StringIO(code, newline=None).readlines()
    end = max((statement.end_lineno or 0 for statement in first), default=0)
    return "".join([*lines[:end], f"{prelude}\n", *lines[end:]])


if __name__ == "__main__":
    main()
