"""A process that was made before its request holds a candidate as a fresh one does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.whole import HEAVY, one_in

from tracebench_core.contracts import Session
from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.host import level

pytestmark = pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")
LIMITS = Limits(seconds=10.0, memory_mb=256, file_mb=1)
WHO = "import os\ndef f():\n    return os.getpid()\n"
LOOK = """
import os, random, resource, signal
def denied(call):
    try: call()
    except (PermissionError, ValueError): return True
    return False
def f():
    limits = [resource.getrlimit(x) for x in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
    here = os.getcwd()
    return {"fds": sorted(int(x) for x in range(64) if is_open(x)), "limits": limits, "files": os.listdir(here), "here": here,
            "home": os.environ["HOME"] == here, "random": random.random(), "leads": os.getsid(0) == os.getpid(),
            "fork": denied(os.fork), "signal": denied(lambda: os.kill(os.getppid(), 0)), "read": denied(lambda: open("/etc/shadow")),
            "caps": denied(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))}
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
"""
EATS = "def f():\n    return len(bytearray(2**30))\n"
WRITES = "def f():\n    open('big', 'wb').write(b'x' * (2 << 20))\n"


@pytest.fixture
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox(preload=["numpy"], require="strong") as opened:
        yield opened


@pytest.fixture
def busy(sandbox: LocalSandbox) -> Iterator[Session]:
    """A caller in the middle of a session: while it is there, a process waits for the next one."""
    with sandbox.session(WHO, "f") as session:
        assert session.call().status == "ok"
        yield session


def waiting(sandbox: LocalSandbox, busy: Session) -> int:
    """Return the process that waits for its request, once it is there."""
    running = busy.call().value
    pid = sandbox.template_pid
    found: list[int] = []

    def one_waits() -> bool:
        found[:] = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if int(p) != running]
        return len(found) == 1

    eventually(one_waits)
    return found[0]


def eventually(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_the_process_that_waits_is_the_one_that_runs_and_is_held_like_any_other(
    sandbox: LocalSandbox, busy: Session
) -> None:
    before = waiting(sandbox, busy)

    ahead = sandbox.call(LOOK.replace('"leads"', '"pid": os.getpid(), "leads"'), "f", limits=LIMITS).value

    assert ahead.pop("pid") == before
    ahead_here = ahead.pop("here")
    with open_sandbox(preload=["numpy"], require="strong") as alone:
        fresh = alone.call(LOOK, "f", limits=LIMITS).value
    assert ahead_here != fresh.pop("here")
    assert ahead == fresh
    assert ahead["fds"] == [0, 1, 2, 3]
    assert ahead["files"] == []
    assert all(ahead[what] for what in ("home", "leads", "fork", "signal", "read", "caps"))


MARKS = {
    "a file": "open('mark', 'w').close()",
    "a folder": "os.mkdir('mark')",
    "a link": "os.symlink('x', 'mark')",
    "a size": "[(os.mkdir(f'{n:0200}'), os.rmdir(f'{n:0200}')) for n in range(60)]; [open(f'{n:0200}', 'w') for n in range(60)];"
    " [os.unlink(f'{n:0200}') for n in range(60)]",
    "a mode": "os.chmod('.', 0o500)",
    "no mode": "os.chmod('.', 0)",
    "a time": "os.utime('.', (12345, 67890))",
    "an attribute": "os.setxattr('.', 'user.mark', b'1')",
    "a flag": "import fcntl, struct; fcntl.ioctl(os.open('.', os.O_RDONLY), 0x40086602, struct.pack('@l', 0x40))",
    "another folder in its place": "here = os.getcwd(); os.rename(here, here + 'x'); os.mkdir(here)",
}
TELLS = """
import os
def f():
    here, fd = os.stat("."), os.open(".", os.O_RDONLY)
    found = [here.st_mode, here.st_nlink, here.st_size, here.st_mtime_ns, os.listdir(), os.environ["HOME"] == os.getcwd()]
    try: found.append(os.listxattr("."))
    except OSError as err: found.append(err.errno)
    try:
        import fcntl
        found.append(fcntl.ioctl(fd, 0x80086601, bytes(8)))
    except OSError as err: found.append(err.errno)
    return found
"""


@pytest.mark.parametrize("mark", one_in(3, MARKS.values()), ids=MARKS)
def test_no_candidate_learns_from_its_folder_of_one_before(sandbox: LocalSandbox, busy: Session, mark: str) -> None:
    pristine = sandbox.call(TELLS, "f").value
    for _ in range(3):
        sandbox.call(f"import os\ndef f():\n    {mark}\n", "f", limits=LIMITS)
        assert [sandbox.call(TELLS, "f").value for _ in range(2)] == [pristine] * 2


def test_a_folder_that_nobody_touched_serves_again_and_a_touched_one_is_gone(
    sandbox: LocalSandbox, busy: Session
) -> None:
    where = "import os\ndef f():\n    return os.getcwd()\n"
    touch = "import os\ndef f():\n    open('mark', 'w').close()\n    return os.getcwd()\n"

    assert len({sandbox.call(where, "f").value for _ in range(12)}) < 12
    touched = {sandbox.call(touch, "f").value for _ in range(3)}
    assert len(touched) == 3
    eventually(lambda: not any(Path(folder).exists() for folder in touched))


@pytest.mark.parametrize(
    ("code", "status"), [(EATS, "memory"), pytest.param(WRITES, "error", marks=HEAVY)], ids=["memory", "file"]
)
def test_the_limits_of_the_request_hold_in_it(sandbox: LocalSandbox, busy: Session, code: str, status: str) -> None:
    waiting(sandbox, busy)

    outcome = sandbox.call(code, "f", limits=LIMITS)

    assert outcome.status == status, outcome
    assert sandbox.call(EATS, "f", limits=Limits(seconds=60.0, memory_mb=4096)).value == 2**30


def test_one_that_dies_while_it_waits_costs_nothing(sandbox: LocalSandbox, busy: Session) -> None:
    before = waiting(sandbox, busy)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: Path(f"/proc/{before}/stat").read_text().rpartition(")")[2].split()[0] == "Z")

    outcomes = [sandbox.call(WHO, "f") for _ in range(3)]

    assert [outcome.status for outcome in outcomes] == ["ok"] * 3
    assert before not in {outcome.value for outcome in outcomes}
    assert busy.call().status == "ok"


def test_none_waits_where_nobody_is_busy(sandbox: LocalSandbox) -> None:
    assert sandbox.call(WHO, "f").status == "ok"
    pid = sandbox.template_pid

    eventually(lambda: not Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    boxes = Path(sandbox._server.address).parent.glob("boxes-*/*")  # type: ignore[union-attr]
    assert list(boxes) == []


def test_a_killed_template_takes_those_that_wait_with_it(sandbox: LocalSandbox, busy: Session) -> None:
    before = waiting(sandbox, busy)

    os.kill(sandbox.template_pid, signal.SIGKILL)

    eventually(lambda: not Path(f"/proc/{before}").exists())
