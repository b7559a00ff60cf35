"""The local executor: which orders it gives a template, and what becomes of them when that or they end."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.job import execution
from tracebench_engine.run.local import executor
from tracebench_engine.run.local.executor import MOST_RESTARTS, LocalExecutor, read_setting

DIES: dict[str, Any] = {"gone": True}
Script = list[list[dict[str, Any]]]
Told = list[tuple[Any, ...]]


class Template:
    """Says what a script has for it: one list of messages for each time that it is waited for."""

    script: Script
    told: Told

    def __init__(self, entry: str, setting: ExecutorSetting, **more: Any) -> None:
        self.is_gone = False
        self.twins_seconds = 1.5
        self.told.append(("open", entry, setting.run_dir, sorted(more)))

    def start(self, order: JobOrder) -> None:
        self.told.append(("start", order.job.job_id[0], order.phase, order.ended))

    def cancel(self, job_id: str) -> None:
        self.told.append(("cancel", job_id[0]))

    def wait(self, seconds: float | None) -> list[dict[str, Any]]:
        said = self.script.pop(0)
        self.told.append(("wait", seconds))
        self.is_gone = DIES in said
        return [message for message in said if message is not DIES]

    def close(self) -> None:
        self.told.append(("close",))


def end(job: str, exit_: str, detail: str = "") -> dict[str, Any]:
    return {"end": job * 12, "exit": exit_, "detail": detail}


def order(job: str, phase: str = "score") -> JobOrder:
    return JobOrder.model_validate({"job": job_spec(job_id=job * 12), "run_dir": "/run", "phase": phase})


Run = Callable[..., tuple[list[tuple[str, ...]], Told]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run orders against a script; return the jobs' ends, and what the template was told."""

    def run(
        orders: list[JobOrder | None], script: Script, *, workers: int = 2, cancelled: str = ""
    ) -> tuple[list[tuple[str, ...]], Told]:
        told: Told = []
        monkeypatch.setattr(
            executor, "TemplateProcess", type("Scripted", (Template,), {"script": script, "told": told})
        )
        local = LocalExecutor("entry")
        for job in cancelled:
            local.cancel(job * 12)
        ends: list[tuple[str, ...]] = []
        try:
            setting = ExecutorSetting(run_dir="/run", workers=workers, environ={})
            ends.extend(
                (e.order.job.job_id[0], e.order.phase, e.exit, e.detail)
                for e in local.run(iter(orders), setting=setting)
            )
        except Exception as error:  # noqa: BLE001 - it is part of what came
            ends.append((type(error).__name__, str(error), getattr(error, "hint", "")))
        assert script == []
        assert local.cpu_seconds() == 1.5 * sum(word == ("close",) for word in told)
        return ends, told

    return run


OPEN = ("open", "entry", "/run", ["numbers", "outside"])


def starts(jobs: str) -> Told:
    return [("start", job, "score", "") for job in jobs]


def test_nothing_is_opened_where_there_is_nothing_to_do(run: Run) -> None:
    assert run([], []) == ([], [])


def test_as_many_run_at_a_time_as_there_are_workers(run: Run) -> None:
    ends, told = run(
        [order("a"), order("b"), order("c")],
        [[end("b", "done")], [], [end("c", "died", "of age"), end("a", "timeout")]],
    )
    assert ends == [("b", "score", "done", ""), ("c", "score", "died", "of age"), ("a", "score", "timeout", "")]
    assert told == [OPEN, *starts("ab"), ("wait", None), *starts("c"), ("wait", None), ("wait", None), ("close",)]


def test_a_training_is_followed_by_its_scoring_before_any_other_order(run: Run) -> None:
    ends, told = run(
        [order("a", "train"), order("b")],
        [[end("a", "trained")], [end("a", "done")], [end("b", "done")]],
        workers=1,
    )
    assert ends == [("a", "train", "trained", ""), ("a", "score", "done", ""), ("b", "score", "done", "")]
    assert [word[1:3] for word in told if word[0] == "start"] == [("a", "train"), ("a", "score"), ("b", "score")]


def test_what_a_training_could_not_say_itself_its_scoring_is_told(run: Run) -> None:
    ends, told = run([order("a", "train")], [[end("a", "died", "SIGSEGV")], [end("a", "done")]])
    (following,) = [word for word in told if word[:3] == ("start", "a", "score")]
    assert ends == [("a", "train", "trained", following[3]), ("a", "score", "done", "")]
    assert "SIGSEGV" in following[3]


def test_a_run_that_holds_its_orders_back_is_asked_again_soon(run: Run) -> None:
    ends, told = run([order("a"), None, order("b")], [[], [end("b", "done")], [end("a", "done")]])
    assert [job for job, *_ in ends] == ["b", "a"]
    assert [word for word in told if word[0] == "wait"] == [
        ("wait", executor.HELD_SECONDS), ("wait", None), ("wait", None),
    ]  # fmt: skip


def test_a_run_that_holds_its_first_order_back_opens_nothing_yet() -> None:
    waited: list[tuple[list[Any], float]] = []

    class Outside:
        def ready(self, wires: list[Any], seconds: float) -> list[Any]:
            waited.append((wires, seconds))
            return []

    outside: Any = Outside()
    local = LocalExecutor("entry", outside=outside)
    assert list(local.run(iter([None, None]), setting=ExecutorSetting(run_dir="/run", environ={}))) == []
    assert waited == [([], executor.HELD_SECONDS)] * 2
    assert local.cpu_seconds() == 0.0


def test_a_job_that_was_cancelled_early_is_cancelled_once_it_runs(run: Run) -> None:
    ends, told = run([order("a", "train"), order("b")], [[end("b", "done"), end("a", "cancelled")]], cancelled="a")
    assert ends == [("b", "score", "done", ""), ("a", "train", "cancelled", "")]
    assert told[1:4] == [("start", "a", "train", ""), ("cancel", "a"), ("start", "b", "score", "")]


def test_jobs_of_a_template_that_ends_are_lost_and_others_go_to_the_next(run: Run) -> None:
    lost = "the process ended with its template"
    ends, told = run(
        [order("a"), order("b"), order("c")],
        [[end("a", "cancelled"), end("b", "done"), DIES], [end("c", "done")]],
    )
    assert ends == [("b", "score", "done", ""), ("a", "score", "lost", lost), ("c", "score", "done", "")]
    assert told == [OPEN, *starts("ab"), ("wait", None), ("close",), OPEN, *starts("c"), ("wait", None), ("close",)]


def test_templates_that_end_one_after_another_are_given_up(run: Run) -> None:
    orders = [order(job) for job in "abcdefgh"[: MOST_RESTARTS + 2]]
    ends, _ = run([*orders], [[DIES]] * (MOST_RESTARTS + 1), workers=1)
    assert [exit_ for _, _, exit_, *_ in ends[:-1]] == ["lost"] * MOST_RESTARTS
    ended = TraceBenchError("The process that holds the jobs keeps ending.", hint="cat /run/template.log")
    assert ends[-1] == ("TraceBenchError", str(ended), ended.hint)


def test_an_end_of_a_job_between_two_ends_of_templates_begins_the_count_anew(run: Run) -> None:
    orders = [order(job) for job in "abcdefghij"[: 2 * MOST_RESTARTS + 1]]
    script: Script = [
        *([[DIES]] * MOST_RESTARTS),
        [end(orders[MOST_RESTARTS].job.job_id[0], "done")],
        *([[DIES]] * MOST_RESTARTS),
    ]
    ends, _ = run([*orders], script, workers=1)
    assert [exit_ for _, _, exit_, _ in ends] == ["lost"] * MOST_RESTARTS + ["done"] + ["lost"] * MOST_RESTARTS


@pytest.mark.parametrize(
    ("detail", "number"), [(execution._SAID[execution.TOO_LARGE], errno.EFBIG), ("the disk is full", errno.EIO)]
)
def test_a_job_whose_files_cannot_be_written_ends_the_run(run: Run, detail: str, number: int) -> None:
    ends, told = run([order("a"), order("b")], [[end("a", "unwritable", detail), end("b", "done")]])
    path = f"/run/jobs/{'a' * 12}"
    assert ends == [("OSError", str(OSError(number, detail, path)), "")]
    assert told[-1] == ("close",)


class Says:
    """A wire that has one message, or none."""

    def __init__(self, message: dict[str, Any] | None) -> None:
        self.receive_one: Callable[[], dict[str, Any] | None] = lambda: message


def test_a_template_reads_its_setting_first() -> None:
    setting = ExecutorSetting(run_dir="/run", workers=3, environ={"A": "b"}, preload=("json",))
    wire: Any = Says({"setting": setting.model_dump(mode="json")})
    assert read_setting(wire) == setting
    nobody: Any = Says(None)
    with pytest.raises(SystemExit, match=r"^the runner ended before it said what to run$"):
        read_setting(nobody)


def test_the_iterator_of_ends_closes_its_template_when_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    told: Told = []
    monkeypatch.setattr(
        executor, "TemplateProcess", type("Scripted", (Template,), {"script": [[end("a", "done")]], "told": told})
    )
    orders: Iterator[JobOrder | None] = iter([order("a"), order("b")])
    ends = LocalExecutor("entry").run(orders, setting=ExecutorSetting(run_dir="/run", environ={}))
    assert next(ends).exit == "done"
    ends.close()
    assert told[-1] == ("close",)
