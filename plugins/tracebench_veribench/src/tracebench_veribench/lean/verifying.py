"""Judges one Lean file, stage by stage."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tracebench_core.contracts import Context
from tracebench_veribench.diagnostics import quoted
from tracebench_veribench.lean.checker import Checked, CheckTimeout, Lean, check
from tracebench_veribench.lean.declarations import find_shadows, read_declarations
from tracebench_veribench.lean.gate import find_violations
from tracebench_veribench.lean.problem import LeanProblem, alone, fill
from tracebench_veribench.lean.questions import ALLOWED_AXIOMS, Questions, write_questions
from tracebench_veribench.lean.statements import contains, find_theorems, is_trivial
from tracebench_veribench.stages import Stage, Verdict, does_not_compile, refused

_KEEP = "Keep every `-- !benchmark @start …` and `@end …` line of the given file, and fill what is between them."


def verify(problem: LeanProblem, text: str, context: Context, *, seconds: float | None = None) -> Verdict:
    """Judge `text` as an answer to `problem`; raises `NotMeasured` when Lean cannot be asked.

    `seconds` bounds the check; the environment's own limit when None.
    """
    filled = fill(problem.skeleton, text) if problem.skeleton else text
    if filled is None:
        return refused([_KEEP])
    parts = alone(text) if problem.skeleton else [text]
    if violations := [violation for part in parts for violation in find_violations(part, problem.given)]:
        return refused([str(v) for v in sorted(violations, key=lambda violation: violation.line)])
    text = filled
    if shadows := list(find_shadows(text, _fixed(problem), _own(problem), problem.reference)):
        return refused(shadows)
    wanted = _wanted(problem, text)
    lean = Lean(**(context.environment("lean") | ({} if seconds is None else {"seconds": seconds})))
    questions = write_questions(problem, list(wanted.right), secrets.token_hex(8))
    try:
        checked = check(lean, context.sandbox, text, questions, problem.free)
    except CheckTimeout as err:
        verdict = does_not_compile([str(err)], status="timeout")
    else:
        verdict = _judge(questions, checked, wanted, text)
    context.record("verdict", {"checker": f"lean {lean.version}", "stages": verdict.recorded()})
    return verdict


@dataclass(frozen=True, slots=True)
class _Wanted:
    right: Mapping[str, bool]
    """The theorems to ask about, and whether the text states what is required."""
    notes: Sequence[str]
    """What is wrong with those that do not."""


def _wanted(problem: LeanProblem, text: str) -> _Wanted:
    stated = find_theorems(text)
    if not problem.theorems:  # the source states none: what the file itself proves counts, if it says anything
        telling = {name: True for name, statement in stated.items() if not is_trivial(statement)}
        return _Wanted(
            telling, [] if telling else ["State and prove at least one theorem that says something of the program."]
        )
    if missing := [d for d in problem.given if not contains(text, d)]:
        return _Wanted(
            dict.fromkeys(problem.theorems, False), [f"Keep this definition word for word:\n{d}" for d in missing]
        )
    right = {name: stated.get(name) == statement for name, statement in problem.theorems.items()}
    return _Wanted(
        right, [f"`{name}` must state exactly: {problem.theorems[name]}" for name, ok in right.items() if not ok]
    )


def _fixed(problem: LeanProblem) -> str:
    return "\n".join([*problem.theorems.values(), *problem.given, problem.skeleton])


def _own(problem: LeanProblem) -> Collection[str]:
    """Return the names that an answer declares: the theorems, the program, and what it is given."""
    given = [d.name for text in (*problem.given, problem.skeleton) for d in read_declarations(text)]
    return {*problem.theorems, *problem.free, *filter(None, given)}


def _judge(questions: Questions, checked: Checked, wanted: _Wanted, text: str) -> Verdict:
    errors = [d for d in checked.errors if d.severity == "error"]
    if errors or checked.refused:
        return does_not_compile([*quoted(errors, text), *([checked.refused] if checked.refused else [])])
    found = checked.compared
    passed = sum(name in found and found[name].stated and _is_sound(found[name].axioms) for name in questions.tests)
    stated = [name for name, right in wanted.right.items() if right and name in found and found[name].stated]
    unsound = [name for name in stated if not _is_sound(found[name].axioms)]
    shares: dict[Stage, float] = {"gate": 1.0, "compiles": 1.0}
    if questions.tests:
        shares["tests"] = passed / len(questions.tests)
    shares["statements"] = len(stated) / len(wanted.right) if wanted.right else 0.0
    shares["assumptions"] = 1 - len(unsound) / len(stated) if stated else 0.0
    other = [
        f"`{name}`: {found[name].why}."
        for name, right in wanted.right.items()
        if right and name in found and found[name].why
    ]
    return Verdict(
        shares,
        {
            "tests": [
                f"{len(questions.tests) - passed} of {len(questions.tests)} hidden tests fail; compare with the description."
            ],
            "statements": [*wanted.notes, *other],
            "assumptions": [
                f"`{name}` assumes {', '.join(sorted(set(found[name].axioms) - ALLOWED_AXIOMS))}." for name in unsound
            ],
        },
        reached_end=True,
    )


def _is_sound(axioms: Sequence[str]) -> bool:
    return set(axioms) <= ALLOWED_AXIOMS
