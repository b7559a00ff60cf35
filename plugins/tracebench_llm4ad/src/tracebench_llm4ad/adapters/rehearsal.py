"""Lets a candidate answer a copy of the evaluator in one sandboxed process, so that the evaluator itself need only repeat what it heard.

A conversation between processes costs more than most evaluators' own work. Here the candidate sits beside a copy of the evaluator, which
notes every answer; the evaluator outside then runs once more on those answers, and only what it says counts. A candidate may tamper with
its copy, but all that it gains is other answers, whose worth is computed where it cannot reach. It can see the whole instance, though: for
tasks whose function is shown the whole instance anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import EvaluationFailed, Sandbox
from tracebench_core.specs import Feedback, Limits
from tracebench_llm4ad.adapters.together import PACKAGE, copies_for
from tracebench_llm4ad.adapters.tree import Found
from tracebench_llm4ad.heuristic import explain

DOOR = "_rehearse"
SOURCE = f"""
def {DOOR}(order, files):
    import os, pickle, sys

    for name, text in files.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, os.getcwd())
    sys.dont_write_bytecode = True
    from {PACKAGE}.loading import load

    answers, failures = [], []
    written_back = order["written_back"]
    function = globals()[order["entry"]]

    def answer(*args, **kwargs):
        copies, named = pickle.loads(pickle.dumps((args, kwargs)))
        try:
            value = function(*copies, **named)
        except BaseException as err:
            failures.append(err)
            raise
        if written_back is None:
            answers.append(value)
            return value
        answers.append((value, list(copies[written_back])))
        args[written_back][:] = copies[written_back]
        return value

    foreign = load(order)
    try:
        foreign.evaluate(
            foreign.facts["program"], answer, seed=order["seed"], repeats=order["repeats"], explained=False
        )
    except BaseException:
        if failures:
            raise failures[0]
    return answers


"""
"""Runs in the candidate's process. An evaluator that fails on an answer fails again outside, where it says why."""


def rehearse(
    found: Found, order: Mapping[str, Any], *, code: str, prelude: str, sandbox: Sandbox, limits: Limits
) -> list[Any]:
    """Return a candidate's answers in the order of the evaluator's calls. None of it is trusted but its shape.

    Raises:
        EvaluationFailed: when the candidate fails, or its process ends without answers.
    """
    local, files = copies_for(found, order)
    with sandbox.session(code, DOOR, limits=limits, prelude=SOURCE + prelude) as session:
        outcome = session.call(local, files)
    if outcome.status != "ok":
        raise EvaluationFailed(explain(outcome))
    if not isinstance(outcome.value, Sequence) or isinstance(outcome.value, str | bytes):
        raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=f"The program must not touch `{DOOR}`."))
    return list(outcome.value)
