"""A winner is scored several times from the same inputs: its own chance is told with its spread, and no model is paid twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import command_in, installed_in

SUITE = """
import random
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Limits, Parameter, TaskSpec

DICE = "import random\\n\\ndef roll(seed):\\n    return random.SystemRandom().random()\\n"
SEEDED = "import random\\n\\ndef roll(seed):\\n    return random.Random(seed).random()\\n"

class Rolls:
    objective = "roll high"
    splits = {"train": (Example(id="a"), Example(id="b")), "test": (Example(id="t"),)}
    def __init__(self, code):
        self.parameters = (Parameter(name="code", initial=code, kind="code"),)
    def run(self, values, example, context):
        outcome = context.sandbox.call(values["code"], "roll", context.seed, limits=Limits(seconds=5.0))
        if outcome.status != "ok":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
        return outcome.value
    def guide(self, example, output, context):
        context.record("roll", {"score": float(output)})
        (context.artifacts / "roll.txt").write_text(str(output))
        return Feedback(score=float(output), text="so")

class Asks(Rolls):
    def run(self, values, example, context):
        said = context.complete([{"role": "user", "content": "How much? " + example.id}])[0].text
        return random.random() if "unsteady" in values["code"] else float(len(said))

def dice(): return Rolls(DICE)
def seeded(): return Rolls(SEEDED)
def asks(): return Asks("steady")

@hookimpl
def tracebench_tasks():
    specs = [TaskSpec(name=n, loader=f"mine:{n}", title=n, sandbox=()) for n in ("dice", "seeded")]
    return [*specs, TaskSpec(name="asks", loader="mine:asks", title="asks", uses_model=True)]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one run that all tests read."""
    folder = tmp_path_factory.mktemp("ran")
    env = installed_in(folder, "mine", SUITE, group="tracebench", entry="mine", target="mine")
    (folder / "c.yaml").write_text("run_id: r\ntasks: ['mine:dice', 'mine:seeded', 'mine:asks']\ntrainers: [NoOp]\n")
    done = command_in(folder)("run", "--config", "c.yaml", env={"TRACEBENCH_PLUGINS": "mine", **env})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def jobs(ran: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for file in (ran / "runs" / "r" / "jobs").glob("*/results.json"):
        result = json.loads(file.read_text())
        events = [json.loads(line) for line in (file.parent / "events.jsonl").read_text().splitlines()]
        kept = sorted(path.parent.name for path in file.parent.glob("artifacts/mine/*/roll.txt"))
        found[result["task_id"]] = result | {"events": events, "kept": kept}
    return found


@pytest.mark.parametrize("task", ["mine:dice", "mine:seeded", "mine:asks"])
def test_what_a_suite_keeps_is_kept_of_the_first_measurement_alone(jobs: dict[str, dict[str, Any]], task: str) -> None:
    events = jobs[task]["events"]
    scored = next(i for i, event in enumerate(events) if event["kind"] == "data")
    records = [(e["candidate"], e["example"]) for e in events[scored:] if e["kind"] == "record"]

    assert sorted(records) == [("c0", "a"), ("c0", "b"), ("c0", "t")]
    assert [name for name in jobs[task]["kept"] if "scoring" in name] == [
        "scoring-c0-a",
        "scoring-c0-b",
        "scoring-c0-t",
    ]


def test_a_comparison_tells_the_spread_and_counts_the_mean(jobs: dict[str, dict[str, Any]], ran: Path) -> None:
    found = json.loads(command_in(ran)("compare", "r", "--json").stdout)

    dice = jobs["mine:dice"]
    low, high = min(dice["score_test_repeats"]), max(dice["score_test_repeats"])
    (told,) = [words for words in found["remarks"] if "again from the same inputs" in words]
    assert told.startswith("mine:dice: in 1 of 1 jobs the winner scores otherwise")
    assert f"{low:.6g} to {high:.6g} in 5 measurements, of NoOp, seed" in told
    (standing,) = next(task for task in found["tasks"] if task["task"] == "mine:dice")["standings"]
    assert standing["mean"]["estimate"] == pytest.approx(sum(dice["score_test_repeats"]) / 5)


def test_a_random_winner_is_told_with_its_spread_and_no_other_is(jobs: dict[str, dict[str, Any]]) -> None:
    dice, seeded = jobs["mine:dice"], jobs["mine:seeded"]

    assert len(dice["score_val_repeats"]) == len(dice["score_test_repeats"]) == 5
    assert len(set(dice["score_val_repeats"])) > 1
    assert dice["score_val_best"] == pytest.approx(sum(dice["score_val_repeats"]) / 5)
    assert "the winner's score is itself random" in dice["flags"]["random-candidate"]
    assert len(seeded["score_val_repeats"]) == 2
    assert len({*seeded["score_val_repeats"], seeded["score_val_best"]}) == 1
    assert "random-candidate" not in seeded["flags"]


def test_what_a_model_said_is_not_paid_for_twice(jobs: dict[str, dict[str, Any]]) -> None:
    asks = jobs["mine:asks"]

    assert asks["score_val_repeats"] == [asks["score_val_best"]] * 2
    calls = [e for e in asks["events"] if e["kind"] == "llm_call" and e["phase"] == "scoring"]
    measured = [e for e in asks["events"] if e["kind"] == "evaluation" and e["by"] == "engine"]
    assert len(calls) == len(measured) == 3  # what came out as before is not told twice
