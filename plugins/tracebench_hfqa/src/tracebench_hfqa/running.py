"""Run a program against a data set's tests, each in a process of its own, so that the program never meets the tests.

The tests run where the program is not; each call that they make is handed to the program's process, and its result back. What a
program returns are plain values, and of what is none only whether it is true: no object whose `__eq__` says yes, no early exit that looks
like success.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tracebench_core.contracts import Context, Session
from tracebench_core.specs import Limits
from tracebench_hfqa.families.code_exec import has_check, modules_of, prelude, program
from tracebench_hfqa.families.family import Case, Verdict

MOST_CALLS = 2_000
DRIVER = """
class _Asked(BaseException):
    pass


class _Opaque:  # a value that is no data, such as a match: it is true or false, and equals nothing but itself

    def __init__(self, is_true):
        self._is_true = is_true

    def __bool__(self):
        return self._is_true


def _run_tests(answers):
    import importlib
    import random

    random.seed(0)
    met = []

    def candidate(*args, **kwargs):
        if len(met) == len(answers):
            raise _Asked(list(args), kwargs)
        met.append(None)
        kind, value = answers[len(met) - 1]
        return value if kind == "data" else _Opaque(value)

    space = {**{name: importlib.import_module(name) for name in _MODULES}, **globals()}
    space[_ENTRY] = candidate
    try:
        exec(compile(_TESTS, "tests", "exec"), space)
        if _CHECKS:
            space["check"](candidate)
    except _Asked as asked:
        return {"asked": asked.args[0], "named": asked.args[1]}
    except BaseException as err:
        frame, line = err.__traceback__, ""
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == "tests":
                line = _TESTS.splitlines()[frame.tb_lineno - 1].strip()
            frame = frame.tb_next
        return {"failed": f"{type(err).__name__}{': ' + str(err) if str(err) else ''}", "line": line}
    return {"passed": len(met)}
"""
CALLED = """

def _call(args, named):
    value = {entry}(*args, **named)
    if hasattr(value, "__next__"):
        value = list(value)
    plain = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
    if value is None or isinstance(value, plain) or type(value).__module__ == "numpy":
        return ["data", value]
    return ["opaque", bool(value)]
"""


class Ended(NamedTuple):
    """How the tests ended."""

    passed: bool
    words: str = ""


def run_tests(reply: str, case: Case, context: Context, *, seconds: float) -> Verdict:
    """Return pass@1 of a reply: 1 when all tests pass within the time, else 0, with the test that failed."""
    if not reply.strip():
        return Verdict(score=0.0, metrics={"pass_at_1": 0.0}, extracted="", rule="The reply is empty.")
    entry = case.extra["entry"]
    source = program(reply, case)
    told = case.extra["tests"]
    names = f"_TESTS, _ENTRY, _CHECKS, _MODULES = {told!r}, {entry!r}, {has_check(told)}, {modules_of(told)}"
    tests = "\n".join([case.extra["setup"], prelude(case), names, DRIVER])
    limits = Limits(seconds=seconds, memory_mb=1024)
    sandbox = context.sandbox
    with (
        sandbox.session(tests, "_run_tests", limits=limits) as tester,
        sandbox.session(source + CALLED.format(entry=entry), "_call", limits=limits) as candidate,
    ):
        ended = _converse(tester, candidate, entry)
    score = float(ended.passed)
    return Verdict(score=score, metrics={"pass_at_1": score}, extracted=source, rule=ended.words)


def _converse(tester: Session, candidate: Session, entry: str) -> Ended:
    """Run the tests again and again, each time with one more answer of the program, until they end."""
    answers: list[Any] = []
    while len(answers) <= MOST_CALLS:
        told = tester.call(answers)
        if told.status != "ok":
            return Ended(passed=False, words=f"The tests could not go on: {told.error}")
        if "passed" in told.value:
            untested = "" if told.value["passed"] else "The tests never called the function."
            return Ended(passed=not untested, words=untested)
        if "failed" in told.value:
            line = f" at `{told.value['line']}`" if told.value["line"] else ""
            last = f" The last call returned {_shown(answers[-1]):.200}." if answers else ""
            return Ended(passed=False, words=f"A test failed{line}: {told.value['failed']:.300}.{last}")
        outcome = candidate.call(told.value["asked"], told.value["named"])
        if outcome.status != "ok":
            shown = ", ".join(f"{a!r:.80}" for a in told.value["asked"])
            return Ended(passed=False, words=f"`{entry}({shown})`: {outcome.error}")
        if not _is_answer(outcome.value):
            return Ended(passed=False, words=f"`{entry}` returned something that cannot be read.")
        answers.append(outcome.value)
    return Ended(passed=False, words=f"The tests made more than {MOST_CALLS} calls.")


def _is_answer(value: Any) -> bool:
    """Tell whether a program's process told a value, or the truth of one that is no data."""
    return (
        isinstance(value, list)
        and len(value) == len(("kind", "value"))
        and (value[0] == "data" or (value[0] == "opaque" and isinstance(value[1], bool)))
    )


def _shown(answer: Any) -> str:
    kind, value = answer
    return repr(value) if kind == "data" else f"an object that is {str(value).lower()}"
