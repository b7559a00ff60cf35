"""Whoever is killed, nothing that ran in a sandbox outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import has_ended, is_alive

from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Limits
from tracebench_sandbox import connect, open_sandbox, start_server

LOOP = "def f():\n    while True: pass\n"
LONG = Limits(seconds=60)
CLIENT = (
    "import sys\nfrom tracebench_sandbox import connect\nfrom tracebench_core.specs import Limits\n"
    "connect(sys.argv[1]).call('def f():\\n while True: pass\\n', 'f', limits=Limits(seconds=60))\n"
)
OWNER = (
    "import sys, threading\nfrom pathlib import Path\nfrom tracebench_sandbox import start_server, connect\n"
    "from tracebench_core.specs import Limits\n"
    "server = start_server(directory=Path(sys.argv[1]))\n"
    "box = connect(server.address)\n"
    "threading.Thread(target=box.command, args=(['sh', '-c', 'sleep 600 & setsid sleep 600 & sleep 600'],),"
    " kwargs={'limits': Limits(seconds=60)}).start()\n"
    "threading.Thread(target=box.call, args=('def f():\\n while True: pass\\n', 'f'),"
    " kwargs={'limits': Limits(seconds=60)}).start()\n"
    "print(server.pid, flush=True)\n"
)


def below(pid: int) -> set[int]:
    """Return the living descendants of a process."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        try:
            kids = {int(k) for k in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()}
        except OSError:
            continue
        waiting += kids
        found |= kids
    return {pid for pid in found if is_alive(pid)}


def looping(pid: int) -> set[int]:
    """Return those of the descendants that are at work; the others wait for a request."""
    return {child for child in below(pid) if state(child) == "R"}


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def eventually(holds: Callable[[], bool], *, seconds: float = 60.0) -> bool:
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def test_killing_a_client_ends_its_candidate_and_no_other(tmp_path: Path) -> None:
    with start_server(directory=tmp_path / "s") as server:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, server.address])
        assert eventually(lambda: len(looping(server.pid)) == 1)
        with connect(server.address).session("def f(x):\n    return x\n", "f") as other:
            assert other.call(6).value == 6
            client.kill()
            client.wait()
            assert eventually(lambda: not looping(server.pid))
            assert other.call(7).value == 7
        assert connect(server.address).call("def f():\n    return 1\n", "f").value == 1


def test_killing_the_owner_ends_the_template_and_all_below(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "s")], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    server = int(owner.stdout.readline())
    assert eventually(lambda: len(below(server)) >= 5)
    everyone = below(server) | {server}

    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()

    assert eventually(lambda: not any(map(is_alive, everyone)))
    assert eventually(lambda: not (tmp_path / "s").exists())


def test_killing_the_template_ends_its_children_and_is_told(tmp_path: Path) -> None:
    with open_sandbox() as sandbox:
        assert sandbox.call("def f():\n    return 1\n", "f").value == 1
        server = sandbox.template_pid
        assert eventually(lambda: not below(server))
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(sandbox.call(LOOP, "f", limits=LONG)))
        thread.start()
        assert eventually(lambda: len(looping(server)) == 1)
        child = below(server)
        os.kill(server, signal.SIGKILL)
        thread.join(20)
        assert [outcome.status for outcome in outcomes] == ["killed"]
        assert "template ended" in outcomes[0].error
        assert eventually(lambda: not any(map(is_alive, child)))
        assert sandbox.call("def f():\n    return 2\n", "f").value == 2


def test_closing_the_sandbox_removes_its_folder_and_processes() -> None:
    with open_sandbox() as sandbox:
        sandbox.call("def f():\n    open('x', 'w').write('x')\n", "f")
        server, folder = sandbox.template_pid, Path(sandbox._server.address).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        session = sandbox.session("def f():\n    return 1\n", "f")
    assert has_ended(server)
    assert not folder.exists()
    assert session.call().status == "killed"
    session.close()


def test_a_timed_out_command_leaves_no_grandchild() -> None:
    with open_sandbox() as sandbox:
        script = "trap '' TERM; setsid sleep 600 & (sleep 600 & sleep 600 &) ; sleep 600"
        outcome = sandbox.command(["sh", "-c", script], limits=Limits(seconds=0.5, patience=1.5))
        assert outcome.status == "timeout"
        server = sandbox.template_pid
        assert eventually(lambda: not below(server))


def test_a_finished_command_leaves_no_daemon() -> None:
    with open_sandbox() as sandbox:
        outcome = sandbox.command(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo done"])
        assert (outcome.status, outcome.value["stdout"]) == ("ok", "done\n")
        server = sandbox.template_pid
        assert eventually(lambda: not below(server))


def test_a_missing_preload_is_said_with_its_name() -> None:
    sandbox = open_sandbox(preload=["no_such_module_anywhere"])
    with pytest.raises(MissingRequirementError, match="no_such_module_anywhere"):
        sandbox.call("def f(): pass", "f")
    sandbox.close()


def test_many_evaluations_leave_no_descriptor_and_little_memory() -> None:
    with open_sandbox() as sandbox:
        code = "def f(x):\n    return x\n"
        for n in range(50):
            sandbox.call(code, "f", n)
        server = sandbox.template_pid
        before = resources(os.getpid()), resources(server)
        for n in range(150):
            assert sandbox.call(code, "f", n).value == n
        for pid, (files, memory) in zip((os.getpid(), server), before, strict=True):
            assert eventually(lambda pid=pid, files=files: resources(pid)[0] <= files)
            assert resources(pid)[1] - memory < 3 << 20


def resources(pid: int) -> tuple[int, int]:
    """Return the number of open descriptors and the resident bytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), pages * os.sysconf("SC_PAGE_SIZE")
