"""The scripted model on real tasks: it moves along the ladder of a task's own cases as its name says, and by nothing else."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest

from tracebench_engine import api
from tracebench_fields.model import LOST, quality_of
from tracebench_open.ladders import Climber
from tracebench_open.rungs import USED, Dials, Whole, ladder

WHOLE = {
    "veribench_coq:file/list_sum": (3, 0),
    "autoresearch:tokenizer": (3, 1),
    "autoresearch:stock": (3, 1),
    "opto:opentrace_greeting": (2, 0),
}
"""By task, how many rungs its cases order, and which of them it starts at."""


def asked(climber: Climber, task: str, values: dict[str, Any], seed: int = 1) -> str:
    told = json.dumps({"task": task, "job": f"j{seed}", "seed": seed, "options": {}})
    shown = f"<current_values>\n{json.dumps(values)}\n</current_values>"
    return climber([{"role": "user", "content": f"Improve it.\n{shown}\n"}], told)


def initial_of(task: str) -> dict[str, Any]:
    opened: Any = api.load_ref(api.open_host().task(task).loader, owner=task)()
    return {one.name: one.initial for one in opened.parameters}


@pytest.mark.parametrize("task", WHOLE)
def test_a_model_that_always_improves_takes_one_answer_a_rung_and_stays_at_the_top(task: str) -> None:
    rungs, start = WHOLE[task]
    found = ladder(task)
    values = initial_of(task)
    assert isinstance(found, Whole)
    assert (len(found.rungs), found.start, found.at(values)) == (rungs, start, start)
    climber = Climber(quality_of("p100-h0-r0"))
    met = [start]
    for _ in range(rungs):
        values |= json.loads(asked(climber, task, values))["values"]
        met.append(found.at(values) or 0)
    assert met == [min(start + step, rungs - 1) for step in range(rungs + 1)]


def test_a_model_that_always_harms_goes_down_to_the_lowest_rung() -> None:
    values, climber = initial_of("autoresearch:stock"), Climber(quality_of("p0-h100-r0"))
    for _ in range(2):
        values |= json.loads(asked(climber, "autoresearch:stock", values))["values"]
    assert json.loads(values["files"]["policy.json"])["monday"] == 0


def test_what_is_no_rung_is_given_back_and_a_task_without_a_ladder_is_not_known() -> None:
    climber, own = Climber(quality_of("p100-h0-r0")), {"files": {"policy.json": "{}"}}
    assert json.loads(asked(climber, "autoresearch:stock", own))["values"] == own
    assert asked(climber, "terminal_bench:demo", {"advice": ""}) == LOST
    assert asked(climber, "no:such", {"x": 1}) == LOST


def test_the_model_moves_as_often_as_its_name_says_and_answers_the_same_to_the_same_job() -> None:
    task, found = "autoresearch:stock", ladder("autoresearch:stock")
    assert isinstance(found, Whole)
    values = initial_of(task)
    said = [asked(Climber(quality_of("p20-h45-r5")), task, values, seed) for seed in range(600)]
    assert said == [asked(Climber(quality_of("p20-h45-r5")), task, values, seed) for seed in range(600)]
    at = [found.at(json.loads(one)["values"]) if one.startswith("{") else None for one in said]
    shares = [at.count(place) / len(at) for place in (2, 0, None, 1)]
    assert shares == pytest.approx([0.2, 0.45, 0.05, 0.3], abs=0.06)  # three standard errors of the widest


def test_the_answers_on_programs_with_dials_are_those_that_published_receipts_stand_on() -> None:
    digest, climber = hashlib.sha256(), Climber(quality_of("p20-h45-r5"))
    for task in USED:
        values = initial_of(task)
        for _ in range(20):
            said = asked(climber, task, values)
            digest.update(said.encode())
            values |= json.loads(said)["values"] if said.startswith("{") else {}
    assert digest.hexdigest() == "e6fc233862a64cd4477122423b97a127dc7a04f2a77fba537322e7fd68299968"


def test_dials_move_one_rung_at_a_time() -> None:
    task = "llm4ad:optimization/knapsack_construct"
    found, climber, values = ladder(task), Climber(quality_of("p100-h0-r0")), initial_of(task)
    assert isinstance(found, Dials)
    met = [found.dials_in(values["program"]) or ()]
    for _ in range(8):
        values |= json.loads(asked(climber, task, values))["values"]
        met.append(found.dials_in(values["program"]) or ())
    assert all(sum(after) - sum(before) in {0, 1} for before, after in pairwise(met))
    assert met[-1] == (len(found.rungs) - 1,) * 6
