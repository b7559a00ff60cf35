"""What the kit says of an executor that breaks its promises, and of one that keeps them; the executors tell ends and start nothing."""

from __future__ import annotations

import os
import runpy
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_testing.executing import signs
from tracebench_testing.executing.drive import Drive
from tracebench_testing.executing.signs import Begun, BrokenPromiseError, Process, Signs, started, wait_for

Ends = Generator[Any]
Orders = Iterator[JobOrder | None]


class End(NamedTuple):
    order: JobOrder
    exit: str
    detail: str = ""


class Telling:
    """Tells for each order the ends that a test names."""

    def __init__(self, *ends: str) -> None:
        self.ends = ends
        self.settings: list[ExecutorSetting] = []
        self.cancelled: list[str] = []
        self.orders: list[JobOrder | None] = []

    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        """Take one order after another."""
        self.settings.append(setting)
        for order in orders:
            self.orders.append(order)
            if order is not None:
                yield from (self.end(order, end) for end in self.ends)

    def end(self, order: JobOrder, exit_: str) -> End:
        """Tell an end as an executor that is sound does: of the training's order while it trains, with results where it is done."""
        return End(order, exit_)

    def cancel(self, job_id: str) -> None:
        """Note who was cancelled."""
        self.cancelled.append(job_id)


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Drive, list[str]]]:
    """Return what drives an executor over jobs: the drive and the faults that it will have found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signs, "PATIENCE", 0.2)

    def of(build: Callable[[], Any], *, jobs: int = 3, workers: int = 2) -> tuple[Drive, list[str]]:
        faults: list[str] = []
        return Drive(build, tmp_path, jobs=jobs, workers=workers, say=faults.append), faults

    return of


def nothing() -> None:
    """A script that waits for nothing."""


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (["cancelled"], []),
        (["lost"], []),
        (["trained", "died"], []),
        (["trained", "timeout"], []),
        (["gone", "cancelled"], ["it tells an end `gone`, which is none"]),
        (["cancelled", "cancelled"], ["it tells an end of a job that it was not given, or whose end it has told already"]),
        (["trained", "trained", "died"], ["it tells twice that one job's training is over"]),
        (["died"], ["it ends a job as `died` without asking `next_phase`, so that the job is never scored"]),
        (["timeout"], ["it ends a job as `timeout` without asking `next_phase`, so that the job is never scored"]),
        (["trained", "done"], ["it ends a job as `done`, and the job has no result"]),
    ],
)  # fmt: skip
def test_an_end_that_cannot_be_is_told(drive: Any, ends: list[str], words: list[str]) -> None:
    driven, faults = drive(lambda: Telling(*ends))
    driven.run([1], nothing)
    assert faults == words
    assert driven.out == {}
    assert driven.taken == [1]


def test_ends_are_noted_in_their_order(drive: Any) -> None:
    driven, faults = drive(lambda: Telling("trained", "cancelled"))
    driven.run([2, None, 1], nothing)
    assert driven.ends == [(2, "trained"), (2, "cancelled"), (1, "trained"), (1, "cancelled")]
    assert (driven.ended(1, ""), driven.is_finished.is_set(), faults) == ("cancelled", True, [])
    with pytest.raises(BrokenPromiseError, match="never"):
        driven.ended(3, "never")


def test_the_end_of_the_training_is_told_with_its_own_order(drive: Any) -> None:
    class Late(Telling):
        def end(self, order: JobOrder, exit_: str) -> End:
            return End(order.model_copy(update={"phase": "score"}), exit_)

    driven, faults = drive(lambda: Late("trained", "cancelled"))
    driven.run([1], nothing)
    assert faults == ["it tells `trained` with the order of the scoring, and not with that of the training"]


def test_an_end_of_nobodys_job_is_told(drive: Any) -> None:
    class Others(Telling):
        def end(self, order: JobOrder, exit_: str) -> End:
            return End(order.model_copy(update={"job": order.job.model_copy(update={"job_id": "another"})}), exit_)

    driven, faults = drive(lambda: Others("cancelled"))
    driven.run([1], nothing)
    assert faults == ["it tells an end of a job that it was not given, or whose end it has told already"]


def test_orders_that_are_taken_ahead_are_told(drive: Any) -> None:
    class Ahead(Telling):
        def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
            for order in [order for order in orders if order is not None]:
                yield self.end(order, "cancelled")

    words = "it takes an order while {} jobs run, and `setting.workers` is 2"
    driven, faults = drive(Ahead)
    driven.run([1, 2], nothing)
    assert faults == []
    driven, faults = drive(Ahead, jobs=4)
    driven.run([1, 2, 3, 4], nothing)
    assert faults == [words.format(2), words.format(3)]


def test_a_held_run_is_asked_again_until_something_has_ended(drive: Any) -> None:
    class Waits(Telling):
        def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
            held = []
            for order in orders:
                self.orders.append(order)
                held += [order] if order is not None else []
                if self.orders[-3:] == [None] * 3:
                    yield self.end(held.pop(0), "cancelled")
            for order in held:
                yield self.end(order, "cancelled")

    driven, faults = drive(Waits)
    until = threading.Event()
    driven.after_end = lambda _seed, _end: until.set() or False
    driven.run([1, None, 2], until.wait)
    taken = [order and order.job.seed for order in driven.executor.orders]
    assert (taken, faults, driven.ends) == ([1, None, None, None, 2], [], [(1, "cancelled"), (2, "cancelled")])


def test_what_a_run_is_set_to_and_who_is_cancelled(drive: Any, tmp_path: Path) -> None:
    driven, _ = drive(lambda: Telling("cancelled"), workers=3)
    before: list[int] = []
    driven.before_taken = before.append
    driven.cancel(2)
    driven.run([2, 1], nothing)
    (setting,) = driven.executor.settings
    assert (setting.workers, setting.run_dir) == (3, str(tmp_path / "runs/r"))
    assert setting.environ["TRACEBENCH_HOME"] == str(tmp_path)
    assert before == [2, 1]
    first, second = driven.executor.orders
    assert (driven.executor.cancelled, first.run_dir) == ([first.job.job_id], str(tmp_path / "runs/r"))
    assert [order.job.seed for order in (first, second)] == [2, 1]
    assert driven.scores() == {}


def test_a_run_is_closed_when_it_is_asked_and_the_next_executor_is_a_new_one(drive: Any) -> None:
    closed = []

    class Closes(Telling):
        def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
            held = [next(orders), next(orders)]
            try:
                yield self.end(held[0], "cancelled")  # type: ignore[arg-type] - no order is None
                raise AssertionError("it is asked no more")
            finally:
                closed.append(self)

    driven, faults = drive(Closes)
    before = driven.executor
    driven.after_end = lambda seed, end: (seed, end) == (1, "cancelled")
    driven.run([1, 2], nothing)
    assert (closed, faults, driven.out) == ([before], [], {})
    assert driven.executor is not before


def test_an_executor_of_which_nothing_is_left_out_is_kept(drive: Any) -> None:
    driven, _ = drive(lambda: Telling("cancelled"))
    before = driven.executor
    driven.run([1], nothing)
    driven.run([1], nothing)
    assert driven.executor is before
    assert driven.ends == [(1, "cancelled")] * 2


def test_a_run_that_is_interrupted_is_closed(drive: Any) -> None:
    class Interrupted(Telling):
        def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
            next(orders)
            raise KeyboardInterrupt
            yield

    driven, faults = drive(Interrupted)
    driven.run([1], nothing)
    assert (driven.is_finished.is_set(), driven.out, faults) == (True, {}, [])


def test_a_script_that_is_let_down_says_so_and_lets_every_job_go(drive: Any, tmp_path: Path) -> None:
    driven, faults = drive(lambda: Telling("cancelled"))

    def script() -> None:
        driven.begun(3, "a job does not begin")

    driven.run([1, 2], script)
    assert faults == ["a job does not begin"]
    assert sorted(path.read_text() for path in (tmp_path / "signs").glob("word-*")) == ["go"] * 3


class Sleeper:
    """Two processes that say nothing, as a job and what it started."""

    def __init__(self, folder: Path) -> None:
        self.both = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
        self.folder = folder

    def begin(self, seed: int) -> None:
        """Say that a job has begun."""
        job, stray = (process.pid for process in self.both)
        (self.folder / f"signs/begun-{seed}").write_text(f"{job} 1 {stray}")

    def end(self, *which: int) -> None:
        """End both, or some."""
        for n in which or (0, 1):
            self.both[n].kill()
            self.both[n].wait()


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Sleeper]:
    made = Sleeper(tmp_path)
    yield made
    made.end()


def test_what_is_left_of_a_job_is_told_with_when(drive: Any, sleeper: Sleeper) -> None:
    driven, faults = drive(lambda: Telling("cancelled"))
    driven.before_taken = sleeper.begin
    driven.run([1], nothing)
    left = "is still there after its end `cancelled` was told"
    assert faults == [f"the job's own process {left}", f"a process that the job had started {left}"]
    faults.clear()
    sleeper.end(0)
    driven.run([1], nothing)
    assert faults == [f"a process that the job had started {left}"]
    sleeper.end(1)
    faults.clear()
    driven.run([1], nothing)
    assert faults == []


def test_what_is_left_of_a_closed_run_is_told(drive: Any, sleeper: Sleeper) -> None:
    class Leaves(Telling):
        def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
            yield self.end(next(orders), "trained")  # type: ignore[arg-type] - no order is None

    driven, faults = drive(Leaves)
    driven.before_taken = sleeper.begin
    driven.after_end = lambda _seed, _end: sleeper.begin(1) or True
    sleeper.end(0)
    driven.run([1], nothing)
    assert faults == [
        "a process that the job had started is still there after its end `trained` was told",
        "a process that the job had started is still there after it was closed",
    ]


def test_a_lost_job_is_given_moments_to_end_and_what_it_started_is_killed(drive: Any, sleeper: Sleeper) -> None:
    driven, faults = drive(lambda: Telling("lost"))
    driven.before_taken = sleeper.begin
    driven.run([1], nothing)
    assert faults == [
        "a job that was told as lost goes on",
        "the job's own process is still there after its end `lost` was told",
    ]
    assert sleeper.both[1].wait() == -9
    assert sleeper.both[0].poll() is None


def test_a_process_is_told_from_a_later_one_of_its_number(sleeper: Sleeper) -> None:
    first, second = (Process(process.pid, started(process.pid)) for process in sleeper.both)
    assert first.started.isdigit()
    assert first.is_there()
    assert not first.is_gone()
    assert not Process(first.pid, "1").is_there()
    assert not Process(1 << 30, "").is_there(), "one that had ended when it was looked for"
    Process(first.pid, "1").kill()
    assert sleeper.both[0].poll() is None
    first.kill()
    second.kill()
    while first.is_there():  # as a zombie it has ended
        pass
    assert started(first.pid) == ""
    assert sleeper.both[0].wait() == -9
    first.kill()
    assert first.is_gone()


def test_signs_are_forgotten_when_a_job_is_ordered_again(tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    made = Signs(tmp_path)
    assert made.begun(1) is None
    made.say(1, "die")
    made.say(2, "go")
    pid = os.getpid()
    (tmp_path / "signs/begun-1").write_text(f"{pid} 1 {1 << 30}")
    assert made.begun(1) == Begun(Process(pid, started(pid)), Process(1, started(1)), Process(1 << 30, ""))
    assert (tmp_path / "signs/word-1").read_text() == "die"
    made.forget(1)
    assert made.begun(1) is None
    assert [path.name for path in (tmp_path / "signs").iterdir()] == ["word-2"]
    made.forget(1)


def test_a_word_is_said_by_several_threads_at_a_time(tmp_path: Path) -> None:
    made, together, said = Signs(tmp_path), threading.Barrier(4), []

    def say() -> None:
        together.wait()
        for _ in range(60):
            made.say(1, "go")
        said.append(True)

    threads = [threading.Thread(target=say) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(said), [path.name for path in (tmp_path / "signs").iterdir()]) == (4, ["word-1"])


def test_what_does_not_come_is_told_in_the_words_of_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "PATIENCE", 0.05)
    found = iter([None, 0, "", "there"])
    assert wait_for(lambda: next(found), "no") == "there"
    with pytest.raises(BrokenPromiseError, match=r"^it never comes$"):
        wait_for(lambda: None, "it never comes")


@pytest.mark.parametrize(("told", "seconds"), [(None, 60.0), ("", 60.0), ("7", 7.0)])
def test_patience_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, told: str | None, seconds: float
) -> None:
    monkeypatch.delenv("TRACEBENCH_KIT_PATIENCE", raising=False)
    if told is not None:
        monkeypatch.setenv("TRACEBENCH_KIT_PATIENCE", told)
    assert runpy.run_path(str(signs.__file__))["PATIENCE"] == seconds


@pytest.mark.parametrize("told", ["x", "nan", "inf", "0", "-1"])
def test_patience_that_is_no_number_of_seconds_is_told_with_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("TRACEBENCH_KIT_PATIENCE", told)
    with pytest.raises(
        UsageError, match=f"^`TRACEBENCH_KIT_PATIENCE` is `{told}`, which is no number of seconds"
    ) as caught:
        runpy.run_path(str(signs.__file__))
    assert caught.value.hint == "export TRACEBENCH_KIT_PATIENCE=60"
