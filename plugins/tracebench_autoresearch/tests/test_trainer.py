"""`Autoresearch` in this process: what it keeps, what it tells the model, and how it ends; and the stub that answers it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import answer as rules
from plugins.tracebench_autoresearch.tests.dials import block, write_dial
from pydantic import ValidationError

from tracebench_autoresearch.edits.applying import read_proposal
from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.experiment import read_experiment
from tracebench_autoresearch.stub import answer
from tracebench_autoresearch.task import ExperimentTask
from tracebench_autoresearch.trainer.agent import _left
from tracebench_autoresearch.trainer.loop import Autoresearch
from tracebench_autoresearch.trainer.prompts import build_prompt
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_core.errors import NotApplicableError
from tracebench_core.specs import Budget
from tracebench_core.specs.events import Decision, Proposals
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.toys import build_code, build_number


def trial(toy: Toy, replies: Any, *, budget: Budget | None = None, **settings: Any) -> Trial:
    return run_trial(Autoresearch(AutoresearchSettings(**settings)), toy, answer=replies, budget=budget)


def dial(folder: Path, *, noise: float = 0.01) -> Toy:
    experiment = read_experiment(write_dial(folder, noise=noise) / "experiment.yaml")
    task: Any = ExperimentTask(experiment)
    return Toy("dial", task, build_code().lesson, target=-1.0)


def verdicts(done: Trial) -> list[str]:
    assert done.error is None, done.error
    return [event.verdict for event in done.events if isinstance(event, Decision)]


def test_the_loop_keeps_reverts_and_goes_on_after_a_crash(tmp_path: Path) -> None:
    prompts: list[str] = []

    def reply(prompt: str, call: int) -> str:
        prompts.append(prompt)
        return rules([{"content": prompt}])

    done = trial(dial(tmp_path), reply, num_experiments=6, max_repeats=8, baseline_repeats=3, confirm=0)

    assert verdicts(done) == ["accepted", "rejected", "rejected", "rejected", "accepted"]
    counted = [event for event in done.events if isinstance(event, Proposals)]
    assert (sum(e.asked for e in counted), sum(e.usable for e in counted), sum(e.invalid for e in counted)) == (6, 5, 1)
    assert "cannot go on" in prompts[4]
    assert "Your last proposal was not run: the text to search for" in prompts[5]
    assert "accepted: a smaller rate" in prompts[5]


def test_a_budget_that_ends_amid_the_repeats_leaves_an_indecisive_edit(tmp_path: Path) -> None:
    ahead = f"Hypothesis: luck\n{block('dial.txt', 'rate=5', 'rate=3')}"

    done = trial(
        dial(tmp_path, noise=0.5),
        lambda *_: ahead,
        budget=Budget(evaluations=7),
        num_experiments=1,
        baseline_repeats=3,
    )

    assert done.spent == "evaluations"
    assert verdicts(done) == ["indecisive"]


def test_the_same_files_are_not_measured_twice(tmp_path: Path) -> None:
    worse = f"Hypothesis: worse\n{block('dial.txt', 'rate=5', 'rate=9')}"

    done = trial(dial(tmp_path), lambda *_: worse, num_experiments=3, accept="greedy")

    assert verdicts(done) == ["rejected"]
    assert len(done.evaluations) == 2
    assert sum(event.duplicate for event in done.events if isinstance(event, Proposals)) == 2


def test_code_is_a_file_of_its_parameters_name() -> None:
    whole = "Hypothesis: double\nFILE: code\n```python\ndef transform(x):\n    return 2 * x + 1\n```\n"

    done = trial(build_code(), lambda *_: whole, num_experiments=1, accept="greedy")

    assert verdicts(done) == ["accepted"]
    assert "2 * x + 1" in str(done.best.values["code"])


def test_an_agent_that_leaves_a_link_or_no_file_is_refused(tmp_path: Path) -> None:
    script = "case $(cat $AGENT_NOTES/prompt.md) in *'a link'*) rm dial.txt;; *) ln -sf /etc/passwd dial.txt;; esac"

    done = trial(dial(tmp_path), lambda *_: "", num_experiments=2, accept="greedy", agent=("sh", "-c", script))

    assert verdicts(done) == ["rejected"]
    assert sum(event.invalid for event in done.events if isinstance(event, Proposals)) == 1
    assert [e.status for e in done.evaluations] == ["ok", "invalid"]


def test_an_agent_that_leaves_holes_or_a_heap_takes_no_memory_of_ours(tmp_path: Path) -> None:
    holes = "truncate -s 8T $AGENT_NOTES/hypothesis.txt; echo 3 > dial.txt"
    done = trial(dial(tmp_path / "holes"), lambda *_: "", num_experiments=1, accept="greedy", agent=("sh", "-c", holes))
    assert done.error is None
    assert [event.invalid for event in done.events if isinstance(event, Proposals)] == [0]

    for number in range(70):
        with (tmp_path / f"heap{number}.txt").open("wb") as file:
            file.write(b"x" * (1 << 20))
    with pytest.raises(UnusableEdit, match="more than 64 MiB"):
        _left(tmp_path)


def test_a_number_is_no_file_and_one_measurement_is_no_noise() -> None:
    assert isinstance(trial(build_number(), lambda *_: "").error, NotApplicableError)
    with pytest.raises(ValidationError, match="at least two"):
        AutoresearchSettings(baseline_repeats=1)


def test_the_stub_changes_a_number_of_a_shown_file() -> None:
    files = {"a.py": "RATE = 0.5\nname = 'x'\n```\n", "b.txt": "nothing here"}
    prompt = build_prompt(program="", objective="", files=files, tried=(), last="", notes=())

    reply = answer(prompt, random.Random(1))

    assert reply is not None
    changed = read_proposal(reply, files)
    assert changed.files["a.py"] != files["a.py"]
    assert changed.hypothesis.startswith("RATE 0.5 ->")
    assert answer([{"role": "user", "content": "another prompt"}], random.Random(1)) is None
