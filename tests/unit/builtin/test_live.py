"""The live view: how far a running job is, read from its events while they are written."""

from __future__ import annotations

import io
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tracebench_core.specs import Budget, JobResult, JobSpec, TaskVersion
from tracebench_engine.builtin.live import POINTS, Curves, LiveReporter, drawn, sampled
from tracebench_engine.builtin.progress import JobProgress, clock
from tracebench_engine.builtin.reporters import outcome
from tracebench_runs.storage.layout import RunLayout


def a_job(budget: Budget) -> JobSpec:
    return JobSpec(
        job_id="0" * 12, task_id="mine:t", task_version=TaskVersion(), plugin_version="x 1", trainer_id="Climb", params={},
        settings={}, optimizer=None, optimizer_kwargs={}, guide=None, guide_kwargs={}, logger=None, logger_kwargs={}, eval_kwargs={},
        seed=7, mode="stub", models={}, budget=budget,
    )  # fmt: skip


def ended(job: JobSpec) -> JobResult:
    return JobResult(
        job_id=job.job_id, task_id=job.task_id, suite="mine", trainer_id=job.trainer_id, seed=job.seed, mode="stub", status="ok",
        stop_reason="finished",
    )  # fmt: skip


EVENTS = [
    {"kind": "evaluation", "by": "trainer", "reused": False},
    {"kind": "evaluation", "by": "trainer", "reused": True},
    {"kind": "evaluation", "by": "engine"},
    {"kind": "llm_call", "phase": "training", "status": "ok", "prompt_tokens": 90, "completion_tokens": 10, "usd": 0.5},
    {"kind": "best", "score": -1.5},
    {"kind": "llm_call", "phase": "scoring", "status": "ok"},
]


def test_a_job_is_followed_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    progress = JobProgress(a_job(Budget(evaluations=4, usd=1.0)), file)
    progress.read()  # there is no file yet
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    file.write_text(text + '{"kind": "evalu')

    progress.read()
    assert progress.used == {"evaluations": 1, "llm_calls": 1, "tokens": 100, "usd": 0.5}
    assert progress.best == -1.5
    assert progress.share() == 0.5
    assert (progress.bar(), progress.amounts()) == ("█████░░░░░", "1 of 4 evaluations, 0.5 of 1 usd")
    file.write_text(text + '{"kind": "evaluation", "by": "trainer"}\n')
    progress.read()
    progress.read()
    assert progress.used["evaluations"] == 2


def test_an_evaluation_under_way_says_what_it_does_until_it_is_done(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    progress = JobProgress(a_job(Budget(evaluations=4)), file)
    seen = []
    with file.open("a") as log:
        for event in (
            {"kind": "activity", "doing": "terminal tasks", "done": 2, "total": 5},
            {"kind": "evaluation", "by": "trainer"},
            {"kind": "trained", "status": "ok"},
        ):
            log.write(json.dumps(event) + "\n")
            log.flush()
            progress.read()
            seen.append(progress.doing)

    assert seen == ["terminal tasks (2 of 5)", "", "scoring the finalists"]


def test_without_a_cap_there_is_no_bar(tmp_path: Path) -> None:
    progress = JobProgress(a_job(Budget()), tmp_path / "none")

    assert (progress.bar(), progress.amounts()) == ("-", "0 evaluations")
    assert progress.left() is None


@pytest.mark.parametrize(("seconds", "shown"), [(None, "-"), (5, "0:05"), (61.4, "1:01"), (3725, "1:02:05")])
def test_times_are_short(seconds: float | None, shown: str) -> None:
    assert clock(seconds) == shown


def test_the_view_shows_running_jobs_with_their_budget(tmp_path: Path) -> None:
    job = a_job(Budget(evaluations=2))
    events = tmp_path / "jobs" / job.job_id / "events.jsonl"
    events.parent.mkdir(parents=True)
    doing = {"kind": "activity", "doing": "compiling\x1b[2J", "done": None, "total": None}
    events.write_text("".join(json.dumps(event) + "\n" for event in (EVENTS[0], EVENTS[4], doing)))
    stream = io.StringIO()
    view = LiveReporter(stream)
    view._console.width = 120

    view.run_started(tmp_path, 3)
    view.job_started(job)
    view._console.print(view._draw())
    view.run_finished(tmp_path, {"ok": 1})

    assert "█████░░░░░  1 of 2 evaluations" in stream.getvalue()
    assert "-1.5" in stream.getvalue()
    assert "mine:t seed 7: compiling[2J" in stream.getvalue()
    assert "0 of 3 jobs done, 1 running" in stream.getvalue()


def test_ends_are_counted_by_status_from_the_first_on() -> None:
    view, job = LiveReporter(io.StringIO()), a_job(Budget(evaluations=2))
    for status in ("ok", "failed", "ok"):
        view.job_finished(job, ended(job).model_copy(update={"status": status}))
    assert view._rows == {(job.task_id, job.called): {"ok": 2, "failed": 1}}


@pytest.mark.parametrize(("ends", "height"), [(0, 60), (5, 60), (6, 60), (7, 60), (30, 60), (30, 12), (30, 6)])
def test_the_last_six_ends_are_shown_as_far_as_there_is_room(ends: int, height: int) -> None:
    view, jobs = (
        LiveReporter(io.StringIO()),
        [a_job(Budget(evaluations=2)).model_copy(update={"seed": n}) for n in range(ends)],
    )
    view._console.width, view._console.height = 100, height
    for job in jobs:
        view.job_finished(job, ended(job))
    told = [line for line in view._lines() if "seed" in line]
    room = height - 2 - len([line for line in view._lines() if "seed" not in line])
    assert told == [outcome(job, ended(job)) for job in jobs][-min(6, room) :] if room > 0 else not told


def test_the_curve_and_the_bar_of_two_caps_are_on_one_scale(tmp_path: Path) -> None:
    """A job that has used a tenth of its evaluations and half of its money is half through; what is over a cap is its end."""
    file = tmp_path / "events.jsonl"
    job = JobProgress(a_job(Budget(evaluations=10, usd=1.0)), file)
    bests = [
        {"kind": "best", "score": 1.0, "used": {"evaluations": 1, "usd": 0.5}},
        {"kind": "best", "score": 2.0, "used": {"evaluations": 2, "usd": 1.25}},
    ]
    file.write_text("".join(json.dumps(event) + "\n" for event in bests))

    job.read()

    assert job.points == [(0.5, 1.0), (1.0, 2.0)]
    curves = Curves()
    curves.end(job)
    (values,) = curves.means([]).values()
    assert values[POINTS // 2 - 2] is None
    assert (values[POINTS // 2 - 1], values[-1]) == (1.0, 2.0)


@pytest.mark.parametrize("midst", ["rfind", "copy"])
def test_a_job_that_ends_in_the_midst_of_a_drawing_waits_for_it(tmp_path: Path, midst: str) -> None:
    """Rich draws in a thread of its own. While that reads a job's events, or goes through the curves, the run's thread tells of more."""
    first, second = (
        a_job(Budget(evaluations=100)).model_copy(update={"job_id": f"{i:012}", "trainer_id": f"T{i}"})
        for i in range(2)
    )
    best = {"kind": "best", "score": 1.0, "used": {"evaluations": 100}}
    for job in (first, second):
        events = tmp_path / "jobs" / job.job_id / "events.jsonl"
        events.parent.mkdir(parents=True)
        events.write_text("".join(json.dumps(event) + "\n" for event in [EVENTS[0]] * 100 + [best]))
    view = LiveReporter(io.StringIO())
    view._layout = RunLayout(tmp_path)
    view.job_started(first)
    view.job_finished(first, ended(first))
    view.job_started(second)
    followed = view._running[second.job_id]
    there, over = threading.Event(), threading.Event()

    def halt(frame: FrameType, _event: str, arg: object) -> None:
        if midst in {frame.f_code.co_name, getattr(arg, "__name__", None)} and not there.is_set():
            there.set()
            over.wait(1)

    def draw() -> None:
        sys.setprofile(halt)
        view._draw()

    with ThreadPoolExecutor(1) as pool:
        drawing = pool.submit(draw)
        assert there.wait(60)
        view.job_finished(second, ended(second))
        over.set()

    assert drawing.exception() is None
    assert followed.used["evaluations"] == 100


@pytest.mark.parametrize("height", range(6, 40))
def test_a_frame_fits_the_terminal_with_whole_curves_or_none(tmp_path: Path, height: int) -> None:
    view = LiveReporter(io.StringIO())
    view._console.width, view._console.height = 100, height
    view.run_started(tmp_path, 4)
    best = json.dumps({"kind": "best", "score": 1.0, "used": {"evaluations": 1}}) + "\n"
    for i in range(4):
        job = a_job(Budget(evaluations=2)).model_copy(update={"job_id": f"{i:012}", "trainer_id": f"T{i}"})
        events = tmp_path / "jobs" / job.job_id / "events.jsonl"
        events.parent.mkdir(parents=True)
        events.write_text(best)
        view.job_started(job)
        view.job_finished(job, ended(job))

    lines = view._lines()
    view.run_finished(tmp_path, {"ok": 4})

    heading = next((i for i, line in enumerate(lines) if line.startswith("best so far")), len(lines))
    assert [line.split()[0] for line in lines[heading + 1 :] if line.startswith("T")] == ["T0", "T1", "T2", "T3"] * (
        heading < len(lines)
    )
    assert (heading < len(lines)) == (
        height >= 2 + 6 + 2 + 4
    )  # titles, the table, what stands above the curves, four curves
    assert len(lines) <= max(height, 8)


DRAWN: list[tuple[Any, ...]] = [
    ([["s:t", "A", 0, 1]], 1, 100, ["A                        ▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇█████ 1"]),
    ([["s:t", "A", 0, 1], ["s:t", "B", 1, 0.5]], 2, 60, ["                                     ▁▁▂▂▃▄▄▅▆▆▇▇",
        "A                        ▁▂▂▃▄▄▅▅▆▇▇█████████████ 1", "                         ██▇▇▇▆▆▆▅▅▅▅▄▄▄▃▃▃▂▂▂▁▁▁",
        "B                        ████████████████████████ 0.5"]),
    ([["s:t", "A", 0, 1], ["s:u", "B", 5, 5]], 3, 40, ["                                ▁▄▆", "                             ▂▅▇███",
        "t A                      ▁▃▆███████ 1", "", "", "u B                      ▁▁▁▁▁▁▁▁▁▁ 5"]),
    ([["s:t", "AAAAAAAAAAAAAAAAAAAAAAAA", 0, 1], ["s:t", "BBBBBBBBBBBBBBBBBBBBBBBBB", 0, 2]], 1, 46,
        ["AAAAAAAAAAAAAAAAAAAAAAAA ▁▁▂▂▂▃▃▃▄▄ 1", "BBBBBBBBBBBBBBBBBBBBBBB… ▁▂▂▃▄▅▅▆▇▇ 2"]),
]  # fmt: skip
"""Curves that rise or fall evenly: task, trainer, where it begins and ends; rows and width; the lines."""


@pytest.mark.parametrize(("curves", "rows", "width", "lines"), DRAWN)
def test_curves_are_drawn_on_the_scale_of_their_task(curves: Any, rows: int, width: int, lines: list[str]) -> None:
    means: dict[tuple[str, str], list[float | None]] = {
        (task, trainer): [low + (high - low) * i / (POINTS - 1) for i in range(POINTS)]
        for task, trainer, low, high in curves
    }
    assert drawn(means, rows=rows, width=width) == lines


@pytest.mark.parametrize(
    ("points", "until", "changes"),
    [
        ([], 1.0, [(0, None)]),
        ([(0.0, 1.0)], 1.0, [(0, 1.0)]),
        ([(0.5, 1.0)], 1.0, [(0, None), (29, 1.0)]),
        ([(0.5, 1.0), (0.75, 2.0)], 0.8, [(0, None), (29, 1.0), (44, 2.0), (48, None)]),
        ([(0.01, 1.0)], 0.0, [(0, 1.0), (1, None)]),
        ([(0.1, 1.0)], 0.0, [(0, None)]),
        ([(1.0, 3.0)], 1.0, [(0, None), (59, 3.0)]),
    ],
)
def test_the_best_is_known_from_where_it_was_found_to_where_the_job_has_come(
    points: Any, until: float, changes: Any
) -> None:
    values = sampled(points, until)
    assert len(values) == POINTS
    assert [(i, v) for i, v in enumerate(values) if i == 0 or values[i - 1] != v] == changes


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"), (0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00"), (3725, "1:02:05"),
    ],
)  # fmt: skip
def test_a_time_is_shown_with_hours_from_an_hour_on(seconds: float | None, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    ("caps", "event", "told"),
    [
        (
            {"usd": 1.0},
            {"kind": "llm_call", "phase": "training", "status": "ok", "usd": None},
            ("unknown of 1 usd", "-"),
        ),
        (
            {"usd": 1.0},
            {"kind": "llm_call", "phase": "training", "status": "ok", "usd": None, "cached": True},
            ("0 of 1 usd", "░" * 10),
        ),
        ({"tokens": 10}, {"kind": "llm_call", "phase": "training", "status": "error"}, ("0 of 10 tokens", "░" * 10)),
        (
            {"llm_calls": 3},
            {"kind": "llm_call", "phase": "training", "status": "ok"},
            ("1 of 3 llm calls", "███" + "░" * 7),
        ),
        ({"evaluations": 1}, {"kind": "evaluation", "by": "trainer"}, ("1 of 1 evaluations", "█" * 10)),
        ({}, {"kind": "evaluation", "by": "trainer"}, ("1 evaluations", "-")),
    ],
)
def test_what_is_used_is_told_on_each_capped_axis(tmp_path: Path, caps: Any, event: Any, told: Any) -> None:
    progress = JobProgress(a_job(Budget(**caps)), tmp_path / "e")
    (tmp_path / "e").write_text(json.dumps(event) + "\n")
    progress.read()
    assert (progress.amounts(), progress.bar()) == told


@pytest.mark.parametrize(
    ("events", "doing"),
    [
        ([{"kind": "activity", "doing": "warming", "done": 2, "total": 5}], "warming (2 of 5)"),
        ([{"kind": "activity", "doing": "warming", "done": 2, "total": 0}], "warming"),
        ([{"kind": "activity"}], ""),
        ([{"kind": "activity", "doing": "x"}, {"kind": "evaluation", "by": "engine"}], "x"),
        ([{"kind": "activity", "doing": "x"}, {"kind": "evaluation", "by": "trainer", "reused": True}], ""),
        ([{"kind": "trained"}], "scoring the finalists"),
        ([{"kind": "scored"}], "scoring the finalists"),
    ],
)
def test_what_a_job_says_that_it_does_is_shown_until_it_has_done_it(tmp_path: Path, events: Any, doing: str) -> None:
    progress = JobProgress(a_job(Budget()), tmp_path / "e")
    (tmp_path / "e").write_text("".join(json.dumps(event) + "\n" for event in [*events, 3, ["activity"]]))
    progress.read()
    assert progress.doing == doing
    assert progress.read_until == (tmp_path / "e").stat().st_size


def test_where_the_best_changed_is_kept_by_share_and_what_came_later_at_the_same_share_replaces_it(
    tmp_path: Path,
) -> None:
    progress = JobProgress(a_job(Budget(evaluations=10, seconds=100.0)), tmp_path / "e")
    bests = [(1, 0, 0.5), (4, 0, 1.0), (4, 0, 2.0), (3, 0, 3.0), (5, 90, 4.0), (20, 0, 5.0)]
    lines = [{"kind": "best", "score": s, "used": {"evaluations": n, "seconds": t}} for n, t, s in bests]
    unknown = [{"kind": "best", "score": 9.0}, {"kind": "best", "score": None, "used": {"evaluations": 1}}]
    (tmp_path / "e").write_text("".join(json.dumps(line) + "\n" for line in [*lines, *unknown]))
    progress.read()
    assert (progress.points, progress.best) == ([(0.1, 0.5), (0.3, 3.0), (0.9, 4.0), (1.0, 5.0)], 9.0)
    assert (progress.share_at(50.0), progress.share_at(500.0)) == (0.5, 1.0)
