"""Candidates that write to a session's channel themselves: all of it is refused or their own answer, and no deadline passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from tests.whole import one_in

from tracebench_core.contracts import Session
from tracebench_core.specs import Limits, Outcome
from tracebench_sandbox import LocalSandbox, open_sandbox

LIMITS = Limits(seconds=1.0, patience=1, memory_mb=512, file_mb=16)
WRITES = """
import os, struct, threading, time
import numpy as np
calls = 0
def frame(number, value):
    body = struct.pack("<BI", 1, number) + b"d" + struct.pack("<d", value)
    return struct.pack("<II", len(body), 0) + body
def text(words):
    return struct.pack("<II", len(words), 0) + words
def later(work):
    threading.Thread(target=work, daemon=True).start()
def forever(work):
    def run():
        while True: work()
    later(run)
def f(x):
    global calls
    calls += 1
    if calls < 3: return x
    {attack}
    return x
"""
REFUSED = {
    "a length of four gigabytes": "os.write(3, b'\\xff' * 64)",
    "a length above the cap": "os.write(3, struct.pack('<II', 200 << 20, 0) + b'x' * 64)",
    "blocks above the cap": "os.write(3, struct.pack('<II', 2, 200 << 20) + b'x' * 64)",
    "two answers": "os.write(3, frame(2, 1.0) + frame(2, 1.0))",
    "an answer and half of one": "os.write(3, frame(2, 1.0) + frame(2, 1.0)[:9] + b'\\xff' * 30)",
    "many empty answers": "os.write(3, bytes(8) * 1000)",
    "an answer to another call": "os.write(3, frame(7, 1.0))",
    "an answer to the call before": "os.write(3, frame(1, 1.0))",
    "an array larger than its bytes": "os.write(3, text(struct.pack('<BI', 1, 2) + b'a<f8 ' + b'\\xff' * 20))",
    "an array of objects": "os.write(3, text(struct.pack('<BI', 1, 2) + b'a|O  ' + struct.pack('<I', 2) + b'x' * 16))",
    "lists without an end": "os.write(3, text(struct.pack('<BI', 1, 2) + b'l\\x01' * 5000))",
    "an unknown tag": "os.write(3, text(struct.pack('<BI', 1, 2) + b'?'))",
    "an answer cut short": "os.write(3, text(struct.pack('<BI', 1, 2) + b'd12'))",
    "a value too many": "os.write(3, text(struct.pack('<BI', 1, 2) + b'NN'))",
    "a flat body with blocks": "os.write(3, struct.pack('<II', 5, 9) + struct.pack('<BI', 1, 2) + b'd12345678')",
    "no text": "os.write(3, text(b'\\x01'))",
    "json without an end": "os.write(3, text(b'[' * 60000))",
    "a status of others": 'os.write(3, text(b\'{"s": "killed", "n": 2}\'))',
    "a status of the clock": 'os.write(3, text(b\'{"s": "timeout", "n": 2}\'))',
    "a number that is none": 'os.write(3, text(b\'{"s": "ok", "v": 1, "n": 2.0}\'))',
}
HANGS = {
    "half of a header": "os.write(3, b'123'); time.sleep(60)",
    "half of an answer": "os.write(3, frame(2, 1.0)[:20]); time.sleep(60)",
    "a drop now and then": "os.write(3, struct.pack('<II', 60000, 0)); [(os.write(3, b'x'), time.sleep(0.004)) for _ in range(60000)]",
    "a closed channel": "os.close(3); time.sleep(60)",
    "one end of the channel closed": "import socket; socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_WR); time.sleep(60)",
    "a full output": "forever(lambda: os.write(1, b'x' * 65536)); time.sleep(60)",
    "a thread that computes": "forever(lambda: None); time.sleep(60)",
    "a channel that is read by others": "forever(lambda: os.read(3, 1)); time.sleep(60)",
}
DIES = {
    "half of a header": "os.write(3, b'123'); os._exit(0)",
    "half of an answer": "os.write(3, frame(2, 1.0)[:20]); os._exit(0)",
    "nothing": "os._exit(3)",
    "a signal": "import ctypes; ctypes.string_at(0)",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox(preload=["numpy"]) as opened:
        yield opened


def three_calls(sandbox: LocalSandbox, attack: str, *, limits: Limits = LIMITS) -> list[Outcome]:
    """Return what the third, the fourth and the fifth call of a session come to, in whose third a candidate attacks."""
    with sandbox.session(WRITES.replace("{attack}", attack), "f", limits=limits) as session:
        assert [session.call(n).value for n in range(2)] == [0, 1]
        return [session.call(n) for n in range(2, 5)]


def until_refused(session: Session) -> list[Outcome]:
    """Call, and think in between, until what comes is no answer; return what all calls came to."""
    outcomes, limit = [session.call(0)], time.monotonic() + 60
    while outcomes[-1].status == "ok":
        assert time.monotonic() < limit
        time.sleep(0.02)
        outcomes.append(session.call(len(outcomes)))
    assert outcomes[-1].status == "invalid"
    return outcomes


@pytest.mark.parametrize("attack", REFUSED.values(), ids=REFUSED)
def test_what_is_no_answer_is_refused_and_ends_the_session(sandbox: LocalSandbox, attack: str) -> None:
    # It sleeps then, so that no second answer, its own, is what is refused.
    outcomes = three_calls(sandbox, f"{attack}; time.sleep(60)", limits=Limits(seconds=20))

    assert {outcome.status for outcome in outcomes} == {"invalid"}
    assert outcomes[0].error.startswith("What came over the result channel ")
    assert outcomes[0] is outcomes[1] is outcomes[2]


@pytest.mark.parametrize("attack", one_in(2, HANGS.values()), ids=HANGS)
def test_nobody_waits_longer_than_the_deadline(sandbox: LocalSandbox, attack: str) -> None:
    outcomes = three_calls(sandbox, attack)

    assert {outcome.status for outcome in outcomes} <= {"timeout", "forbidden"}
    assert outcomes[0].seconds < 30


@pytest.mark.parametrize("attack", DIES.values(), ids=DIES)
def test_a_death_in_the_middle_of_an_answer_is_a_death(sandbox: LocalSandbox, attack: str) -> None:
    outcomes = three_calls(sandbox, attack)

    assert {outcome.status for outcome in outcomes} <= {"error", "killed"}


def test_an_answer_in_single_bytes_is_the_answer(sandbox: LocalSandbox) -> None:
    drops = "[(os.write(3, frame(2, 1.5)[n : n + 1]), time.sleep(0.002)) for n in range(len(frame(2, 1.5)))]; time.sleep(60)"
    with sandbox.session(WRITES.replace("{attack}", drops), "f") as session:
        assert [session.call(n).value for n in range(3)] == [0, 1, 1.5]


def test_a_thread_that_answers_ahead_forges_its_own_answers_and_is_found_out(sandbox: LocalSandbox) -> None:
    ahead = "later(lambda: [(os.write(3, frame(n, 99.0)), time.sleep(0.01)) for n in range(3, 4000)])"
    with sandbox.session(WRITES.replace("{attack}", ahead), "f") as session:
        outcomes = until_refused(session)

    assert [outcome.value for outcome in outcomes[:2]] == [0, 1]
    assert all(outcome.value in {99.0, n} for n, outcome in enumerate(outcomes[:-1]))


@pytest.mark.parametrize("flood", ["frame(3, 99.0)", "bytes(8)", "b'x' * 4096", "b'\\x01\\x00\\x00\\x00' * 1024"])
def test_a_thread_that_floods_while_the_caller_thinks_fills_no_memory_and_ends_its_session(
    sandbox: LocalSandbox, flood: str
) -> None:
    with sandbox.session(WRITES.replace("{attack}", f"forever(lambda: os.write(3, {flood}))"), "f") as session:
        outcomes = until_refused(session)
        again = session.call(1)

    assert [outcome.value for outcome in outcomes[:2]] == [0, 1]
    assert again is outcomes[-1]


def test_an_answer_that_is_changed_while_it_is_sent_is_an_answer_or_refused(sandbox: LocalSandbox) -> None:
    torn = """
    import mmap
    page = mmap.mmap(-1, 1 << 16)
    page[:26] = frame(2, 1.0) + bytes(26 - len(frame(2, 1.0)))
    forever(lambda: page.__setitem__(slice(0, 22), os.urandom(22)))
    os.write(3, memoryview(page)[:22]); time.sleep(60)"""
    for _ in range(8):
        outcomes = three_calls(sandbox, torn.strip(), limits=Limits(seconds=0.5, patience=1))
        assert {outcome.status for outcome in outcomes} <= {"ok", "invalid", "timeout"}


def test_much_output_in_many_short_steps_is_drained(sandbox: LocalSandbox) -> None:
    code = "def f(x):\n    print('x' * 40_000)\n    return x\n"
    with sandbox.session(code, "f") as session:
        outcomes = [session.call(n) for n in range(40)]

    assert [outcome.value for outcome in outcomes] == list(range(40))
    assert {len(outcome.stdout) for outcome in outcomes} == {4096}


def test_what_a_candidate_keeps_is_there_in_its_next_call_and_gone_in_the_next_session(sandbox: LocalSandbox) -> None:
    code = "kept = []\ndef f(x):\n    kept.append(x)\n    return [len(kept), sum(map(float, map(np.sum, kept)))]\n"
    for _ in range(3):
        with sandbox.session(code, "f", prelude="import numpy as np\n") as session:
            argument = np.ones(3)
            first = session.call(argument)
            argument[:] = 5  # what was kept is a copy
            second = session.call([2.0])
        assert (first.value, second.value) == ([1, 3.0], [2, 5.0])


def test_honest_sessions_beside_these_come_to_the_same_answers(sandbox: LocalSandbox) -> None:
    done = threading.Event()

    def attack() -> None:
        for hostile in [*REFUSED.values()][::3]:
            three_calls(sandbox, hostile)
        done.set()

    def honest() -> list[float]:
        with sandbox.session(
            "import numpy as np\ndef f(n):\n    return np.random.default_rng(n).normal(size=3)\n", "f"
        ) as session:
            return [float(session.call(n).value.sum()) for n in range(50)]

    alone = honest()
    attacker = threading.Thread(target=attack)
    attacker.start()
    rounds = 0
    while not done.is_set() or rounds < 2:
        assert honest() == alone
        rounds += 1
    attacker.join()
