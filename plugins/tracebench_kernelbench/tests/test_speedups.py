"""The chart of speed-ups says what the events say, and what was not timed has no value in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_core.specs.events import CandidateSeen, EvaluationDone, Event
from tracebench_engine.api.records import Run, load_run
from tracebench_kernelbench.speedups import view


def _seen(name: str) -> Event:
    return CandidateSeen(id=name, parents=(), origin="", values={}, step=None)


def _timed(name: str, status: str = "ok", **metrics: float) -> Event:
    told: dict[str, Any] = {"split": "train", "example": "p", "score": 1.0, "feedback": "", "seconds": 0.0}
    return EvaluationDone.model_validate({"candidate": name, "status": status, "metrics": metrics, **told})


@pytest.fixture
def view_of(tmp_path: Path) -> Callable[..., Any]:
    """Show a job that holds these events."""

    def shown(*events: Event, whole: bool = False) -> Any:
        made: Run = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["kernelbench:p"], seeds=[1])
        job_id = made.planned[0].job_id
        made.layout.job(job_id).events.write_text("".join(f"{event.model_dump_json()}\n" for event in events))
        return view(load_run(made.layout.path), None if whole else job_id)

    return shown


def test_speed_ups_have_their_noise_and_wrong_kernels_no_value(view_of: Callable[..., Any]) -> None:
    chart = view_of(
        _seen("a"), _timed("a", speedup_raw=1.0, noise=0.1), _seen("b"), _timed("b", "invalid", speedup=0.0),
        _timed("unknown", speedup_raw=9.0, noise=0.1), _seen("c"), _timed("c", speedup_raw=2.0, noise=0.25),
    )  # fmt: skip
    assert chart is not None
    band, timed, wrong = (layer["data"]["values"] for layer in chart["layer"])
    assert [(row["number"], row["speedup"], row["low"], row["high"]) for row in timed][1] == (2, 2.0, 1.6, 2.5)
    assert [row["candidate"] for row in wrong] == ["b"]
    assert wrong[0]["speedup"] is None
    assert 1.1 < band[0]["high"] < 1.25


@pytest.mark.parametrize("events", [(), (_seen("b"), _timed("b", "invalid"))])
def test_there_is_no_chart_of_nothing(view_of: Callable[..., Any], events: tuple[Event, ...]) -> None:
    assert view_of(*events) is None


def test_there_is_no_chart_of_a_whole_run(view_of: Callable[..., Any]) -> None:
    assert view_of(_seen("a"), _timed("a", speedup_raw=1.0, noise=0.1), whole=True) is None
