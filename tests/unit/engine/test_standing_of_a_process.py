"""What the kernel tells of a process: equal while it does nothing, different by name where it did something, and what may act by itself."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine.run.local.standing import NEEDED, File, active, difference, standing


@pytest.fixture
def told() -> Iterator[Any]:
    """Return what has another process do something, and returns its standing before and after."""
    held: list[int] = []

    def told(act: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            theirs.recv(1)
            kept = act()
            theirs.send(b"x")
            theirs.recv(1)
            os._exit(0 if kept is None else 1)
        held.append(pid)
        before = standing(pid)
        ours.send(b"x")
        ours.recv(1)
        now = standing(pid)
        ours.close()
        theirs.close()
        return before, now

    yield told
    for pid in held:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_process_that_does_nothing_stands_as_it_stood(told: Any) -> None:
    before, now = told(lambda: sum(range(1000)))
    assert difference(before, now) == ""
    assert before.keys() >= NEEDED | {
        "threads",
        "processes",
        "files",
        "namespaces",
        "priority",
        "status",
        "cwd",
        "root",
    }
    assert (before["threads"], before["processes"]) == (1, b"")
    assert before["cwd"] == str(Path.cwd())


@pytest.mark.parametrize(
    ("act", "names"),
    [
        (lambda: os.chdir("/proc"), "cwd"),
        (lambda: os.nice(1), "priority"),
        (lambda: signal.setitimer(signal.ITIMER_PROF, 999), ""),
        (lambda: os.umask(0o123), "Umask"),
        (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "SigIgn"),
        (lambda: Path("/proc/self/comm").write_text("other"), "Name, comm"),
    ],
)  # fmt: skip
def test_what_a_process_did_is_told_by_name(told: Any, act: Any, names: str) -> None:
    found = difference(*told(act))
    assert found == names or (names == "Name, comm" and found == "comm, status")


def test_files_that_were_opened_are_told_with_where_they_lead(told: Any, tmp_path: Path) -> None:
    before, now = told(lambda: [os.open(tmp_path, os.O_PATH), os.eventfd(0)])
    assert difference(before, now) == "files"
    new = now["files"].keys() - before["files"].keys()
    assert sorted(now["files"][fd].leads_to for fd in new) == [str(tmp_path), "anon_inode:[eventfd]"]
    assert active(now["files"][fd] for fd in new) == ""


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({}, {}, ""), ({"a": 1}, {"a": 2, "b": 1}, "a, b"), ({"a": 1, "c": 1}, {"c": 1}, "a"),
        ({"status": b"A:\t1\nB:\t2\n"}, {"status": b"A:\t1\nB:\t3\n"}, "B"),
        ({"status": b"A:\t1\nB:\t2\nC:\t1\n"}, {"status": b"A:\t2\nB:\t2\nC:\t2\n"}, "A, C"),
        ({"status": b"A:\t1\n", "x": 1}, {"status": b"A:\t2\n", "x": 2}, "status, x"),
    ],
)  # fmt: skip
def test_names_that_differ_are_told_and_of_the_status_its_lines(before: Any, now: Any, words: str) -> None:
    assert difference(before, now) == words


def test_what_acts_by_itself_is_told_apart_from_what_does_not(told: Any, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    poll = select.epoll()
    null, folder = os.open("/dev/null", os.O_RDWR), os.open(tmp_path, os.O_RDONLY)
    file = os.open(tmp_path / "f", os.O_CREAT | os.O_RDWR)
    watch = os.pidfd_open(os.getpid())
    try:
        passive = [ours.fileno(), read, poll.fileno(), null, folder, file, watch]
        files, _ = (found["files"] for found in told(lambda: None))
        assert [files[str(fd)].is_passive for fd in passive] == [True] * len(passive)
    finally:
        poll.close()
        for end in (ours, theirs):
            end.close()
        for fd in (read, write, null, folder, file, watch):
            os.close(fd)
    ring = File("anon_inode:[io_uring]", 1, 0, (0, 0), b"")
    card = File("/dev/nvidia0", 1, 0o020666, (195, 0), b"")
    disk = File("/dev/sda", 1, 0o060660, (8, 0), b"")
    assert [each.is_passive for each in (ring, card, disk)] == [False] * 3
    assert active([ring._replace(leads_to="anon_inode:[timerfd]"), card, ring]) == "/dev/nvidia0"
