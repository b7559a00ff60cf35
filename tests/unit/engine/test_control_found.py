"""Runs under way are found by their entries and by their locks, spoken to over a socket, and waited for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.conftest import JOBS, finish_run

from tracebench_core.errors import UsageError
from tracebench_engine.door.control_registry import RunEntry, entry_path, read_entry, write_entry
from tracebench_engine.run import control_channel, control_find
from tracebench_engine.run.control_channel import ControlServer, Peer, ask
from tracebench_engine.run.control_find import (
    LiveRun,
    await_end,
    find_live_job,
    live_runs,
    nearest_live_run,
    tell,
    workers_of,
)
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import RunLock

pytestmark = pytest.mark.usefixtures("runtime_dir")
STATUS = {
    "ok": True, "run_id": "r", "pid": 7, "since": "2026", "jobs": 4, "done": 1, "running": ["a"], "state": "running",
}  # fmt: skip
Answer = Callable[[dict[str, Any], Peer], Any]


@pytest.fixture
def serve(runtime_dir: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Path, list[Any]]]]:
    """Return what announces a run that answers as a test says, and keeps what it was asked and by whom."""
    held: list[ControlServer] = []

    def serve(answer: Any, name: str = "r") -> tuple[Path, list[Any]]:
        asked: list[Any] = []

        def reply(request: dict[str, Any], peer: Peer) -> Any:
            asked.append((request, peer))
            if isinstance(answer, Exception):
                raise answer
            return answer(request) if callable(answer) else answer

        address = runtime_dir / f"{name}.sock"
        held.append(ControlServer(address, reply))
        (tmp_path / name).mkdir(exist_ok=True)
        write_entry(RunEntry(name, str((tmp_path / name).resolve()), os.getpid(), "2026", str(address)))
        return tmp_path / name, asked

    yield serve
    for server in held:
        server.close()
        server.close()


def test_a_run_is_asked_and_knows_who_asks(serve: Any) -> None:
    run, asked = serve({"ok": True, "so": 1})
    assert tell(run, {"do": "x"}) == {"ok": True, "so": 1}
    assert asked == [({"do": "x"}, Peer(os.getpid(), os.geteuid()))]


@pytest.mark.parametrize(
    ("answer", "words"), [({"ok": False, "error": "no such job"}, "no such job."), ({}, "the run refused.")]
)
def test_what_a_run_refuses_is_told_in_its_words(serve: Any, answer: Any, words: str) -> None:
    run, _ = serve(answer)
    with pytest.raises(UsageError) as caught:
        tell(run, {"do": "x"})
    assert (str(caught.value), caught.value.hint) == (words, f"trace-bench show {run}")


def test_a_run_that_fails_to_answer_says_how_and_answers_the_next(serve: Any) -> None:
    run, asked = serve(KeyError("x"))
    for _ in range(2):
        with pytest.raises(UsageError, match=r"^KeyError: 'x'\.$"):
            tell(run, {"do": "x"})
    assert len(asked) == 2


def test_a_run_that_is_not_under_way_or_does_not_answer_is_told(tmp_path: Path, serve: Any) -> None:
    with pytest.raises(UsageError, match=r"^Run `none` is not under way\.$") as caught:
        tell(tmp_path / "none", {"do": "status"})
    assert caught.value.hint == "trace-bench ps"
    layout = RunLayout(tmp_path / "held").create()
    with RunLock(layout), pytest.raises(UsageError) as silent:
        tell(layout.path, {"do": "status"})
    assert str(silent.value) == "Run `held` is under way, and its control channel does not answer."
    assert "XDG_RUNTIME_DIR" in silent.value.hint


def raw(address: Path, data: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(60)
        connection.connect(str(address))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(9999)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{}", b"[]\n", b"nope\n", b"\xff\n", b"x" * (control_channel.LONGEST_MESSAGE + 1)]
)
def test_what_is_no_request_gets_no_answer_and_ends_nothing(serve: Any, runtime_dir: Path, data: bytes) -> None:
    run, asked = serve({"ok": True})
    with suppress(BrokenPipeError, ConnectionResetError):
        assert raw(runtime_dir / "r.sock", data) == b""
    assert asked == []
    assert tell(run, {"do": "x"}) == {"ok": True}


def test_another_user_and_a_program_of_a_job_are_refused(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, asked = serve({"ok": True})
    with monkeypatch.context() as patched:
        patched.setattr(control_channel, "_peer", lambda _connection: Peer(1, os.geteuid() + 1))
        with pytest.raises(UsageError, match=r"^this run belongs to another user\.$"):
            tell(run, {"do": "x"})
        patched.setattr(control_channel, "_peer", lambda _connection: Peer(2**22 + 1, os.geteuid()))
        with pytest.raises(UsageError, match=r"^a program that a job has started cannot steer runs\.$"):
            tell(run, {"do": "x"})
    assert asked == []


def test_a_socket_is_its_owners_alone_replaces_one_that_was_left_and_goes_with_its_run(runtime_dir: Path) -> None:
    address = runtime_dir / "r.sock"
    address.touch()
    with ControlServer(address, lambda _request, _peer: {"ok": True}):
        assert address.stat().st_mode & 0o777 == 0o600
        assert ask(str(address), {}) == {"ok": True}
    assert not address.exists()
    with pytest.raises(OSError, match="No such file"):
        ask(str(address), {})


def test_runs_are_found_by_their_entries_with_what_they_tell(serve: Any, tmp_path: Path) -> None:
    worker = {"name": "w", "host": "h", "slots": 2}
    run, _ = serve({**STATUS, "run_dir": str(tmp_path / "r"), "workers": [worker]})
    (found,) = live_runs(tmp_path)
    assert (found.run_id, found.run_dir, found.pid, found.since) == ("r", str(tmp_path / "r"), 7, "2026")
    assert (found.jobs, found.done, found.running, found.state) == (4, 1, ("a",), "running")
    assert [each.name for each in found.workers] == [each.name for each in workers_of(run)] == ["w"]


def test_a_run_without_workers_or_with_what_are_none_has_none(serve: Any, tmp_path: Path) -> None:
    run, _ = serve({"ok": True})
    assert workers_of(run) == []
    other, _ = serve({"ok": True, "workers": [{"odd": 1}]}, "s")
    assert workers_of(other) == workers_of(tmp_path / "none") == []


def test_an_entry_of_a_run_that_is_gone_is_forgotten(tmp_path: Path, runtime_dir: Path) -> None:
    (tmp_path / "r").mkdir()
    (runtime_dir / "r.sock").touch()
    write_entry(RunEntry("r", str(tmp_path / "r"), 1, "2026", str(runtime_dir / "r.sock")))
    assert live_runs(tmp_path) == []
    assert read_entry(tmp_path / "r") is None
    assert not (runtime_dir / "r.sock").exists()


def test_a_run_that_is_held_and_does_not_answer_is_told_by_its_lock_and_plan(tmp_path: Path, serve: Any) -> None:
    layout = finish_run(tmp_path / "held")
    with RunLock(layout):
        (found,) = live_runs(tmp_path)
        assert found == LiveRun(
            layout.run_id, str(layout.path), os.getpid(), "", jobs=4, done=3, running=(), state="unreachable"
        )
        write_entry(RunEntry("held", str(layout.path), 1, "2026", str(tmp_path / "none.sock")))
        assert live_runs(tmp_path) == [found]
        assert live_runs(tmp_path / "elsewhere") == [found]
    bare = RunLayout(tmp_path / "bare").create()
    with RunLock(bare):
        (begun,) = live_runs(tmp_path)
        assert (begun.run_dir, begun.jobs, begun.done) == (str(bare.path), 0, 0)
        assert not entry_path(layout.path).exists()


def test_runs_are_told_in_the_order_in_which_they_began(serve: Any, tmp_path: Path) -> None:
    for name, since in (("a", "2027"), ("b", "2026"), ("c", "2026")):
        serve({**STATUS, "run_id": name, "run_dir": name, "since": since}, name)
    assert [run.run_id for run in live_runs(tmp_path)] == ["b", "c", "a"]
    assert nearest_live_run("a") == "a"
    assert nearest_live_run("something-else-entirely") is None


def test_a_job_is_found_in_the_run_under_way_that_plans_it(tmp_path: Path) -> None:
    job = JOBS[0].job_id
    one, two = (finish_run(tmp_path / name) for name in ("one", "two"))
    for layout in (one, two, RunLayout(tmp_path / "none")):
        write_entry(RunEntry("x", str(layout.path), 1, "2026", "none"))
    assert find_live_job(job) is None
    with RunLock(one):
        assert find_live_job(job) == one.path
        assert find_live_job("f" * 12) is None
        with RunLock(two), pytest.raises(UsageError) as caught:
            find_live_job(job)
    assert str(caught.value) == f"Job `{job}` is in 2 runs under way."
    assert caught.value.hint.startswith("trace-bench cancel ")
    assert caught.value.hint.endswith(f"/jobs/{job} --reason …")


def test_a_job_is_waited_for_until_its_run_says_that_it_ended(serve: Any, tmp_path: Path) -> None:
    layout = finish_run(tmp_path / "r")
    done, waits = JOBS[0].job_id, JOBS[-1].job_id
    left = [[done], [done], []]
    _, asked = serve(lambda _request: {"ok": True, "running": left.pop(0)})
    assert await_end(layout.path, done, {"running": [done]}) == "ok"
    assert len(asked) == 3
    assert await_end(layout.path, done, {"running": []}) == "cancelled"
    left[:] = [[]]
    assert await_end(layout.path, waits, {"running": [waits]}) == ""
    left[:] = [[done]] * 999
    assert await_end(layout.path, done, {"running": [done]}, patience=0.0) == ""
    assert await_end(layout.path, done, {"running": [done]}, patience=0.01) == ""


def test_with_its_run_a_job_has_ended(tmp_path: Path) -> None:
    layout = finish_run(tmp_path / "r")
    assert await_end(layout.path, JOBS[0].job_id, {"running": [JOBS[0].job_id]}) == "ok"
    assert control_find.LOOK > 0
