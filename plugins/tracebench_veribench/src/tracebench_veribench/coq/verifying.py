"""Judges one Coq file, stage by stage."""

from __future__ import annotations

from tracebench_core.contracts import Context
from tracebench_veribench.coq.checker import CheckTimeout, Compiled, Coq, check
from tracebench_veribench.coq.gate import find_violations
from tracebench_veribench.coq.problem import CoqProblem
from tracebench_veribench.diagnostics import quoted
from tracebench_veribench.stages import Stage, Verdict, does_not_compile, refused


def verify(problem: CoqProblem, text: str, context: Context, *, seconds: float | None = None) -> Verdict:
    """Judge `text` as an answer to `problem`; see `checker.check` for what it raises when Coq cannot be run.

    `seconds` bounds the check; the environment's own limit when None.
    """
    if violations := find_violations(text):
        return refused([str(v) for v in violations])
    handle = context.environment("coq")
    coq = Coq(**(handle if seconds is None else {**handle, "seconds": seconds}))
    try:
        compiled = check(coq, context.sandbox, problem, text)
    except CheckTimeout as err:
        verdict = does_not_compile([str(err)], status="timeout")
    else:
        verdict = _judge(problem, text, compiled)
    context.record("verdict", {"checker": f"coq {coq.version}", "stages": verdict.recorded()})
    return verdict


def _judge(problem: CoqProblem, text: str, compiled: Compiled) -> Verdict:
    answers = compiled.answers
    if answers is None or answers.axioms is None:
        return does_not_compile(quoted(compiled.errors, text))
    proven = {name: axioms for name, axioms in answers.axioms.items() if axioms is not None}
    assumed = {name: axioms for name, axioms in proven.items() if axioms}
    failed = answers.tests.count(False)
    shares: dict[Stage, float] = {
        "gate": 1.0,
        "compiles": 1.0,
        "tests": 1 - failed / len(answers.tests),
        "statements": len(proven) / len(problem.theorems),
        "assumptions": 1 - len(assumed) / len(proven) if proven else 0.0,
    }
    if answers.rechecked is not None:
        shares["rechecked"] = float(answers.rechecked)
    return Verdict(
        shares,
        {
            "tests": [
                f"{failed} of {len(answers.tests)} hidden tests of the functions fail; compare with the Python program."
            ],
            "statements": [
                f"`{name}` must prove exactly: {statement}"
                for name, statement in problem.theorems.items()
                if name not in proven
            ],
            "assumptions": [f"`{name}` assumes {', '.join(axioms)}." for name, axioms in assumed.items()],
        },
        reached_end=True,
    )
