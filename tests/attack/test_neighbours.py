"""Whatever a candidate does to the template, honest work beside it comes to the same results, bit for bit, and every deadline holds."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.folders import LEVELS, BreachError, Weighing, remove
from tracebench_sandbox.host import level

ESCAPES = runpy.run_path(str(Path(__file__).with_name("escapes.py")))["ESCAPES"]
HONEST = (
    "import numpy\nseen = []\n"
    "def f(seed):\n    seen.append(seed)\n    noise = numpy.random.default_rng(seed).normal(size=50)\n"
    "    return [float(noise.sum()), noise, len(seen)]\n"
)
URGENT = "import os, socket, time\ndef f(*a):\n    socket.socket(fileno=os.dup(3)).send(b'x', socket.MSG_OOB)\n    time.sleep(60)\n"
SWALLOW = "import time\ndef f(*a):\n    while True:\n        try: time.sleep(60)\n        except BaseException: pass\n"
LIMITS = Limits(seconds=0.4, patience=1, memory_mb=512, file_mb=16)
needs_strong = pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")


def honest_work(sandbox: LocalSandbox) -> list[bytes]:
    """Return what twelve calls, one batch and one session answer, as bytes."""
    outcomes = [sandbox.call(HONEST, "f", seed) for seed in range(12)]
    outcomes += sandbox.call_many(HONEST, "f", [(seed,) for seed in range(5)])
    with sandbox.session(HONEST, "f") as session:
        outcomes += [session.call(seed) for seed in range(12)]
    assert [o.status for o in outcomes] == ["ok"] * 29
    return [struct.pack("=d", o.value[0]) + o.value[1].tobytes() + bytes([o.value[2]]) for o in outcomes]


@HEAVY
@needs_strong
def test_honest_work_beside_attackers_comes_to_the_same_bits(tmp_path: Path) -> None:
    done = threading.Event()
    ended: list[str] = []

    def attack(sandbox: LocalSandbox, part: int) -> None:
        for hostile in ESCAPES[part::2]:
            source = hostile.source.replace("{secret}", "/x").replace("{outside}", str(tmp_path))
            ended.append(sandbox.call(source, "attack", limits=LIMITS).status)
        done.set()

    with open_sandbox(preload=["numpy"], require="strong") as sandbox:
        alone = honest_work(sandbox)
        before = sandbox.template_pid
        attackers = [threading.Thread(target=attack, args=(sandbox, part)) for part in range(2)]
        for attacker in attackers:
            attacker.start()
        rounds = 0
        while not done.is_set() or rounds < 2:
            assert honest_work(sandbox) == alone
            rounds += 1
        for attacker in attackers:
            attacker.join()
        assert len(ended) == len(ESCAPES)
        assert sandbox.template_pid == before


@pytest.mark.parametrize("code", [URGENT, SWALLOW], ids=["urgent byte", "swallows"])
@pytest.mark.parametrize("way", ["call", "call_many", "session"])
def test_a_deadline_holds_however_the_candidate_is_called(way: str, code: str) -> None:
    with open_sandbox() as sandbox:
        sandbox.call("def f(): pass", "f")
        if way == "call":
            ends = [sandbox.call(code, "f", limits=LIMITS)]
        elif way == "call_many":
            ends = sandbox.call_many(code, "f", [(1,), (2,)], limits=LIMITS)
        else:
            with sandbox.session(code, "f", limits=LIMITS) as session:
                ends = [session.call(), session.call()]
    assert {end.status for end in ends} <= {"timeout", "forbidden", "invalid"}


def test_the_template_ends_a_session_whose_caller_cannot() -> None:
    with open_sandbox() as sandbox:
        session = sandbox.session(SWALLOW, "f", limits=Limits(seconds=0.2))
        asked = threading.Thread(target=session._exchange.send, args=(b"",), kwargs={"deadline": 0.0})
        session._clock.set(time.monotonic())  # a call is under way, and its caller is stopped
        asked.start()
        asked.join()
        deadline = time.monotonic() + 10
        while session._exchange.report is None and session._exchange.wait(deadline=deadline):
            pass
        assert session._exchange.report is not None
        assert session._exchange.report["late"]
        session.close()


def test_a_session_may_think_longer_than_its_limit_between_calls() -> None:
    with open_sandbox() as sandbox, sandbox.session("def f(x):\n    return x\n", "f", limits=Limits(seconds=0.3)) as s:
        time.sleep(2.0)
        assert s.call(1).value == 1


def test_a_folder_of_any_depth_is_weighed_within_bounds_and_removed(tmp_path: Path) -> None:
    top = tmp_path / "box"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for n in range(3000):
        os.mkdir("a" * 100, 0o700, dir_fd=here)
        inner = os.open("a" * 100, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(os.open(f"file{n}", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
        os.close(here)
        here = inner
    os.mkdir("locked", 0, dir_fd=here)
    os.symlink("/", "root", dir_fd=here)
    os.close(here)
    with pytest.raises(BreachError, match=str(LEVELS)):
        Weighing(top, limit=1 << 30)
    remove(top)
    assert not top.exists()
    remove(top)


def test_an_unforeseen_error_in_one_request_leaves_the_others(tmp_path: Path) -> None:
    with open_sandbox() as sandbox:
        assert sandbox.call("def f():\n    return 1\n", "f").value == 1
        server = sandbox._server
        assert server is not None
        for noise in (b"", b"[" * 4000, b"{}", b'{"kind": "code"}', b"\xff" * 10, b'{"seconds": "x"}'):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                link.connect(server.address)
                ours, theirs = os.pipe()
                socket.send_fds(link, [noise], [ours, theirs])
                os.close(ours)
                os.close(theirs)
        before = sandbox.template_pid
        assert sandbox.call("def f():\n    return 2\n", "f").value == 2
        assert sandbox.template_pid == before
        os.kill(before, signal.SIGCONT)
