"""HumanEval (Chen et al. 2021) and MBPP (Austin et al. 2021): programs, scored by whether the data set's own tests pass."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, column, text_of

FENCED = re.compile(r"```[ \t]*(?:python3?|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
BUILTINS = frozenset(dir(builtins)) | {"isclose"}
IMPORTS = re.compile(r"^(?:from\s+[\w.]+\s+import\s+.+|import\s+.+)$", re.MULTILINE)


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row: what to write, its tests (text with `check(candidate)`, or bare asserts), the function's name, lines that go before."""
    tests = column(row, fields.test or "test")
    if not tests:
        raise MissingGoldError(f"has no tests in column `{fields.test or 'test'}`")
    source = "\n".join(str(t) for t in tests) if isinstance(tests, list | tuple) else str(tests)
    imports = row.get("test_imports") or ()
    setup = "\n".join([*map(str, imports), str(row.get(fields.setup) or "") if fields.setup else ""]).strip()
    entry = str(row.get(fields.entry or "entry_point") or "") or _called(source)
    if not entry.isidentifier():
        raise RowError("names no function under test")
    prompt = text_of(row, fields.question)
    if "def " not in prompt:
        prompt = (
            f"{prompt}\nThe function is called `{entry}`; it must pass tests such as:\n{source.strip().splitlines()[0]}"
        )
    return Case(
        question=prompt,
        gold=str(row.get("canonical_solution") or row.get("code") or ""),
        extra={"tests": source, "entry": entry, "setup": setup},
    )


def program(reply: str, case: Case) -> str:
    """Return the program that a reply amounts to: its code with the prompt's imports, or the prompt continued by its lines."""
    entry = case.extra["entry"]
    defined = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry)}\b", re.MULTILINE)
    blocks = [m[1] for m in FENCED.finditer(reply)]
    code = next((b for b in reversed(blocks) if defined.search(b)), None)
    if code is None:
        code = "\n".join(blocks) if blocks else reply
    if defined.search(code):
        return "\n".join([*IMPORTS.findall(case.question), case.extra["setup"], prelude(case), _from_code(code)])
    return "\n".join([case.extra["setup"], f"{case.question.rstrip()}\n{code}"])


def prelude(case: Case) -> str:
    """Return what the prompt defines before the function under test, such as the inverse that the tests call."""
    question = case.question
    start = re.search(rf"^def[ \t]+{re.escape(case.extra['entry'])}\b", question, re.MULTILINE)
    return question[: start.start()] if start and "def " in question[: start.start()] else ""


def score(_reply: str, _case: Case) -> Verdict:
    """Refuse: a program is run, not read."""
    raise TypeError("programs are scored in the sandbox; see `tracebench_hfqa.running`")


def has_check(tests: str) -> bool:
    """Tell whether tests define HumanEval's `check(candidate)`, which is to be called."""
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name == "check"
        and [arg.arg for arg in node.args.args] == ["candidate"]
        for node in _parsed(tests)
    )


def modules_of(tests: str) -> list[str]:
    """Return the modules of the standard library that tests name and nothing in them binds; the data sets' solutions import them."""
    names = [node for top in _parsed(tests) for node in ast.walk(top) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return sorted({node.id for node in names} & sys.stdlib_module_names - bound)


def _called(tests: str) -> str:
    """Return the function that the asserts call: the one that most call, and a builtin only where they call no other."""
    asserts = [node for top in _parsed(tests) for node in ast.walk(top) if isinstance(node, ast.Assert)]
    imported = {a.asname or a.name for top in _parsed(tests) for a in getattr(top, "names", ())}
    calls = [
        node.func.id
        for held in asserts
        for node in ast.walk(held)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    own = [name for name in calls if name not in BUILTINS | imported]
    return Counter(own or calls).most_common(1)[0][0] if calls else ""


def _parsed(tests: str) -> list[ast.stmt]:
    """Return the statements of tests; none where they are no Python."""
    try:
        return ast.parse(tests).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def _from_code(code: str) -> str:
    """Return a reply without the sentences before its first line of code."""
    start = re.search(r"^(?:from |import |def |class |async |@|[A-Z_]+\s*=)", code, re.MULTILINE)
    return code[start.start() :] if start else code


FAMILY = Family(
    metric="pass_at_1",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: str(case.gold),
    asks_for="Give only the whole function, in a ```python block.",
    sandboxed=True,
)
