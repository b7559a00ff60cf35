"""What must come out of known Lean files: the gold file, and the same under what would change its meaning.

Problems without a proven reference offer no case: nothing of theirs shows that a real Lean was asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.contracts import Task
from tracebench_core.specs import Calibration, Values
from tracebench_veribench.discovery.catalog import find_problems
from tracebench_veribench.lean.problem import LeanProblem

_FILE = "file/"
_LIES = {
    "a premise for all": "variable (lie : False)\ninclude lie\n",
    "a comparison of its own": "instance : LE Nat := ⟨fun _ _ => True⟩\n",
    "numbers of its own": "namespace Own\nabbrev Nat := Unit\nend Own\nopen Own\n",
    "a string that hides an axiom": 'def hidden := r"\\" axiom lie : False def shown := ""\n',
}


def families(name: str, _task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite, by its name without the prefix."""
    problem = find_problems().problems.get(name.removeprefix(_FILE))
    if problem is None or not problem.reference or problem.skeleton:
        return
    yield from _of_file(problem) if name.startswith(_FILE) else _of_prompt(problem)


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
