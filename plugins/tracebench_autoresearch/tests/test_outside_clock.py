"""What is counted outside of a box: by whom, of what, and which metrics are nobody's word but the candidate's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import write
from tests.whole import HEAVY

from tracebench_autoresearch.catalog import find
from tracebench_autoresearch.experiment import SystemExperiment, read_experiment
from tracebench_core.errors import UsageError
from tracebench_engine.api.evaluating import evaluate_task

RACE: dict[str, Any] = {
    "editable": ["work.sh"],
    "run": {"command": "sh work.sh", "outputs": ["out.txt"]},
    "metric": {"name": "speedup", "kind": "speedup"},
    "metrics": [{"name": "box", "kind": "cpu_seconds", "direction": "minimize"}],
}
WORK = "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; echo done > out.txt\n"


def measured(root: Path, text: str) -> Any:
    return evaluate_task("autoresearch:race", {"files": {"work.sh": text}}, root=root)[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "race", RACE, {"work.sh": WORK})
    return tmp_path


def test_a_speedup_is_counted_from_outside(root: Path) -> None:
    told = measured(root, f"echo speedup: 99; echo box: 0; {WORK}")

    assert told.status == "ok", told.text
    assert 0 < told.score < 50
    assert told.metrics["box"] > 0
    assert told.score == told.metrics["speedup"]


@pytest.mark.parametrize(
    "wrong", ["echo other > out.txt", ":", "mkdir out.txt", "echo done > elsewhere; ln -s elsewhere out.txt"]
)
def test_work_that_is_not_the_same_has_no_speedup(wrong: str, root: Path) -> None:
    told = measured(root, wrong)

    assert (told.status, told.score) == ("invalid", 0.0)
    assert "`out.txt` is not what the initial files write" in told.text


@HEAVY
def test_work_that_a_command_leaves_to_others_counts(root: Path) -> None:
    much = WORK.replace("3000", "100000")
    alone = measured(root, much)
    left = measured(root, f"(setsid sh -c '{much.strip()}; sleep 999' &) ; while [ ! -s out.txt ]; do sleep 0.05; done")

    assert left.status == alone.status == "ok", left.text
    assert left.metrics["box"] > alone.metrics["box"] / 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run": {"command": "sh work.sh", "outside": True, "outputs": ["out.txt"]}}, "`run` is `outside`"),
        ({"run": "sh work.sh"}, "needs `outputs`"),
    ],
)
def test_what_cannot_be_counted_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    write(tmp_path, "race", RACE | change, {"work.sh": WORK})

    with pytest.raises(UsageError, match=words):
        read_experiment(tmp_path / "race" / "experiment.yaml")


def experiment(**changes: Any) -> SystemExperiment:
    plain = {"editable": ["a.py"], "run": "python a.py", "metric": {"name": "loss"}, "metrics": [{"name": "size"}]}
    return SystemExperiment.model_validate(plain | changes)


def test_a_metric_that_the_candidate_prints_is_its_own_word() -> None:
    assert experiment().self_reported == ("score", "loss", "size")
    assert experiment(apart=True).self_reported == ()
    assert experiment(evaluate="python judge.py").self_reported == ()
    raced = experiment(run={"command": "python a.py", "outputs": ["o"]}, metric={"name": "speedup", "kind": "speedup"})
    assert raced.self_reported == ("size",)


def test_of_those_that_ship_only_the_original_is_self_reported() -> None:
    names = ("coverage", "karpathy", "speed", "tiny_lm", "unit_pass_rate")

    assert [name for name in names if find(name).self_reported] == ["karpathy"]


LATE = """
import time
real, time.monotonic = time.monotonic, lambda: 0.0
def train(text, seconds, seed):
    end = real() + 60
    while real() < end:
        pass
"""


@pytest.mark.heavy("autoresearch")
def test_a_model_that_trains_too_long_is_ended_whatever_its_clock_says() -> None:
    (told,) = evaluate_task("autoresearch:tiny_lm", {"files": {"train.py": LATE}})

    assert told.status == "error"
    assert "training took more than" in told.text
