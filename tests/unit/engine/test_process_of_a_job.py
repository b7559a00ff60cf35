"""A job's process: what it finds around it, with which code it ends, and who watches its events without hurting it."""

from __future__ import annotations

import errno
import logging
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.unit.store.samples import job_spec, started

from tracebench_core.hookspecs import hookimpl
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import JobOrder
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.config import parse_config
from tracebench_engine.job import execution, kernel
from tracebench_engine.job.execution import (
    DISK_REFUSED,
    DONE,
    STOPPED,
    TOO_LARGE,
    TRAINED,
    Observers,
    run_order,
    seed_process,
)
from tracebench_engine.job.job import JobStopped
from tracebench_engine.matrix.plan import make_plan
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.storage.layout import JobLayout, RunLayout

BROKEN = 99


def forked(act: Callable[[], int]) -> int:
    """Return the exit code of what is done in a process of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(act())
        except BaseException:  # noqa: BLE001 - told by its code
            traceback.print_exc()
            os._exit(BROKEN)
    code = kernel.reap(pid)
    assert code is not None
    return code


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


@pytest.fixture
def order(host: PluginHost, tmp_path: Path) -> JobOrder:
    config = parse_config(
        {"tasks": ["internal:numeric_param"], "trainers": [{"id": "RandomSearch", "params": {"num_steps": 2}}]}
    )
    RunLayout(tmp_path).create()
    return JobOrder(job=make_plan(config, host, environ={}).jobs[0], run_dir=str(tmp_path))


def layout_of(order: JobOrder) -> JobLayout:
    return RunLayout(Path(order.run_dir)).job(order.job.job_id)


def test_a_job_is_trained_and_then_scored_each_in_a_process_of_its_own(order: JobOrder, host: PluginHost) -> None:
    assert forked(lambda: run_order(order, host)) == TRAINED
    layout = layout_of(order)
    assert [event.kind for event in read_events(layout).events][-1] == "trained"
    assert not layout.results.exists()
    assert forked(lambda: run_order(order.model_copy(update={"phase": "score"}), host)) == DONE
    assert layout.results.exists()
    assert forked(lambda: run_order(order, host)) == TRAINED
    assert len(layout.earlier_attempts()) == 1


def wrapped(result: str = "") -> PluginHost:
    """Return a host with a plugin around jobs, which has a result at hand or lets them run."""
    plugin = ModuleType("around")
    host = open_host()

    @hookimpl(wrapper=True)
    def tracebench_run_job(job: Any) -> Any:
        if result:
            layout_at[0].joinpath("results.json").write_text(result)
        return (yield)

    layout_at: list[Path] = []
    plugin.tracebench_run_job = tracebench_run_job  # type: ignore[attr-defined]  # what hooks look for
    host.register(plugin, "around")
    host.layout_at = layout_at  # type: ignore[attr-defined]  # for the tests
    return host


def test_a_plugin_around_a_job_may_have_its_result_at_hand(order: JobOrder) -> None:
    layout = layout_of(order)
    assert forked(lambda: run_order(order, wrapped())) == TRAINED
    host = wrapped("{}")
    host.layout_at.append(layout.path)  # type: ignore[attr-defined]  # as above
    assert forked(lambda: run_order(order, host)) == DONE
    assert forked(lambda: run_order(order.model_copy(update={"phase": "score"}), host)) == DONE
    assert layout.results.read_text() == "{}"


def raising(error: BaseException) -> PluginHost:
    """Return a host whose plugin around jobs raises."""

    @hookimpl(wrapper=True)
    def tracebench_run_job(job: Any) -> Any:
        yield
        raise error

    host, plugin = open_host(), ModuleType("around")
    plugin.tracebench_run_job = tracebench_run_job  # type: ignore[attr-defined]  # as above
    host.register(plugin, "around")
    return host


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "full"), DISK_REFUSED), (OSError(errno.EIO, "broken"), DISK_REFUSED),
        (OSError(errno.EFBIG, "large"), TOO_LARGE),
        (JobStopped(), STOPPED), (OSError(errno.ENOENT, "none"), BROKEN), (ValueError("no"), BROKEN),
    ],
)  # fmt: skip
def test_a_process_ends_with_the_code_of_what_ended_it(order: JobOrder, error: BaseException, code: int) -> None:
    assert forked(lambda: run_order(order, raising(error))) == code
    said = layout_of(order).stdout.read_text()
    assert said if code != STOPPED else not said
    assert str(error) in said
    assert ("Traceback" in said) is (code == BROKEN)


def test_a_process_that_is_told_to_end_hears_it_once(order: JobOrder) -> None:
    def act() -> int:
        signal.signal(signal.SIGTERM, execution._stop)
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except JobStopped:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            return STOPPED
        return BROKEN

    assert forked(act) == STOPPED


def test_a_job_works_in_its_own_folder_and_what_it_says_is_kept(order: JobOrder) -> None:
    layout = layout_of(order).fresh()

    def act() -> int:
        execution._enter(layout)
        print("said \ud800")
        print("told", file=sys.stderr)
        os.write(1, b"raw\n")
        inside = Path.cwd() == layout.path / "work"
        return 5 if inside and os.read(0, 9) == b"" else BROKEN

    assert forked(act) == 5
    assert layout.stdout.read_text().splitlines() == ["said \\ud800", "told", "raw"]
    assert forked(act) == 5  # a second process of the job goes on
    assert len(layout.stdout.read_text().splitlines()) == 6


def test_equal_seeds_give_equal_numbers_and_others_others() -> None:
    numpy = pytest.importorskip("numpy")

    def drawn(seed: int) -> tuple[float, float]:
        seed_process(seed)
        return random.random(), float(numpy.random.random())

    state, states = random.getstate(), numpy.random.get_state()
    one, two, again = drawn(1), drawn(2), drawn(1)
    random.setstate(state)
    numpy.random.set_state(states)
    assert one == again
    assert len({*one, *two}) == 4


class Sink:
    """A logger that keeps what it is told, and fails at what a test names."""

    made: list[Sink]

    raised: ClassVar[type[BaseException]] = RuntimeError

    def __init__(self, folder: Path, fails: str = "") -> None:
        if fails == "made":
            raise self.raised("no")
        self.folder, self.fails, self.heard, self.is_closed = folder, fails, list[int](), False
        Sink.made = [self]

    def __call__(self, event: Any) -> None:
        if self.fails == "told":
            raise self.raised("no")
        self.heard.append(event.seq)

    def close(self) -> None:
        self.is_closed = True
        if self.fails == "closed":
            raise self.raised("no")


class Hosted:
    """A host that knows the logger above."""

    def __init__(self, watching: list[Any] | None = None) -> None:
        self.watching = watching

    def component(self, _kind: str, _name: str) -> Any:
        return SimpleNamespace(loader=f"{__name__}:Sink")

    def has_observers(self, hook: str) -> bool:
        return hook == "tracebench_event" and self.watching is not None

    def observe(self, hook: str, **told: Any) -> None:
        assert self.watching is not None
        self.watching.append((hook, told["event"].seq, told["job"].job_id))


@pytest.mark.parametrize("fails", ["", "made", "told", "closed"])
@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("raised", [RuntimeError, SystemExit])
def test_whoever_watches_a_job_cannot_hurt_it(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    fails: str,
    raised: type[BaseException],
    watched: bool,
) -> None:
    monkeypatch.setattr(Sink, "raised", raised)
    told: list[Any] = []
    job = job_spec(logger="Sink", logger_kwargs={"fails": fails} if fails else {})
    layout = RunLayout(tmp_path).job(job.job_id)
    with caplog.at_level(logging.WARNING):
        observers = Observers(job, Hosted(told if watched else None), layout)  # type: ignore[arg-type]  # as above
        assert observers.watch is (watched or fails != "made")
        for number in (1, 2):
            observers(started(job).model_copy(update={"seq": number}))
        observers.close()
    assert told == ([("tracebench_event", n, job.job_id) for n in (1, 2)] if watched else [])
    words = {"": [], "made": ["logger Sink is off: no"], "told": ["logger Sink is off from event 1 on: no"],
             "closed": ["logger Sink could not be closed: no"]}  # fmt: skip
    assert [record.getMessage() for record in caplog.records] == words[fails]
    if fails != "made":
        (sink,) = Sink.made
        assert (sink.folder, sink.heard) == (layout.path, [] if fails == "told" else [1, 2])
        assert sink.is_closed is (fails != "told")


def test_a_job_without_a_logger_is_watched_by_plugins_alone(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path).job("0" * 12)
    assert not Observers(job_spec(), Hosted(), layout).watch  # type: ignore[arg-type]  # as above
    assert Observers(job_spec(), Hosted([]), layout).watch  # type: ignore[arg-type]  # as above


def test_the_children_of_a_process_are_killed_but_for_those_that_are_kept() -> None:
    def act() -> int:
        kernel.adopt_orphans()
        kept, child = os.fork(), 0
        if kept:
            child = os.fork()
            if child == 0 and os.fork() == 0:
                signal.pause()
        if not kept or not child:
            signal.pause()
        left = kernel.kill_children(keep={kept})
        alive = kernel.children() == {kept} and left == set()
        kernel.kill_tree(kept)
        return 3 if alive and kernel.reap(kept) == -signal.SIGKILL and kernel.children() == set() else BROKEN

    assert forked(act) == 3


def test_a_tree_of_processes_is_found_and_killed_whole() -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        below = os.fork()
        if below == 0:
            os.write(write, b"%d\n" % os.getpid())
        signal.pause()
        os._exit(0)
    below = int(os.read(read, 99))
    assert kernel.descendants(pid) == {below}
    assert kernel._is_alive(below)
    kernel.kill_tree(pid)
    assert kernel.reap(pid) == -signal.SIGKILL
    assert kernel.descendants(pid) == set()
    os.close(read)
    os.close(write)


def test_who_is_gone_is_nobody() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    assert kernel.reap(pid) == 7
    assert kernel.reap(pid) is None
    assert kernel._has_ended(pid)
    kernel.kill(pid)
    assert not kernel.kill_group(pid)
    assert not kernel._is_alive(pid)


def test_a_group_of_processes_is_signalled() -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.write(write, b"x")
        signal.pause()
    os.read(read, 1)
    os.close(read)
    os.close(write)
    assert kernel.kill_group(pid, signal.SIGTERM)
    assert kernel.reap(pid) == -signal.SIGTERM


def test_a_process_that_was_held_is_waited_for_until_it_ends() -> None:
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(4)
    os.waitpid(pid, os.WUNTRACED)
    os.kill(pid, signal.SIGCONT)
    assert kernel.reap(pid) == 4


def test_a_process_ends_with_its_parent() -> None:
    def act() -> int:
        kernel.die_with_parent(os.getppid())
        return 6

    assert forked(act) == 6
    parent = os.getpid()
    assert forked(lambda: kernel.die_with_parent(parent + 1) or 6) == 1

    def above() -> int:
        read, write = os.pipe()
        mine = os.getpid()
        pid = os.fork()
        if pid == 0:
            kernel.die_with_parent(mine)
            os.write(write, b"x")
            signal.pause()
        os.read(read, 1)
        pidfds.append(pid)
        os.write(told, b"%d" % pid)
        return 0

    pidfds: list[int] = []
    heard, told = os.pipe()
    assert forked(above) == 0
    below = int(os.read(heard, 99))
    os.close(heard)
    os.close(told)
    for _ in range(6000):
        if not kernel._is_alive(below):
            break
        signal.sigtimedwait([], 0.01)
    assert not kernel._is_alive(below)


def test_a_file_of_the_kernel_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 200_000)
    assert kernel.read(str(tmp_path / "long")) == b"x" * 200_000
    with pytest.raises(FileNotFoundError):
        kernel.read(str(tmp_path / "none"))


def test_processor_time_counts_what_children_took() -> None:
    before = kernel.cpu_seconds()

    def burn() -> int:
        until = os.times().user + 0.05
        while os.times().user < until:
            pass
        return 0

    assert forked(burn) == 0
    assert kernel.cpu_seconds() - before >= 0.04
