"""What Weights & Biases' library is told of a job, with a small module in its place that writes it down."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_trackers.readings import AXES, Configured, Ended, Kept, Numbers
from tracebench_trackers.settings import WandbSettings
from tracebench_trackers.wandb_sink import WandbJob


class Run:
    """A run of theirs: all that it is told, in order."""

    def __init__(self, folder: Path, opened: dict[str, Any]) -> None:
        self.dir, self.name, self.opened, self.told = str(folder), "", opened, list[tuple[Any, ...]]()
        self.config = SimpleNamespace(update=lambda values, **how: self.told.append(("config", values, how)))
        self.summary = SimpleNamespace(update=lambda values: self.told.append(("summary", values)))

    def define_metric(self, name: str, *, step_metric: str | None = None) -> None:
        self.told.append(("metric", name, step_metric))

    def log(self, values: dict[str, Any]) -> None:
        self.told.append(("log", values))

    def finish(self, **how: Any) -> None:
        self.told.append(("finish", how))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    opened: list[Run] = []
    module = ModuleType("wandb")

    def init(**given: Any) -> Run:
        opened.append(Run(tmp_path / "theirs", given))
        return opened[-1]

    vars(module).update(init=init, Settings=lambda **given: given)
    monkeypatch.setitem(sys.modules, "wandb", module)
    return opened


@pytest.fixture
def layout(tmp_path: Path) -> JobLayout:
    return RunLayout(tmp_path / "tracked").job("0123456789ab")


def test_a_job_is_a_run_of_its_own_in_the_group_of_its_run(runs: list[Run], layout: JobLayout) -> None:
    for _ in range(2):  # one process trains, another scores
        WandbJob(WandbSettings(project="p", entity="e", mode="online"), layout)
    for number, run in enumerate(runs, 1):
        own = run.opened.pop("settings")
        assert own == {"silent": True, "console": "off", "save_code": False, "disable_git": True}
        assert run.opened == {
            "project": "p", "entity": "e", "mode": "online", "group": "tracked", "name": "0123456789ab", "id": "tracked-0123456789ab",
            "resume": "allow", "reinit": "create_new", "dir": str(layout.path / "wandb" / str(number)),
        }  # fmt: skip
        assert (layout.path / "wandb" / str(number)).is_dir()


def test_every_number_has_its_axis(runs: list[Run], layout: JobLayout) -> None:
    WandbJob(WandbSettings(), layout)
    axes = [
        ("metric", name, at)
        for axis in AXES
        for name, at in ((f"used/{axis}", None), (f"best/by_{axis}", f"used/{axis}"))
    ]
    steps = [("metric", f"{kind}/*", "step") for kind in ("step", "metric")]
    assert runs[0].told == [("metric", "step", None), *axes, *steps]


def test_each_reading_is_told_in_its_own_way(runs: list[Run], layout: JobLayout, tmp_path: Path) -> None:
    job = WandbJob(WandbSettings(), layout)
    (told := runs[0].told).clear()
    (tmp_path / "log").write_bytes(b"\xff")
    for reading in (
        Configured("a name", {"a": "b"}), Numbers({"score/test/best": 0.5}, None), Numbers({"step/score": 1.0}, 3),
        Numbers({"best/by_tokens": 2.0}, 9, "tokens"), Kept("texts/a", "é"), Kept("log", path=tmp_path / "log"),
    ):  # fmt: skip
        job.take(reading)
    assert runs[0].name == "a name"
    assert told == [
        ("config", {"a": "b"}, {"allow_val_change": True}), ("summary", {"score/test/best": 0.5}),
        ("log", {"step/score": 1.0, "step": 3}), ("log", {"best/by_tokens": 2.0, "used/tokens": 9}),
    ]  # fmt: skip
    assert (tmp_path / "theirs/texts/a").read_text(encoding="utf-8") == "é"
    assert (tmp_path / "theirs/log").read_bytes() == b"\xff"
    assert not (tmp_path / "theirs/log").is_symlink()


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("failed", 1), ("timeout", 1)])
def test_an_end_is_told_with_its_reason(runs: list[Run], layout: JobLayout, status: str, code: int) -> None:
    job = WandbJob(WandbSettings(), layout)
    (told := runs[0].told).clear()
    job.take(Ended(status, "why"))
    assert told == [("summary", {"status": status, "stop_reason": "why"}), ("finish", {"exit_code": code})]
