"""The instruction as the thing that is optimised: experiments run under it, and what they achieve is its score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from plugins.tracebench_autoresearch.tests.dials import answer, block, write_dial

from tracebench_autoresearch.experiment import read_experiment
from tracebench_autoresearch.program_task import ProgramTask
from tracebench_autoresearch.task import ExperimentTask
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.toys import build_code


class Once:
    """A trainer that measures the initial program and one more."""

    def train(self, problem: Any) -> None:
        problem.evaluate(problem.initial)
        problem.evaluate({"program": "Make the rate small and careful."}, parents=["c0"])


def researched(folder: Path, reply: Callable[[str, int], str], **settings: Any) -> Trial:
    inner = ExperimentTask(read_experiment(write_dial(folder, noise=0) / "experiment.yaml"))
    task: Any = ProgramTask(inner, AutoresearchSettings(accept="greedy", **settings))
    return run_trial(Once(), Toy("program", task, build_code().lesson, target=-1.0), answer=reply)


def test_a_program_scores_what_its_experiments_achieve(tmp_path: Path) -> None:
    def reply(prompt: str, call: int) -> str:
        if "small and careful" in prompt:
            return answer([{"content": prompt}])
        return f"Hypothesis: worse\n{block('dial.txt', 'rate=5', 'rate=9')}"

    done = researched(tmp_path, reply, num_experiments=6)

    assert done.error is None
    first, second = done.evaluations
    assert (first.score, second.score) == (-5.0, -1.0)
    assert "accepted: the best rate" in second.feedback
    assert second.metrics["kept"] == 2


def test_a_program_under_which_nothing_usable_comes_keeps_the_initial_files(tmp_path: Path) -> None:
    done = researched(tmp_path, lambda *_: "I would rather not.", num_experiments=2)

    assert [evaluation.score for evaluation in done.evaluations] == [-5.0, -5.0]
