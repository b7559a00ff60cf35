"""The attacks `idle`: answers that take no work, which may earn no more than the best honest program that a task ships."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_testing.attacks import Forgery, Target

ANSWERS = ("0", "1", "-1", "0.5", "True", "''", "'yes'", "[]", "{}", "None", "args[0] if args else None")


def forgeries(target: Target) -> Iterator[Forgery | str]:
    """Yield one program for each answer and each parameter that is a Python function."""
    functions = [parameter for parameter, _ in target.functions()]
    if not functions:
        yield "idle answers are Python functions, and no parameter of the task is one"
    for parameter in functions:
        for answer in ANSWERS:
            values = target.returning(answer, parameter=parameter)
            yield Forgery(f"{parameter}: idle, {answer}", values, no_more_than=target.honest)
