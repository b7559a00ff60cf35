"""What a command in the sandbox could reach of the host with its files and network closed; outside of it, each of these gains."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.host import level

pytestmark = pytest.mark.skipif(level() == "process", reason="this host has no sandbox")
HEAD = "import ctypes, os, socket, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\nhost = sys.argv[1]\n"
SAYS = "s.send(b'hello'); print('gained')"
ATTACKS = {
    "speaks to a socket of the host": f"s = socket.socket(socket.AF_UNIX); s.connect(host + '/agent'); {SAYS}",
    "speaks to it in packets": f"s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(host + '/packets'); {SAYS}",
    "sends to a socket of the host": (
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'hello', host + '/log'); print('gained')"
    ),
    "sends to it from half of a pair": (
        "s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]; s.sendmsg([b'hello'], [], 0, host + '/log'); print('gained')"
    ),
    "watches a folder that it cannot read": (
        "fd = libc.inotify_init1(0); libc.inotify_add_watch(fd, (host + '/jobs').encode(), 0x100) > 0 or sys.exit('refused')\n"
        "time.sleep(0.5); os.set_blocking(fd, False); print('gained' if b'rival' in os.read(fd, 999) else '')"
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox(preload=[]) as opened:
        yield opened


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Path]:
    """A folder with sockets that listen, and one in which something happens all the time."""
    (tmp_path / "jobs").mkdir()
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            (tmp_path / "jobs/rival").touch()
            (tmp_path / "jobs/rival").unlink()

    kinds = {"agent": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET, "log": socket.SOCK_DGRAM}
    sockets = {name: socket.socket(socket.AF_UNIX, kind) for name, kind in kinds.items()}
    for name, one in sockets.items():
        one.bind(str(tmp_path / name))
        if name != "log":
            one.listen(9)
    thread = threading.Thread(target=work)
    thread.start()
    yield tmp_path
    over.set()
    thread.join()
    for one in sockets.values():
        one.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_a_command_reaches_nothing_and_outside_of_the_sandbox_the_same_does(
    name: str, host: Path, sandbox: LocalSandbox
) -> None:
    command = [sys.executable, "-c", HEAD + ATTACKS[name], str(host)]
    outside = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert outside.stdout == "gained\n", outside.stderr
    inside = sandbox.command(command, limits=Limits(seconds=20.0))
    assert "gained" not in inside.value["stdout"]
    assert inside.value["returncode"] != 0


def test_programs_of_a_command_speak_to_each_other_over_pairs_and_find_names(sandbox: LocalSandbox) -> None:
    """What event loops, pipes between processes and the C library need is left to them."""
    source = (
        "import asyncio, multiprocessing, pwd, os, socket\n"
        "async def say(): return (await (await asyncio.create_subprocess_exec('echo', 'on', stdout=-1)).communicate())[0]\n"
        "print(asyncio.run(say()), pwd.getpwuid(os.getuid()).pw_uid == os.getuid())\n"
        "here, there = multiprocessing.Pipe()\n"
        "multiprocessing.get_context('fork').Process(target=there.send, args=(7,)).start(); print(here.recv())\n"
        "a, b = socket.socketpair(); a.sendall(b'x'); print(b.recv(1))\n"
    )
    outcome = sandbox.command([sys.executable, "main.py"], files={"main.py": source}, limits=Limits(seconds=30.0))
    assert outcome.value["stdout"].splitlines() == ["b'on\\n' True", "7", "b'x'"], outcome.value["stderr"]


def test_a_command_that_starts_processes_without_end_is_ended(sandbox: LocalSandbox) -> None:
    source = "import os, time\nfor n in range(3000):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)"
    outcome = sandbox.command([sys.executable, "-c", source], limits=Limits(seconds=50.0))
    assert (outcome.status, outcome.error) == ("killed", "The process was ended: started more than 512 processes.")
    assert sandbox.command(["echo", "on"]).value["stdout"] == "on\n"
