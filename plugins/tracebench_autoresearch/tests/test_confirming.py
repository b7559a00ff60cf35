"""What stands of what was kept: edits taken out of files that went on changing, and a run that ends with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import block, write_dial

from tracebench_autoresearch.edits.reverting import without
from tracebench_autoresearch.experiment import read_experiment
from tracebench_autoresearch.history.confirmation import read_confirmation
from tracebench_autoresearch.task import ExperimentTask
from tracebench_autoresearch.trainer.loop import Autoresearch
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_core.specs import Budget
from tracebench_core.specs.events import Decision
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.toys import build_code

LINES = [f"line {n}" for n in range(12)]
BASE = {"a.txt": "\n".join(LINES) + "\n"}


def changed(files: dict[str, str], old: str, new: str) -> dict[str, str]:
    return {path: text.replace(old, new) for path, text in files.items()}


def test_an_edit_is_taken_out_and_later_ones_stay() -> None:
    first = changed(BASE, "line 2", "line two")
    last = changed(first, "line 9", "line nine\nline nine and a half")

    assert without(last, before=BASE, after=first) == changed(BASE, "line 9", "line nine\nline nine and a half")
    assert without(last, before=first, after=last) == first


def test_an_edit_beside_a_later_one_is_taken_out() -> None:
    first = changed(BASE, "line 2", "line two")
    last = changed(first, "line 4", "line four")

    assert without(last, before=BASE, after=first) == changed(BASE, "line 4", "line four")


def test_an_edit_that_later_ones_stand_on_is_left() -> None:
    first = changed(BASE, "line 2", "line two")
    last = changed(first, "line two", "line two, and more")

    assert without(last, before=BASE, after=first) is None


def test_files_that_came_and_went_come_back() -> None:
    first = {**BASE, "new.txt": "new\n"}
    second = {"new.txt": "new\n"}

    assert without(first, before=BASE, after=first) == BASE
    assert without(second, before=first, after=second) == first
    assert without({**BASE, "new.txt": "newer\n"}, before=BASE, after=first) is None


SCORE = """\
. ./dial.txt
awk -v seed="$1" -v gain="$gain" -v other="$other" 'BEGIN { srand(seed); printf "loss: %.6f\\n", 10 - gain - other + rand() / 5 }'
"""
EDITS = ("gain=0", "gain=1"), ("other=0", "other=2"), ("gain=1", "gain=3")


@pytest.fixture
def dials(tmp_path: Path) -> Toy:
    folder = write_dial(tmp_path)
    (folder / "dial.txt").write_text("gain=0\n\n\n\n\nother=0\n")
    (folder / "score.sh").write_text(SCORE)
    experiment = read_experiment(folder / "experiment.yaml").model_copy(update={"metrics": ()})
    task: Any = ExperimentTask(experiment)
    return Toy("dials", task, build_code().lesson, target=0.0)


def run(toy: Toy, *, budget: Budget | None = None, **settings: Any) -> Trial:
    def reply(_prompt: str, call: int) -> str:
        old, new = EDITS[call]
        return f"Hypothesis: {new}\n{block('dial.txt', old, new)}"

    loop = Autoresearch(AutoresearchSettings(num_experiments=3, max_repeats=8, **settings))
    return run_trial(loop, toy, answer=reply, budget=budget)


def test_a_run_ends_with_what_stands_of_what_it_kept(dials: Toy) -> None:
    done = run(dials)

    found = read_confirmation(done.events)
    assert done.error is None
    assert found is not None
    assert found.words.startswith("of 3 kept, 3 confirmed, total gain ")
    assert (found.total.value, found.total.low) == (pytest.approx(5, abs=0.2), pytest.approx(5, abs=0.3))
    gains = {edit.candidate: (round(edit.gain.value or 0), edit.is_step) for edit in found.edits}
    assert gains == {"c1": (1, True), "c2": (2, False), "c3": (2, False)}
    judged = {event.candidate: event.verdict for event in done.events if isinstance(event, Decision)}
    assert [judged[name] for name in ("c1", "c2", "c3")] == ["accepted"] * 3
    assert judged["c4"] == "rejected", "what was kept without an edit may never be the best"
    assert done.best.id == "c3"


def test_what_a_run_kept_by_luck_is_not_confirmed(dials: Toy) -> None:
    """An edit is worth something while it is judged and nothing afterwards: every measurement from the 30th on is the same."""
    task: Any = dials.task
    measure, made = task.measure, []

    def fading(files: Any, context: Any, *, seed: int) -> Any:
        made.append(1)
        return measure({"dial.txt": "gain=0\nother=0\n"} if len(made) > 4 + 2 * 7 else files, context, seed=seed)

    task.measure = fading
    done = run(dials, false_acceptance=0.04)

    found = read_confirmation(done.events)
    assert found is not None
    assert [edit.confirmed for edit in found.edits] == [False]
    assert "of 1 kept, 0 confirmed" in found.words


def test_rounds_that_could_confirm_nothing_are_refused() -> None:
    for confirm, false_acceptance, least in ((4, 0.05, 5), (8, 0.003, 9)):
        with pytest.raises(ValueError, match=f"confirmed in fewer than {least} rounds"):
            AutoresearchSettings(confirm=confirm, false_acceptance=false_acceptance)
        AutoresearchSettings(confirm=least, false_acceptance=false_acceptance)
    AutoresearchSettings(confirm=0)
    AutoresearchSettings(confirm=1, accept="greedy")


def test_nothing_is_said_of_a_confirmation_that_did_not_end_or_was_not_wanted(dials: Toy) -> None:
    ended = run(dials, budget=Budget(evaluations=70))
    unwanted = run(dials, confirm=0)

    assert ended.spent == "evaluations"
    assert [read_confirmation(done.events) for done in (ended, unwanted)] == [None, None]
