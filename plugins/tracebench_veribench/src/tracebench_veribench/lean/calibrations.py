"""What must come out of known Lean files: the gold file, and the same under what would change its meaning.

Verina, miniF2F and CLEVER publish no proofs that could be asked for. Of their problems only what must be refused is known, and no Lean
is asked for that: they stay `never calibrated`. Other problems without a proven reference offer no case, since nothing of theirs shows
that a real Lean was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracebench_core.contracts import Task
from tracebench_core.specs import Calibration, Values
from tracebench_veribench.discovery.catalog import find_problems
from tracebench_veribench.lean.problem import LeanProblem, answering, has_region

_FILE = "file/"
_LIES = {
    "a premise for all": "variable (lie : False)\ninclude lie\n",
    "a comparison of its own": "instance : LE Nat := ⟨fun _ _ => True⟩\n",
    "numbers of its own": "namespace Own\nabbrev Nat := Unit\nend Own\nopen Own\n",
    "a string that hides an axiom": 'def hidden := r"\\" axiom lie : False def shown := ""\n',
}
_ANSWER = {"solution_aux": "", "code_aux": "", "code": "  default", "proof_aux": "", "proof": "  simp"}
_REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "a proof left open": ({"proof": "  sorry"}, "a proof must be finished"),
    "an axiom": ({"proof_aux": "axiom lie : False"}, "nothing may be assumed"),
    "a premise for all": ({"proof_aux": _LIES["a premise for all"]}, "says all of its premises itself"),
    "a comparison of its own": ({"solution_aux": _LIES["a comparison of its own"]}, "instances stay as they are"),
    "numbers of its own": ({"code_aux": _LIES["numbers of its own"]}, "write the names of your own namespace in full"),
    "a string that hides an axiom": ({"proof_aux": _LIES["a string that hides an axiom"]}, "nothing may be assumed"),
    "a comment that swallows the theorem": ({"proof_aux": "/-"}, "never closed"),
    "a kernel that is not asked": ({"code_aux": "set_option debug.skipKernelTC true"}, "`set_option"),
    "a proof that is only computed": ({"proof": "  native_decide"}, "`native_decide` is not allowed"),
}
"""Answers to any problem with regions, by what of them must be refused, and words of the refusal."""


def families(name: str, _task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite, by its name without the prefix."""
    problem = find_problems().problems.get(name.removeprefix(_FILE))
    if problem is None or not problem.reference:
        return
    if problem.skeleton:
        yield from _of_regions(problem, is_file=name.startswith(_FILE))
        return
    yield from _of_file(problem) if name.startswith(_FILE) else _of_prompt(problem)


def _of_regions(problem: LeanProblem, *, is_file: bool) -> Iterator[Calibration]:
    for name, (regions, words) in _REFUSED.items():
        placed = {part if has_region(problem.skeleton, part) else "proof_aux": text for part, text in regions.items()}
        answer = answering(_ANSWER | placed)
        given: Any = {"values": {"file": answer}} if is_file else {"replies": {"": f"```lean\n{answer}\n```"}}
        yield Calibration(name=name, kind="refused", words=words, source="by construction", **given)


def _of_file(problem: LeanProblem) -> Iterator[Calibration]:
    gold: Values = {"file": problem.reference}
    yield Calibration(name="gold", kind="gold", values=gold, expected=1.0, source=problem.source)
    yield Calibration(name="nothing proven", kind="known", values={}, expected=0.0, source="by construction")
    yield Calibration(name="proven", kind="order", values=gold, other="nothing proven")
    for name, lie in _LIES.items():
        yield Calibration(name=name, kind="forged", values={"file": lie + problem.reference}, expected=0.0)


def _of_prompt(problem: LeanProblem) -> Iterator[Calibration]:
    reply = f"```lean\n{problem.reference}\n```"
    yield Calibration(name="gold", kind="gold", replies={"": reply}, expected=1.0, source=problem.source)
    for name, lie in _LIES.items():
        yield Calibration(name=name, kind="forged", replies={"": lie + problem.reference}, expected=0.0)
