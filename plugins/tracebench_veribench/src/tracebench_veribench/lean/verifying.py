"""Judges one Lean file, stage by stage."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracebench_core.contracts import Context
from tracebench_veribench.diagnostics import Diagnostic, quoted
from tracebench_veribench.lean.checkers.protocol import CheckTimeout
from tracebench_veribench.lean.environment import build_checker
from tracebench_veribench.lean.gate import find_violations
from tracebench_veribench.lean.problem import LeanProblem, closes_its_regions, fill
from tracebench_veribench.lean.script import ALLOWED_AXIOMS, Script, read_axioms, write_script
from tracebench_veribench.lean.statements import contains, find_theorems, is_trivial
from tracebench_veribench.stages import Stage, Verdict, does_not_compile, refused


def verify(problem: LeanProblem, text: str, context: Context, *, seconds: float | None = None) -> Verdict:
    """Judge `text` as an answer to `problem`; raises `NotMeasured` when Lean cannot be asked.

    `seconds` bounds the check; the environment's own limit when None.
    """
    if violations := find_violations(text):
        return refused([str(v) for v in violations])
    if problem.skeleton:
        filled = fill(problem.skeleton, text) if closes_its_regions(text) else None
        if filled is None:
            return refused(
                [
                    "Keep every `-- !benchmark @start …` and `@end …` line of the given file, and fill what is between them."
                ]
            )
        text = filled
    wanted = _wanted(problem, text)
    handle = context.environment("lean") | ({} if seconds is None else {"seconds": seconds})
    nonce = secrets.token_hex(8)
    script = write_script(problem, text, list(wanted.right), nonce)
    try:
        said = build_checker(handle).check(script.text, context.sandbox)
    except CheckTimeout as err:
        verdict = does_not_compile([str(err)], status="timeout")
    else:
        verdict = _judge(problem, script, said, wanted)
    context.record("verdict", {"checker": f"{handle['kind']} {handle['version']}", "stages": verdict.recorded()})
    return verdict


@dataclass(frozen=True, slots=True)
class _Wanted:
    right: Mapping[str, bool]
    """The theorems to ask about, and whether each states what is required."""
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


def _judge(problem: LeanProblem, script: Script, said: Sequence[Diagnostic], wanted: _Wanted) -> Verdict:
    errors = [d for d in said if d.severity == "error" and d.line <= script.candidate_lines]
    if errors:
        return does_not_compile(quoted(errors, script.text))
    axioms = read_axioms(said, script)
    passed = sum(name in axioms and _is_sound(axioms[name]) for name in script.asked)
    stated = [name for name, right in wanted.right.items() if right and name in axioms]
    unsound = [name for name in stated if not _is_sound(axioms[name])]
    shares: dict[Stage, float] = {"gate": 1.0, "compiles": 1.0}
    if problem.tests:
        shares["tests"] = passed / len(problem.tests)
    shares["statements"] = len(stated) / len(wanted.right) if wanted.right else 0.0
    shares["assumptions"] = 1 - len(unsound) / len(stated) if stated else 0.0
    return Verdict(
        shares,
        {
            "tests": [
                f"{len(problem.tests) - passed} of {len(problem.tests)} hidden tests fail; compare with the description."
            ],
            "statements": wanted.notes,
            "assumptions": [
                f"`{name}` assumes {', '.join(sorted(set(axioms[name]) - ALLOWED_AXIOMS))}." for name in unsound
            ],
        },
        reached_end=True,
    )


def _is_sound(axioms: Sequence[str]) -> bool:
    return set(axioms) <= ALLOWED_AXIOMS
