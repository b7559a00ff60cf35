"""What must come out of known files: the proofs that ship, what proves nothing, and the corpus of attacks.

The corpus is told from `file/list_sum`; every problem is tried with a file that assumes all and one that abbreviates all.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.contracts import Task
from tracebench_core.specs import Calibration, Values
from tracebench_veribench.attacks.corpus import coq_attacks, coq_part
from tracebench_veribench.coq.problem import CoqProblem, load_problem

ATTACKED = "list_sum"
_FILE = "file/"
_SOURCE = "the proof that ships, checked by Coq's kernel"
_FORMS = {
    "bare": "{file}",
    "unlabelled": "```\n{file}\n```",
    "in a sentence": "Here is the file.\n\n```coq\n{file}\n```\n\nEvery proof is finished.",
    "beside a draft": "```coq\nLemma draft : True.\n```\nBetter:\n```coq\n{file}\n```",
}


def families(name: str, task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite, by its name without the prefix."""
    if name.startswith(_FILE):
        yield from _of_file(load_problem(name.removeprefix(_FILE)))
        return
    for split, examples in task.splits.items():
        golds = {example.id: load_problem(example.id).gold for example in examples}
        fenced = {id_: f"```coq\n{gold}\n```" for id_, gold in golds.items()}
        yield Calibration(name=f"gold {split}", kind="gold", split=split, replies=fenced, expected=1.0, source=_SOURCE)
    empty = {example.id: _abbreviated(load_problem(example.id)) for example in task.splits["train"]}
    yield Calibration(name="all abbreviated", kind="forged", replies=empty, expected=0.0)
    if name == ATTACKED:
        gold = load_problem(name).gold
        for form, frame in _FORMS.items():
            yield Calibration(name=form, kind="form", replies={"": frame.format(file=gold)}, expected=1.0)


def _of_file(problem: CoqProblem) -> Iterator[Calibration]:
    yield Calibration(name="gold", kind="gold", values={"file": problem.gold}, expected=1.0, source=_SOURCE)
    nothing: Values = {"file": problem.skeleton()}
    yield Calibration(name="nothing proven", kind="known", values=nothing, expected=0.0, source="by construction")
    yield Calibration(name="proven", kind="order", values={"file": problem.gold}, other="nothing proven")
    for name, text in (("all assumed", _assumed(problem)), ("all abbreviated", _abbreviated(problem))):
        yield Calibration(name=name, kind="forged", values={"file": text}, expected=0.0)
    if problem.name == ATTACKED:
        one_of_three: Values = {"file": coq_part("head") + coq_part("sum") + coq_part("nil")}
        yield Calibration(name="one of three proven", kind="known", values=one_of_three, expected=1 / 3, rel_tol=1e-9)
        for attack in coq_attacks():
            yield Calibration(
                name=attack.name, kind="forged", values={"file": attack.file}, expected=attack.worth, abs_tol=1e-3
            )


def _assumed(problem: CoqProblem) -> str:
    """Assume the functions and the theorems in a way that the gate lets pass."""
    wanted = {**problem.functions, **problem.theorems}
    return _head(problem) + "".join(f"Hypothesis {name} : {kind}.\n" for name, kind in wanted.items())


def _abbreviated(problem: CoqProblem) -> str:
    names = (*problem.functions, *problem.theorems)
    return _head(problem) + "".join(f"Notation {name} := _ (only parsing).\n" for name in names)


def _head(problem: CoqProblem) -> str:
    given = "Require Import Given.\n" if problem.given else ""
    return f"From Coq Require Import List Arith Bool Sorted Permutation.\nImport ListNotations.\n{given}"
