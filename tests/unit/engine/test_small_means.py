"""A run's open files, its pauses while a provider is away, and what a warm start is taken from."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_core.errors import ConfigError, RunDirError
from tracebench_engine.matrix import warm_start
from tracebench_engine.run import open_files, pause
from tracebench_engine.run.open_files import demand_open_files
from tracebench_engine.run.pause import OutagePause
from tracebench_runs.storage.layout import RunLayout


@pytest.mark.parametrize(
    ("most", "refused", "told"), [(63, True, False), (64, False, True), (255, False, True), (256, False, False)]
)
def test_few_open_files_are_told_and_too_few_refuse_a_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, most: int, refused: bool, told: bool
) -> None:  # fmt: skip
    asked: list[int] = []
    monkeypatch.setattr(open_files, "lift_open_files", lambda wanted: asked.append(wanted) or most)
    layout = RunLayout(Path("/runs/r"))
    if refused:
        with pytest.raises(RunDirError) as caught:
            demand_open_files(layout)
        assert (
            str(caught.value) == f"Only {most} files may be open at once, and the processes of a run need at least 64."
        )
        assert caught.value.hint == f"ulimit -n 1024; trace-bench resume {layout.path}"
    else:
        demand_open_files(layout)
    words = [f"only {most} files may be open at once, and a run may need more: ulimit -n 1024"]
    assert [record.getMessage() for record in caplog.records] == (words if told else [])
    assert asked == [1024]


class Provider:
    """Says which models are away, look by look, and lets a test wait until it was asked so often."""

    def __init__(self, *looks: Any) -> None:
        self.looks, self.asked = [*looks], 0
        self.done = threading.Event()

    def __call__(self) -> dict[str, float]:
        self.asked += 1
        if not self.looks:
            self.done.set()
            return self.last
        found = self.looks.pop(0)
        if isinstance(found, Exception):
            raise found
        self.last = dict.fromkeys(found, 1.0)
        return self.last


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[..., tuple[list[str], bool]]:
    monkeypatch.setattr(pause, "INTERVAL", 0.001)

    def watch(*looks: Any) -> tuple[list[str], bool]:
        provider = Provider(*looks)
        with caplog.at_level(logging.WARNING):
            outage = OutagePause(provider, limit=90.0)
            assert provider.done.wait(60)
            away = outage.is_away
            outage.close()
            outage.close()
        asked = provider.asked
        assert provider.asked == asked
        return [record.getMessage() for record in caplog.records], away

    return watch


GONE = " does not answer any more: the run is paused, and goes on when it does, or fails its calls after 90 s (llm.outage_limit)"
BACK = " is awaited no more: the run goes on"


def test_models_that_go_away_and_come_back_are_each_told_once(watched: Any) -> None:
    said, away = watched((), ("b", "a"), ("b", "a"), ("a",), (), ())
    assert said == [f"`a`{GONE}", f"`b`{GONE}", f"`b`{BACK}", f"`a`{BACK}"]
    assert not away


def test_while_a_model_is_away_the_run_waits_and_a_gateway_that_restarts_says_nothing(watched: Any) -> None:
    assert watched(("a",), OSError("refused"), ("a",)) == ([f"`a`{GONE}"], True)


def test_a_warm_start_is_taken_from_a_run_that_is_there(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=[1, 2])
    opened = warm_start._open("r", runs_dir=str(tmp_path), where="at")
    assert opened.layout.path == run.layout.path
    assert warm_start._open(str(run.layout.path), runs_dir="none", where="at").run_id == "r"
    with pytest.raises(ConfigError) as caught:
        warm_start._open("nne", runs_dir=str(tmp_path), where="at")
    assert str(caught.value) == f"at.run: there is no run `nne`, here or in `{tmp_path}`."
    assert caught.value.hint == "trace-bench runs"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"^at\.run: ") as broken:
        warm_start._open("empty", runs_dir=str(tmp_path), where="at")
    assert broken.value.hint


def test_a_job_of_a_warm_start_is_named_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x", "s:y"], seeds=[1])
    one, other = run.planned
    hint = f"trace-bench show {tmp_path}/r"
    assert warm_start._job_of(run, one.job_id[:7], task_id="s:x", where="at").job_id == one.job_id
    for prefix, task, words in (
        ("zz", "s:x", "at.job: run `r` has no job `zz`."),
        (other.job_id, "s:x", f"at: job `{other.job_id}` optimised `s:y`, not `s:x`."),
        (None, "s:z", "at: run `r` optimised `s:x`, `s:y`, not `s:z`."),
    ):
        with pytest.raises(ConfigError) as caught:
            warm_start._job_of(run, prefix, task_id=task, where="at")
        assert (str(caught.value), caught.value.hint) == (words, hint)
