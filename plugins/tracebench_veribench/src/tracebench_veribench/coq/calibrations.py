"""What must come out of known files: the proofs that ship, a part of them, what proves nothing, and the corpus of attacks.

Every problem is tried with its proof, with all of it but the last theorem, and with five files that look proven; the corpus is told from
`file/list_sum`.
"""

from __future__ import annotations

import re
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
    part: Values = {"file": _without_last(problem)}
    share = 1 - 1 / len(problem.theorems)
    by_hand = "by construction"
    yield Calibration(name="nothing proven", kind="known", values=nothing, expected=0.0, source=by_hand)
    yield Calibration(name="the last one open", kind="known", values=part, expected=share, rel_tol=1e-9, source=by_hand)
    yield Calibration(name="proven in part", kind="order", values=part, other="nothing proven")
    yield Calibration(name="proven", kind="order", values={"file": problem.gold}, other="the last one open")
    for name, text in _forged(problem).items():
        yield Calibration(name=name, kind="forged", values={"file": text}, expected=0.0)
    if problem.name == ATTACKED:
        one_of_three: Values = {"file": coq_part("head") + coq_part("sum") + coq_part("nil")}
        yield Calibration(name="one of three proven", kind="known", values=one_of_three, expected=1 / 3, rel_tol=1e-9)
        for attack in coq_attacks():
            yield Calibration(
                name=attack.name, kind="forged", values={"file": attack.file}, expected=attack.worth, abs_tol=1e-3
            )


def _without_last(problem: CoqProblem) -> str:
    """Return the proof up to where the last of the required theorems begins."""
    return problem.gold[: max(_place_of(name, problem.gold) for name in problem.theorems)]


def _place_of(theorem: str, gold: str) -> int:
    found = re.search(rf"^(?:Theorem|Lemma) {theorem}\b", gold, re.MULTILINE)
    return found.start() if found else len(gold)


def _forged(problem: CoqProblem) -> dict[str, str]:
    """Return files that look proven, by how; all but the first two hold the right program."""
    last = problem.gold.rindex("Qed.")
    program = f"{_head(problem)}Module Own.\n{problem.gold}End Own.\n" + "".join(
        f"Definition {name} := Own.{name}.\n" for name in problem.functions
    )
    weak = "".join(f"Theorem {name} : True.\nProof. exact I. Qed.\n" for name in problem.theorems)
    premise = "".join(
        f"Theorem {name} : False -> ({statement}).\nProof. intros []. Qed.\n"
        for name, statement in problem.theorems.items()
    )
    return {
        "all assumed": _assumed(problem),
        "all abbreviated": _abbreviated(problem),
        "all weakened to nothing": program + weak,
        "a premise before all": program + premise,
        "the last proof left open": f"{problem.gold[:last]}Admitted.{problem.gold[last + 4 :]}",
    }


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
