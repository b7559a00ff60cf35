"""Edits side by side: the same verdicts however many are measured at a time, no gain from hogging, none lost for coming late."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import block, write_dial
from pydantic import ValidationError
from tests.whole import HEAVY

from tracebench_autoresearch.evaluation.neighbours import Neighbours
from tracebench_autoresearch.experiment import read_experiment
from tracebench_autoresearch.history.confirmation import read_confirmation
from tracebench_autoresearch.task import ExperimentTask
from tracebench_autoresearch.trainer.arm import Arm
from tracebench_autoresearch.trainer.judging import PairedTrial
from tracebench_autoresearch.trainer.loop import Autoresearch
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_autoresearch.trainer.side_by_side import KEPT_FIRST, Runner, race
from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Budget, Candidate, Evaluation, ExampleResult, Feedback, Values
from tracebench_core.specs.events import Decision, EvaluationDone
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.toys import build_code

SCORE = """\
. ./dial.txt
awk -v seed="$1" -v gain="$gain" -v other="$other" 'BEGIN { srand(seed); printf "loss: %.6f\\n", 10 - gain - other + rand() / 5 }'
"""
EDITS = ("gain=0", "gain=1"), ("other=0", "other=-1"), ("other=0", "other=2"), ("last", "LAST")


class Track:
    """A bench on which every edit has a worth, and takes `hogs` from each that is measured beside it."""

    def __init__(self, *, hogs: float = 0.0, seed: int = 0, most: int = 10_000) -> None:
        self._rng, self._hogs, self._left = random.Random(seed), hogs, most
        self._asked: list[Values] = []
        self._found: list[Evaluation] = []

    def submit(self, values: Values, **_: object) -> None:
        if not self._left:
            raise BudgetExhausted("evaluations", scope="job")
        self._left -= 1
        self._asked.append(values)

    def collect(self, n: int = 1) -> list[Evaluation]:
        if not self._found:
            edits = sum("edit" in values for values in self._asked)
            self._found = [self._measured(values, edits - ("edit" in values)) for values in self._asked]
            self._asked = []
        return [self._found.pop(0) for _ in range(n)]

    def _measured(self, values: Values, beside: int) -> Evaluation:
        score = float(str(values["worth"])) + self._rng.gauss(0, 1) - self._hogs * beside
        candidate = Candidate(id=str(values.get("edit", "c0")), values=values)
        return Evaluation(candidate=candidate, results=(_result(score),), score=score)


def _result(score: float) -> ExampleResult:
    return ExampleResult(example="x", split="train", feedback=Feedback(score=score), seconds=0.0)


def run_race(worths: Sequence[float], *, halve_after: int = 0, **track: Any) -> list[Runner]:
    seed = track.get("seed", 0)
    bench: Any = Track(**track)
    rule = PairedTrial(random.Random(seed), experiments=len(worths))
    rule.start([random.Random(seed + n).gauss(0, 1) for n in range(4)])
    kept = Candidate(id="c0", values={"worth": 0.0})
    edits: list[Values] = [{"worth": worth, "edit": f"c{n}"} for n, worth in enumerate(worths, 1)]
    runners = [Runner(Arm(bench, values, kept, "an idea"), rule.contest()) for values in edits]
    race(bench, rule, runners, halve_after=halve_after)
    return runners


def ends(runners: Sequence[Runner]) -> list[str]:
    return [runner.ruling.verdict if runner.ruling is not None else "" for runner in runners]


def test_the_best_of_a_race_is_kept_and_those_behind_are_dropped() -> None:
    runners = run_race([3.0, 3.5, 4.0, 9.0], halve_after=1)

    assert ends(runners) == ["indecisive"] * 3 + ["accepted"]
    assert sorted(runner.contest.runs for runner in runners)[:3] == [1, 1, 2]
    reasons = [runner.ruling.reason for runner in runners if runner.ruling is not None]
    assert sum("behind others of its race" in reason for reason in reasons) == 3


def test_two_that_win_are_not_kept_both() -> None:
    runners = run_race([9.0, 9.0])

    assert sorted(ends(runners)) == ["accepted", "indecisive"]
    assert ends(run_race([9.0, 30.0]))[1] == "accepted", "the greater gain"
    late = next(runner for runner in runners if runner.ruling and runner.ruling.verdict == "indecisive")
    assert late.ruling is not None
    assert late.ruling.reason.endswith(KEPT_FIRST)


def test_what_hogs_the_machine_gains_nothing_by_it() -> None:
    """Each edit takes three standard deviations from its neighbours. Were the sides of a pair neighbours, every one would be kept."""
    verdicts = [verdict for seed in range(60) for verdict in ends(run_race([0.0] * 4, hogs=3.0, seed=seed))]

    assert verdicts.count("accepted") <= 4, "at most one in twenty of 60 races keeps any, on average"


def test_a_budget_that_ends_amid_a_race_leaves_what_was_measured() -> None:
    with pytest.raises(BudgetExhausted):
        run_race([1.0, 1.0], most=3)


@pytest.fixture
def dials(tmp_path: Path) -> Toy:
    folder = write_dial(tmp_path)
    (folder / "dial.txt").write_text("gain=0\n\n\n\n\nother=0\n\n\n\n\n# last\n")
    (folder / "score.sh").write_text(SCORE)
    experiment = read_experiment(folder / "experiment.yaml").model_copy(update={"metrics": ()})
    task: Any = ExperimentTask(experiment)
    return Toy("dials", task, build_code().lesson, target=0.0)


def trial(
    toy: Toy, *, workers: int = 1, budget: Budget | None = None, prompts: list[str] | None = None, **more: Any
) -> Trial:
    def reply(prompt: str, call: int) -> str:
        if prompts is not None:
            prompts.append(prompt)
        old, new = EDITS[call % len(EDITS)]
        return f"Hypothesis: {new}\n{block('dial.txt', old, new)}"

    settings: dict[str, Any] = {"num_experiments": 5, "side_by_side": 4, "max_repeats": 9, **more}
    return run_trial(Autoresearch(AutoresearchSettings(**settings)), toy, answer=reply, budget=budget, workers=workers)


def told(done: Trial) -> tuple[list[tuple[str, str, str]], list[tuple[str, float]]]:
    verdicts = [(e.candidate, e.verdict, e.reason) for e in done.events if isinstance(e, Decision)]
    return verdicts, [(e.candidate, e.score) for e in done.events if isinstance(e, EvaluationDone)]


@HEAVY
def test_verdicts_are_the_same_side_by_side_and_one_by_one_and_who_came_late_is_tried_again(dials: Toy) -> None:
    prompts: list[str] = []
    alone, beside = trial(dials, prompts=prompts), trial(dials, workers=4)

    assert alone.error is None
    assert beside.error is None
    assert told(alone) == told(beside)
    assert "- under way: other=-1" in prompts[2]
    kept = [e.candidate for e in alone.events if isinstance(e, Decision) and e.verdict == "accepted"]
    files = alone.best.values["files"]
    assert len(kept) == 2
    assert isinstance(files, dict)
    assert ("gain=1" in str(files["dial.txt"]), "other=2" in str(files["dial.txt"])) == (True, True)
    assert len(prompts) == 4, (
        "the fifth experiment is the one that came late, on what was kept, and nobody is asked for it"
    )
    found = read_confirmation(beside.events)
    assert found is not None
    assert found.words.startswith("of 2 kept, 2 confirmed, total gain ")


def test_a_measurement_knows_what_was_measured_beside_it() -> None:
    neighbours = Neighbours()
    with neighbours.during("c1") as first:
        with neighbours.during("c2") as second:
            pass
        with neighbours.during("c0") as third:
            pass
    with neighbours.during("c3") as alone:
        pass

    assert (first, second, third, alone) == (["c2", "c0"], ["c1"], ["c1"], [])


def test_a_cap_ends_a_race_with_the_same_verdicts(dials: Toy) -> None:
    done = trial(dials, budget=Budget(evaluations=11))

    assert done.spent == "evaluations"
    assert {e.verdict for e in done.events if isinstance(e, Decision)} == {"indecisive"}


def test_greedy_does_not_race() -> None:
    with pytest.raises(ValidationError, match="is no race"):
        AutoresearchSettings(accept="greedy", side_by_side=2)
