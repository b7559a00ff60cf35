"""The parts of the template, each by itself in a process of its own: what it forbids, measures, keeps, passes on and ends."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import SandboxUnavailableError
from tracebench_sandbox import descriptors, jail, open_sandbox
from tracebench_sandbox import exit as ends
from tracebench_sandbox.codec import CodecError, Decoder, Encoder
from tracebench_sandbox.flat import Answer
from tracebench_sandbox.frames import EMPTY, LATER, SLACK, SPENT, Inbox, next_body, read_frame, write_frame
from tracebench_sandbox.kernel import closed, landlock, limits, namespaces, seccomp
from tracebench_sandbox.kernel.syscalls import prctl
from tracebench_sandbox.reach import Reach, is_site, libraries, site_folders
from tracebench_sandbox.template import boxes as boxes_module
from tracebench_sandbox.template import strangers
from tracebench_sandbox.template.boxes import KEPT, Boxes
from tracebench_sandbox.template.candidate import PRINTED, Runner
from tracebench_sandbox.template.inspection import PROCESSES, THREADS, Inspection, Suspect, inspect, waited
from tracebench_sandbox.template.lockdown import Lockdown, Request, die_with, drop_capabilities

needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="this host has no Landlock")
PLENTY = Request(seconds=1000.0, clock_seconds=1000.0, memory_mb=4096, file_mb=1)


def in_child(work: Callable[[], object]) -> int:
    """Do something in a fork of this process, whose errors are this one's; return how it ended."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - told by the parent
            os.write(theirs, traceback.format_exc()[-4000:].encode())
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as told:
        words = told.read().decode()
    status = os.waitpid(pid, 0)[1]
    assert not words, words
    return status


def everything() -> Lockdown:
    return Lockdown(Reach([], withheld=[]))


def waiting() -> int:
    """A process that does nothing."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    return pid


# -- what comes over a wire


def test_a_frame_comes_in_parts_and_an_end_is_no_frame() -> None:
    packed = Encoder(1 << 22).pack({"a": "x" * 600_000})
    ours, theirs = os.pipe()
    sender = threading.Thread(target=write_frame, args=(theirs, packed))
    sender.start()
    assert read_frame(ours, decoder=Decoder(plain=True)) == {"a": "x" * 600_000}
    sender.join()
    write_frame(theirs, EMPTY)
    assert read_frame(ours, decoder=Decoder(plain=True)) is None
    sender = threading.Thread(target=write_frame, args=(theirs, packed))
    sender.start()
    assert next_body(ours) == packed[len(EMPTY) :]
    sender.join()
    write_frame(theirs, EMPTY[:3])
    later = threading.Timer(0.05, os.write, (theirs, EMPTY[3:]))
    later.start()
    assert next_body(ours) == b""
    later.join()
    write_frame(theirs, packed[:20])
    os.close(theirs)
    with pytest.raises(EOFError):
        next_body(ours)
    with pytest.raises(EOFError):
        read_frame(ours, decoder=Decoder(plain=True))
    os.close(ours)


def test_messages_are_taken_once_they_are_whole_and_none_above_the_cap() -> None:
    one, other = (Encoder(1 << 20).pack(value) for value in ({"a": 1}, {"b": "é"}))
    inbox = Inbox(100)
    inbox.take(one[:5])
    assert [*inbox.messages()] == []
    inbox.take(one[5:] + other + EMPTY + one[:-1])
    assert [*inbox.messages()] == [{"a": 1}, {"b": "é"}, None]
    assert inbox.take_alone(one[-1:]) is LATER
    assert [*inbox.messages()] == [{"a": 1}]
    assert inbox.take_alone(one) == {"a": 1}
    assert inbox.take_alone(EMPTY) is None
    assert inbox.take_alone(EMPTY[:-1]) is LATER
    assert inbox.take_alone(EMPTY[-1:]) is LATER
    assert [*inbox.messages()] == [None]
    for blocks in (0, 7):
        within, beyond = Inbox(100), Inbox(100)
        within.take(
            (100 + SLACK - blocks).to_bytes(len(EMPTY) // 2, "little") + blocks.to_bytes(len(EMPTY) // 2, "little")
        )
        assert [*within.messages()] == []
        beyond.take(
            (101 + SLACK - blocks).to_bytes(len(EMPTY) // 2, "little") + blocks.to_bytes(len(EMPTY) // 2, "little")
        )
        with pytest.raises(CodecError, match="is larger than allowed"):
            [*beyond.messages()]


def test_descriptors_arrive_with_their_message_in_order() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pipes = [os.pipe() for _ in range(2)]
        descriptors.send(ours, b"two", [pipes[0][1], pipes[1][1]])
        descriptors.send(ours, b"none", [])
        data, fds = descriptors.receive(theirs, 3, 2)
        assert data == b"two"
        for place, fd in enumerate(fds):
            os.write(fd, b"%d" % place)
            assert os.read(pipes[place][0], 9) == b"%d" % place
        assert len(fds) == 2
        assert descriptors.receive(theirs, 9, 2) == (b"none", [])
        ours.close()
        assert descriptors.receive(theirs, 9, 2) == (b"", [])
    for fd in (*fds, *(end for pipe in pipes for end in pipe)):
        os.close(fd)


# -- a candidate's side, here


class Said:
    """A candidate that is served here, in a thread, over a socket."""

    def __init__(
        self, code: str, *, entry: str = "f", prelude: str = "", inputs: Any = None, cap: int = 1 << 16
    ) -> None:
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(60)
        order = {"code": code, "entry": entry, "prelude": prelude, "inputs": inputs, "cap": cap}
        write_frame(self.ours.fileno(), Encoder(1 << 20).pack(order))
        shown = sys.stdout, sys.stderr

        def serve() -> None:
            with theirs:
                Runner().serve(theirs.fileno())

        self.thread = threading.Thread(target=serve)
        try:
            self.thread.start()
            if inputs is None:
                self.first = self.next()
            else:
                self.thread.join()
                self.answers = [self.next() for _ in inputs]
        finally:
            if inputs is not None:
                self.close()
            sys.stdout, sys.stderr = shown

    def next(self) -> Any:
        inbox = Inbox(1 << 20)
        while True:
            inbox.take(self.ours.recv(1))
            for one in inbox.messages():
                return {"n": one.place, "s": "ok", "v": one.value} if isinstance(one, Answer) else one

    def close(self) -> None:
        self.ours.close()
        self.thread.join()


def answers(code: str, *inputs: Any, **more: Any) -> list[dict[str, Any]]:
    return Said(code, inputs=[*inputs], **more).answers


def test_each_input_has_an_answer_with_its_place() -> None:
    told = answers("def f(x, y=1):\n    return x / y\n", [6, 3], [1], [1, 0])

    assert told[:2] == [{"n": 0, "s": "ok", "v": 2.0}, {"n": 1, "s": "ok", "v": 1.0}]
    assert (told[2]["n"], told[2]["s"], told[2]["e"]) == (2, "error", "ZeroDivisionError: division by zero")
    assert told[2]["t"] == '  File "<candidate>", line 2, in f\n    return x / y'


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("def g(): pass", "invalid", "The code defines no function `f`."),
        ("f = 3", "invalid", "The code defines no function `f`."),
        ("def f(:", "invalid", "SyntaxError: "),
        ("x = '\0'", "invalid", "SyntaxError: "),
        ("raise SystemExit('bye')", "error", "SystemExit: bye"),
        ("raise KeyError", "error", "KeyError"),
        ("open('/nowhere/x')", "error", "FileNotFoundError: "),
        ("raise PermissionError(1, 'no')", "forbidden", "The sandbox refused this: PermissionError: [Errno 1] no"),
        ("raise OSError(13, 'no')", "forbidden", "The sandbox refused this: PermissionError: [Errno 13] no"),
        ("raise OSError(30, 'no')", "forbidden", "The sandbox refused this: OSError: [Errno 30] no"),
        (
            "import socket; raise socket.gaierror(3, 'no')",
            "forbidden",
            "The sandbox refused this: gaierror: [Errno 3] no",
        ),
        ("raise MemoryError('x')", "memory", "MemoryError: the memory limit was reached"),
        (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "error",
            "E: (its message cannot be shown)",
        ),
        ("raise ValueError('a\\n  b' + 'c' * 600)", "error", "ValueError: a b" + "c" * 485),
    ],
)
def test_why_a_candidate_cannot_be_loaded_is_told_before_any_input(code: str, status: str, words: str) -> None:
    said = Said(code)
    said.close()

    assert (said.first["n"], said.first["s"]) == (-1, status)
    assert said.first["e"].startswith(words)
    assert len(said.first["e"]) <= 500 or status == "forbidden"
    if "SyntaxError" in words and code.startswith("def"):
        assert said.first["t"] == '  File "<candidate>", line 1\n    def f(:'
    if status == "memory":
        assert said.first["t"].startswith('  File "<candidate>", line 1, in <module>')


def test_what_a_prelude_defines_is_there_and_is_no_frame_of_the_candidates() -> None:
    prelude = "def given(x):\n    if x < 0: raise ValueError('below')\n    return x + 1\n"
    fine, bad = answers("def f(x):\n    return given(x), __name__\n", [1], [-1], prelude=prelude)

    assert fine["v"] == (2, "candidate")
    assert bad["t"] == '  File "<candidate>", line 2, in f\n    return given(x), __name__'


def test_the_middle_of_a_long_chain_is_left_out() -> None:
    code = "def f(n):\n    if n == 0: raise ValueError\n    return f(n - 1)\n"
    short, long = answers(code, [11], [12])

    assert short["t"].count("in f") == 12
    lines = long["t"].splitlines()
    assert [line for line in lines if line == "  ..."] == ["  ..."]
    assert lines.index("  ...") == 12
    assert long["t"].count("in f") == 12
    assert lines[-2:] == ['  File "<candidate>", line 2, in f', "    if n == 0: raise ValueError"]


def test_what_is_printed_comes_back_with_the_answer_its_last_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys\ndef f(n):\n    print('a' * n, end='z')\n    sys.stderr.write('b')\n    return n\n"
    few, many, none = answers(code + "def g(): pass\n", [2], [PRINTED + 5], [0])

    assert (few["p"], few["v"]) == ("aazb", 2)
    assert many["p"] == "a" * (PRINTED - 2) + "zb"
    assert none["p"] == "zb"
    assert capfd.readouterr().out == "aazb" + "a" * (PRINTED + 5) + "zb" + "zb"


def test_a_value_that_is_none_or_too_large_or_lies_is_told_so() -> None:
    code = (
        "class Lie(dict):\n    def items(self): raise RuntimeError('no items')\n    def keys(self): raise RuntimeError('no keys')\n"
        "def f(what):\n    return {'set': {1, object()}, 'large': 'x' * 70000, 'fits': 'x' * 60000}[what]\n"
    )
    odd, large, fits = answers(code, ["set"], ["large"], ["fits"])

    assert (odd["s"], odd["n"]) == ("invalid", 0)
    assert odd["e"].startswith("The returned value ")
    assert (large["s"], large["e"]) == (
        "invalid",
        "The returned value takes more than the 65536 bytes that are allowed.",
    )
    assert len(fits["v"]) == 60_000


# -- what a look at processes finds


def suspect(folder: Path, pid: int | None = None, **more: Any) -> Suspect:
    given: dict[str, Any] = {
        "pid": os.getpid() if pid is None else pid,
        "folder": folder,
        "request": PLENTY,
        "family": False,
    }
    return Suspect(**given | more)


def test_nothing_is_said_against_a_process_within_its_limits(tmp_path: Path) -> None:
    pid = waiting()
    try:
        assert inspect(suspect(tmp_path, pid)) == ""
        assert inspect(suspect(tmp_path, pid, family=True)) == ""
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert inspect(suspect(tmp_path, pid)) == "", "it has ended"


@pytest.mark.parametrize("size", [0, 1, 2])
def test_files_may_take_four_times_the_largest(tmp_path: Path, size: int) -> None:
    """A largest file of none is one of a megabyte."""
    request = PLENTY._replace(file_mb=size)
    most = 4 * max(size, 1)
    pid = waiting()
    try:
        (tmp_path / "file").write_bytes(b"x" * ((most << 20) - 65_536))
        assert inspect(suspect(tmp_path, pid, request=request)) == ""
        (tmp_path / "more").write_bytes(b"x" * (1 << 18))
        assert inspect(suspect(tmp_path, pid, request=request)) == f"wrote more than {most} MB of files"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_files_without_a_name_count_where_they_are_held_and_shared_memory_does_not(tmp_path: Path) -> None:
    held = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(held, b"x" * (5 << 20))
    pid = waiting()
    try:
        (tmp_path / "file").unlink()
        assert inspect(suspect(tmp_path, pid)) == "wrote more than 4 MB of files"
        found = os.fstat(held)
        assert inspect(suspect(tmp_path, pid, shared=frozenset({(found.st_dev, found.st_ino)}))) == ""
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(held)
    assert inspect(suspect(tmp_path)) == "", "nobody holds it any more"


def test_processor_time_of_all_that_was_started_is_told_where_the_clock_runs_longer(tmp_path: Path) -> None:
    def work() -> None:
        end = time.process_time() + 0.15
        while time.process_time() < end:
            pass
        spent = PLENTY._replace(seconds=0.05, clock_seconds=1.0)
        assert inspect(suspect(tmp_path, request=spent)) == SPENT
        assert inspect(suspect(tmp_path, request=spent._replace(clock_seconds=0.05))) == "", "the kernel ends it"
        assert inspect(suspect(tmp_path, request=spent._replace(seconds=500.0))) == ""

    assert in_child(work) == 0


def test_one_process_may_have_so_many_threads(tmp_path: Path) -> None:
    assert (THREADS, PROCESSES) == (512, 512)

    def work() -> None:
        threading.stack_size(65_536)
        over = threading.Event()
        for _ in range(THREADS - 1):
            threading.Thread(target=over.wait, daemon=True).start()
        assert inspect(suspect(tmp_path)) == ""
        assert waited(os.getpid()) > 0.0
        threading.Thread(target=over.wait, daemon=True).start()
        assert inspect(suspect(tmp_path)) == "started more than 512 threads"
        assert inspect(suspect(tmp_path, family=True)) == ""

    assert in_child(work) == 0


def test_a_look_tells_by_process_why_each_must_end(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    for folder in (small, large):
        folder.mkdir()
    (large / "file").write_bytes(b"x" * (5 << 20))
    pids = [waiting(), waiting()]
    try:
        told = Inspection([suspect(small, pids[0]), suspect(large, pids[1])]).result()
        assert told == {pids[1]: "wrote more than 4 MB of files"}
        assert Inspection([]).result() == {}
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert waited(pids[0]) == 0.0


# -- private folders


def test_a_folder_that_was_not_touched_serves_again_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boxes_module, "KEPT", 2)
    assert KEPT == 8

    def work() -> None:
        kept = Boxes(tmp_path, lockdown=everything())
        one = kept.take(family=False)
        assert (one.path.name, one.path.stat().st_mode & 0o777, Path.cwd()) == ("1", 0o700, one.path)
        assert os.environ["HOME"] == os.environ["TMPDIR"] == str(one.path)
        os.utime(one.path)
        kept.give_back(one)
        assert kept.busy
        family = kept.take(family=True)
        assert (family.confinement, family.path.name) == (-1, "2")
        assert kept.take(family=False) == one
        assert one.path.stat().st_mtime_ns == 0, "its times tell nothing"
        others = [kept.take(family=False) for _ in range(3)]
        others[0].path.chmod(0o755)
        kept.give_back(others[0])
        assert not others[0].path.exists()
        (others[1].path / "file").touch()
        kept.give_back(others[1])
        kept.give_back(family)
        assert not family.path.exists()
        while kept.removers:
            kept.reap()
        assert not others[1].path.exists()
        assert not kept.busy
        more = [one, others[2], kept.take(family=False)]
        for box in more:
            kept.give_back(box)
        assert [box.path.exists() for box in more] == [True, True, False], "no more are kept"
        kept.forget()
        assert not kept.busy
        assert [*tmp_path.iterdir()] == []

    assert in_child(work) == 0


def test_a_folder_that_was_put_in_anothers_place_is_none(tmp_path: Path) -> None:
    def work() -> None:
        kept = Boxes(tmp_path, lockdown=everything())
        box = kept.take(family=False)
        box.path.rmdir()
        box.path.symlink_to("/usr")
        kept.give_back(box)
        while kept.removers:
            kept.reap()
        assert not kept._kept
        assert Path("/usr").is_dir()

    assert in_child(work) == 0


# -- what a child may do


def of(what: int) -> tuple[int, int]:
    return resource.getrlimit(what)


def test_limits_are_as_asked_and_those_below_them_stay() -> None:

    def work() -> None:
        lockdown = everything()
        assert of(resource.RLIMIT_CORE) == (0, 0)
        assert of(resource.RLIMIT_MSGQUEUE) == (0, 0)
        assert of(resource.RLIMIT_SIGPENDING) == (1024, 1024)
        address = lockdown._address_space
        core = min(os.sched_getaffinity(0))
        pid = waiting()
        lockdown.limit(
            PLENTY._replace(seconds=1.2, clock_seconds=1.2, memory_mb=100, file_mb=3, core=core), family=False, pid=pid
        )
        asked = (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
        found = [resource.prlimit(pid, what) for what in asked]
        assert found == [(2, 3), ((100 << 20) + address,) * 2, (3 << 20, 3 << 20), (256, 256)]
        assert os.sched_getaffinity(pid) == {core}
        os.kill(pid, signal.SIGKILL)
        lockdown.limit(PLENTY._replace(seconds=2.0, clock_seconds=3.0, memory_mb=100), family=True)
        assert of(resource.RLIMIT_CPU) == (4, 5), "seen by who looks on"
        assert of(resource.RLIMIT_AS) == (100 << 20, 100 << 20)

    assert in_child(work) == 0

    def less() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 8192))
        everything().limit(PLENTY, family=True)
        assert of(resource.RLIMIT_FSIZE) == (8192, 8192), "who began the run has set less"

    assert in_child(less) == 0


@needs_landlock
@pytest.mark.skipif(not seccomp.available(), reason="this host has no seccomp")
def test_a_candidate_writes_its_own_folder_reads_the_system_and_nothing_else(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    box = tmp_path / "box"
    box.mkdir()

    def work() -> None:
        lockdown = everything()
        assert lockdown.strong
        lockdown.enter(lockdown.confinement(box))
        (box / "file").write_text("x")
        assert Path("/etc/passwd").read_text()
        for refused in (
            secret.read_text,
            (tmp_path / "new").touch,
            lambda: Path("/etc/hostname").read_text(),
            lambda: os.kill(os.getppid(), 0),
            socket.socket,
            lambda: os.execv("/bin/true", ["true"]),
        ):
            try:
                refused()
            except PermissionError:
                continue
            raise AssertionError("it was allowed")
        told = Path("/proc/self/status")
        try:
            told.read_text()
        except OSError:
            return
        raise AssertionError("its own entry of /proc was readable")

    assert in_child(work) == 0


@needs_landlock
def test_a_command_runs_programs_and_has_the_devices_that_it_was_granted(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()

    def work() -> None:
        everything().enter_family(box, ["/dev/full"])
        (box / "file").write_text("x")
        told = Path("/proc/self/status").read_text()
        assert f"CapEff:\t{0:016x}" in told
        assert os.open("/dev/full", os.O_WRONLY) > 2
        assert os.open("/dev/null", os.O_WRONLY) > 2
        try:
            os.open("/dev/tty0", os.O_WRONLY)
        except OSError:
            os.execv("/bin/sh", ["sh", "-c", "exit 7"])

    assert os.waitstatus_to_exitcode(in_child(work)) == 7


@needs_landlock
def test_grants_are_for_reading_running_writing_or_names(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)

    def rights(**more: Any) -> list[bool]:
        told: list[bool] = []

        def work() -> None:
            version = landlock.abi()
            system = landlock.grants(
                [Path("/usr"), Path("/lib"), Path("/lib64"), Path("/bin")], version=version, execute=True
            )
            prctl(38, 1)
            ruleset = landlock.build([*system, *landlock.grants([tmp_path], version=version, **more)], version=version)
            landlock.enter(ruleset)
            tries: list[Callable[[], object]] = [
                (tmp_path / "run").read_text,
                lambda: [*tmp_path.iterdir()],
                lambda: (tmp_path / "run").write_text("#!/bin/sh\n"),
                lambda: (
                    (os.access(tmp_path / "run", os.X_OK) and os.spawnv(os.P_WAIT, str(tmp_path / "run"), ["run"]) == 0)
                    or _refuse()
                ),
            ]
            os.write(theirs, json.dumps([_allowed(one) for one in tries]).encode())

        ours, theirs = os.pipe()
        assert in_child(work) == 0
        os.close(theirs)
        with os.fdopen(ours) as read:
            told += json.loads(read.read())
        return told

    assert rights() == [True, True, False, False]
    assert rights(names=True) == [False, True, False, False]
    assert rights(execute=True) == [True, True, False, True]
    assert rights(write=True) == [True, True, True, False]
    assert rights(write=True, execute=True) == [True] * 4


def _refuse() -> bool:
    raise OSError


def _allowed(one: Callable[[], object]) -> bool:
    try:
        one()
    except OSError:
        return False
    return True


@pytest.mark.skipif(landlock.abi() < 6, reason="Landlock of this host knows no signals")
def test_a_scoped_process_signals_nobody_else_and_keeps_its_files(tmp_path: Path) -> None:
    def work() -> None:
        prctl(38, 1)
        landlock.scope()
        (tmp_path / "file").write_text("x")
        assert not _allowed(lambda: os.kill(os.getppid(), 0))

    assert in_child(work) == 0


def test_a_child_whose_parent_is_another_is_gone_at_once() -> None:
    def work() -> None:
        die_with(os.getppid())
        drop_capabilities()
        assert f"CapEff:\t{0:016x}" in Path("/proc/self/status").read_text()
        die_with(1 << 22)
        raise AssertionError("it went on")

    assert in_child(work) == 0


# -- ends


def test_strangers_are_ended_and_known_ones_left() -> None:
    def work() -> None:
        known, stranger = waiting(), waiting()
        assert strangers.strangers([known]) == {stranger}
        assert strangers.strangers([]) == {known, stranger}
        assert strangers.reap([known, stranger]) == 0
        strangers.sweep(lambda: strangers.strangers([known]))
        assert strangers.strangers([]) == {known}
        os.kill(known, signal.SIGKILL)
        while not strangers.reap([known]):
            pass
        assert strangers.strangers([]) == set()

    assert in_child(work) == 0


def test_a_process_leaves_with_what_an_interpreter_does_at_its_end(tmp_path: Path) -> None:
    def work() -> None:
        import atexit

        atexit._clear()
        atexit.register((tmp_path / "ran").touch)
        threading.Timer(0.01, (tmp_path / "waited").touch).start()
        sys.stdout.close()
        ends.leave(5)

    assert os.waitstatus_to_exitcode(in_child(work)) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"ran", "waited"}


def test_who_is_watched_is_told() -> None:
    def work() -> None:
        sys.setprofile(None)
        sys.settrace(None)
        if sys.version_info < (3, 12):
            assert not ends.is_watched()
        sys.setprofile(lambda *_: None)
        assert ends.is_watched()
        sys.setprofile(None)
        sys.settrace(lambda *_: None)
        assert ends.is_watched()
        sys.settrace(None)

    assert in_child(work) == 0


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3 << 8, 3), (9, 137), (15, 143)])
def test_an_end_is_passed_on_as_a_shell_does(status: int, code: int) -> None:
    assert os.waitstatus_to_exitcode(in_child(lambda: namespaces.leave_like(status))) == code


@pytest.mark.parametrize(
    ("status", "code"),
    [(0, 0), (3 << 8, 3), (9, -9), (15, -15), (143 << 8, -15), (137 << 8, -9), (128 << 8, 128), (255 << 8, 255)],
)
def test_an_end_is_passed_on_as_it_was(status: int, code: int) -> None:
    def work() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        namespaces.end_like(status)

    assert os.waitstatus_to_exitcode(in_child(work)) == code


def test_limits_of_a_program_are_those_of_each_process_without_a_group() -> None:
    def work() -> None:
        limits.limit_process(limits.Limits(processes=10**30, memory_mb=10**14), in_group=False)
        limits.limit_process(limits.Limits(processes=50, memory_mb=100), in_group=True)
        assert of(resource.RLIMIT_DATA)[0] != 100 << 20
        if limits._kernel() >= (5, 14):
            assert of(resource.RLIMIT_NPROC) == (50, 50)
        limits.limit_process(limits.Limits(memory_mb=100), in_group=False)
        assert of(resource.RLIMIT_DATA) == (100 << 20, 100 << 20)
        limits.limit_process(limits.Limits(memory_mb=200), in_group=False)
        assert of(resource.RLIMIT_DATA) == (100 << 20, 100 << 20), "no more than it has"

    assert in_child(work) == 0
    assert limits._own_group().startswith("/")
    assert len(limits._kernel()) == 2


# -- options of a jail, and a relay's room


def test_options_say_how_a_program_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    enclosed = json.dumps({"folder": "/a", "current": "/a/b", "hidden": ["/c"]})
    options = [
        "--enclosed=" + enclosed,
        '--limits={"processes": 5}',
        f"--tell={theirs}",
        "--only=127.0.0.1:80",
        "sh",
        "--x",
    ]
    monkeypatch.setattr(sys, "argv", ["jail", *options])

    held = jail._options()

    assert sys.argv == ["jail", "sh", "--x"]
    assert held.enclosure is not None
    assert (held.enclosure.folder, held.enclosure.current, [*held.enclosure.hidden]) == ("/a", "/a/b", ["/c"])
    assert (held.limits, held.tell) == (limits.Limits(processes=5), theirs)
    assert held.relay is not None
    assert held.relay._addresses == (("127.0.0.1", 80),)
    assert not os.get_inheritable(theirs)
    held.relay._inside.close()
    os.wait()
    jail._tell(held, "why")
    with os.fdopen(ours) as told:
        assert told.read() == "why\n"
    jail._tell(jail.Held(), "nobody asks")
    monkeypatch.setattr(sys, "argv", ["jail", "--only=", "sh"])
    nothing = jail._options()
    assert nothing.relay is not None
    assert nothing.relay._addresses == ()
    nothing.relay._inside.close()
    os.wait()
    monkeypatch.setattr(sys, "argv", ["jail", "--other=1", "sh"])
    with pytest.raises(SystemExit, match=r"^--other: no such option$"):
        jail._options()


def test_a_program_that_cannot_start_or_be_held_says_why(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["jail", "/nowhere/program"])
    assert os.waitstatus_to_exitcode(in_child(jail._become)) == jail.NOT_STARTED == 127
    assert capfd.readouterr().err == "/nowhere/program: No such file or directory\n"
    monkeypatch.setattr(sys, "argv", ["jail", "sh", "-c", "exit 3"])
    assert os.waitstatus_to_exitcode(in_child(jail._become)) == 3
    ours, theirs = os.pipe()
    held = jail.Held(tell=theirs)
    assert os.waitstatus_to_exitcode(in_child(lambda: jail._refuse(held, "it cannot be: no"))) == 127
    os.close(theirs)
    with os.fdopen(ours) as told:
        assert told.read() == "it cannot be: no\n"
    assert capfd.readouterr().err == "It cannot be: no.\n"
    jail._warn(OSError(1, "as it says"))
    assert capfd.readouterr().err == "This program sees the host's processes, and what they hold: as it says.\n"


@pytest.mark.parametrize(
    ("soft", "hard", "room", "files"),
    [
        (100, 100, 34, 100),
        (100, 200, 84, 200),
        (100, 4000, 512, 1056),
        (2000, 4000, 512, 2000),
        (1056, 4000, 512, 1056),
        (30, 33, 1, 33),
    ],
)
def test_a_relay_has_room_for_half_as_many_connections_as_files(soft: int, hard: int, room: int, files: int) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert closed._room() == room
        assert of(resource.RLIMIT_NOFILE) == (files, hard)

    assert in_child(work) == 0


def test_a_relay_passes_on_both_ways_until_both_have_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as door:
        ours, outside = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            address = server.getsockname()
            for one in (ours, server, door):
                one.close()
            try:
                closed._serve(outside, [address])
            finally:
                os._exit(0)
        outside.close()
        socket.send_fds(ours, [b"."], [door.fileno()])
        try:
            with socket.create_connection(door.getsockname()) as client, server.accept()[0] as end:
                for one in (client, end):
                    one.settimeout(60)
                client.sendall(b"to")
                assert end.recv(9) == b"to"
                client.shutdown(socket.SHUT_WR)
                assert end.recv(9) == b"", "its end is passed on"
                end.sendall(b"fro")
                assert client.recv(9) == b"fro"
                end.close()
                assert client.recv(9) == b""
            server.close()
            with socket.create_connection(door.getsockname()) as refused:
                refused.settimeout(60)
                assert refused.recv(9) == b"", "a server that is gone has ended already"
        finally:
            ours.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


# -- what may be read


def test_what_is_withheld_is_forgotten_but_for_what_was_preloaded_by_name(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name in ("suite", "other"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("")
        for part in ("given", "kept", "given_not"):
            (site / name / f"{part}.py").write_text("")
    (site / "other.libs").mkdir()
    (site / "single.py").write_text("")
    source = tmp_path / "source"
    source.mkdir()

    def work() -> None:
        sys.path[:0] = [str(site), str(source)]
        import importlib

        for name in ("suite.given", "suite.kept", "suite.given_not", "other.kept", "single"):
            importlib.import_module(name)
        sys.path_importer_cache[str(source)] = None
        reach = Reach(["suite.given", "other"], withheld=["suite", "missing"], readable=[tmp_path / "more"])
        assert reach.readable[0] == tmp_path / "more"
        assert {site / "suite/given.py", site / "other", site / "other.libs", site / "single.py"} <= {*reach.readable}
        assert not {site / "suite", site / "suite/kept.py"} & {*reach.readable}
        assert reach.holes(whole=False) >= {(site / "suite").resolve()}
        assert site.resolve() not in reach.holes(whole=False)
        assert site.resolve() in reach.holes(whole=True)
        assert not [hole for hole in reach.holes(whole=True) if not hole.exists()]
        reach.forget()
        left = {name for name in sys.modules if name.partition(".")[0] in {"suite", "other", "single"}}
        assert left == {"suite", "suite.given", "other", "other.kept", "single"}
        assert str(site) in sys.path
        assert str(source) not in sys.path
        assert str(source) not in sys.path_importer_cache
        assert str(site) not in sys.path_importer_cache
        assert set(map(str, libraries())) & {*sys.path}

    assert in_child(work) == 0


def test_a_folder_of_packages_is_told_by_its_name_or_what_it_holds(tmp_path: Path) -> None:
    for name in ("site-packages", "dist-packages", "plain", "dist", "egg"):
        (tmp_path / name).mkdir()
    (tmp_path / "dist/a-1.dist-info").mkdir()
    (tmp_path / "egg/a.egg-info").touch()
    (tmp_path / "plain/a.info").touch()

    assert [
        is_site(tmp_path / name) for name in ("site-packages", "dist-packages", "dist", "egg", "plain", "none")
    ] == [
        *[True] * 4,
        False,
        False,
    ]
    for prefix in (sys.prefix, sys.base_prefix):
        assert any(folder.startswith(f"{prefix}/") for folder in site_folders())
    assert all(folder.name in {"lib-dynload"} or folder.is_dir() for folder in libraries())
    assert libraries()[-1].name == "lib-dynload"


@pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")
def test_a_command_that_finds_no_namespaces_left_is_not_measured() -> None:
    def work() -> None:
        namespaces.leave_host(0)
        with open_sandbox() as sandbox:
            assert sandbox.command(["true"]).value["returncode"] == 0
            Path("/proc/sys/user/max_user_namespaces").write_text("0")
            with pytest.raises(SandboxUnavailableError, match="could not start a process"):
                sandbox.command(["true"])

    assert in_child(work) == 0
