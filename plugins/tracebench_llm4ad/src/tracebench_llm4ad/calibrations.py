"""Cases of known outcome for every task: the start as trusted code runs it, optima, published figures, ladders of programs, and forgeries.

A forgery is compared with the starting program, of which it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import yaml

from tracebench_core.specs import Calibration
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.basic.circle_packing import BEST_KNOWN
from tracebench_llm4ad.cobench.certificates import certificate_of
from tracebench_llm4ad.cobench.problem import Problem
from tracebench_llm4ad.code_task import CodeTask, mean
from tracebench_llm4ad.forgeries import EXACT, LARGE, candidate, forged_cases
from tracebench_llm4ad.ladders import START, ladder_of, program_of
from tracebench_llm4ad.optima import optimal_program
from tracebench_llm4ad.published import published_program

OPTIMUM = "the optimum"
RUNG = f"{START} as a rung"


def cases(task: CodeTask) -> Iterator[Calibration]:
    """Yield the cases of a task, measured on its examples to train on; forgeries on the first alone."""
    if not task.splits.get("train"):
        return
    rules, name = task.evaluator, task.spec.name
    yield _start(task)
    yield from forged_cases(
        rules.program,
        entry=rules.entry,
        claim=LARGE if task.spec.direction == "maximize" else 0.0,
        answers_dictionary=isinstance(rules, Problem),
        other=START,
        examples=(task.splits["train"][0].id,),
    )
    yield from _optimal(name, task)
    yield from _ladder(name)
    yield from _published(name)


def _start(task: CodeTask) -> Calibration:
    """Return the case of the starting program: in the sandbox it scores what it scores beside it."""
    sign, examples = _sign(task), task.splits["train"]
    return Calibration(
        name=START,
        kind="known",
        expected={e.id: sign * mean([task.anchors(case).start for case in e.input]) for e in examples},
        rel_tol=EXACT,
        source="run outside of the sandbox, on one instance at a time",
    )


def _optimal(name: str, task: CodeTask) -> Iterator[Calibration]:
    """Yield the case of a program that attains proven optima, or the best sum on file."""
    values: dict[str, float] = {}
    source = ""
    program = optimal_program(name)
    if isinstance(task.evaluator, Problem) and program:
        for example in task.splits["train"]:
            proven = [certificate_of(name, case.instance.arguments) for case in example.input]
            known = [one for one in proven if one is not None and one.gap == 0]
            if known and len(known) == len(proven):
                values[example.id] = _sign(task) * mean([one.value for one in known])
                source = f"proven by {known[0].solver}"
    elif name == "optimization/knapsack_construct":
        program, source = load_baseline(name), "dynamic programming"
        example = task.splits["train"][0]
        values = {example.id: mean([task.anchors(case).bound for case in example.input])}
    elif name == "circle_packing":
        program, source = published_program("circles.py"), "the best known sum"
        known_sums = {e.id: BEST_KNOWN.get(e.input[0].instance) for e in task.splits["train"]}
        values = {id_: total for id_, total in known_sums.items() if total is not None}
    if values:
        yield Calibration(
            name=OPTIMUM,
            kind="gold",
            values=candidate(program),
            examples=tuple(values),
            expected=values,
            rel_tol=1e-6,
            source=source,
        )


def _ladder(name: str) -> Iterator[Calibration]:
    """Yield a case for each rung, above the one before it; the lowest has none below."""
    rungs = ladder_of(name)
    if rungs and rungs[0] != START:
        lowest = candidate(program_of(name, rungs[0]))
        yield Calibration(name=rungs[0], kind="anchor", values=lowest)
    for worse, better in pairwise(rungs):
        is_start = better == START  # which is a case already, of a figure that is known
        values = {} if is_start else candidate(program_of(name, better))
        yield Calibration(name=RUNG if is_start else better, kind="order", values=values, other=worse)


def _published(name: str) -> Iterator[Calibration]:
    """Yield the published figures of the task that take seconds to repeat."""
    for row in yaml.safe_load(published_program("llm4ad.yaml")):
        if row.get("calibrates") and row["task"].partition(":")[2] == name:
            at_most = row.get("at_most", False)  # of a figure that is never negative
            yield Calibration(
                name=f"{row['heuristic']}, {row['instances']}",
                kind="known",
                values=candidate(published_program(row["program"]) if "program" in row else load_baseline(name)),
                options=row["eval_kwargs"],
                split=row.get("split", "test"),
                metric=row["metric"],
                expected=0.0 if at_most else row["published"],
                abs_tol=row["published"] if at_most else row.get("within", 0.0) + EXACT,
                source=row["source"],
            )


def _sign(task: CodeTask) -> float:
    return 1.0 if task.spec.direction == "maximize" else -1.0
