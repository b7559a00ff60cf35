"""Every hostile candidate is contained, leaves nothing behind, and does not touch the next honest one."""

from __future__ import annotations

import os
import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.whole import one_in

from tracebench_core.specs import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.host import level

_HERE = Path(__file__).parent
FIRST = runpy.run_path(str(_HERE / "candidates.py"))["CANDIDATES"]
ESCAPES = runpy.run_path(str(_HERE / "escapes.py"))["ESCAPES"]
CANDIDATES = [*FIRST, *ESCAPES]
HONEST = "import time, json\nimport numpy\ndef f(x):\n    return float(numpy.average(x)) + sum([1, 2]) + len(json.dumps(x))\n"
LIMITS = Limits(seconds=0.5, patience=1, memory_mb=512, file_mb=16)
PATIENT = LIMITS.model_copy(update={"seconds": 10.0})
"""For those who must be ended by something else than their time, on a busy machine too."""

pytestmark = pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with open_sandbox(preload=["numpy"], require="strong") as opened:
        yield opened


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def eventually(holds: Callable[[], bool], *, seconds: float = 30.0) -> bool:
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("hostile", one_in(5, CANDIDATES), ids=lambda hostile: hostile.name.replace(" ", "-"))
def test_hostile_candidate_is_contained(hostile, sandbox: LocalSandbox, tmp_path: Path) -> None:
    secret, outside = tmp_path / "key", tmp_path / "outside"
    secret.write_text("sk-secret")
    outside.mkdir()
    before = secret.stat()
    source = hostile.source.replace("{secret}", str(secret)).replace("{outside}", str(outside))

    limits = LIMITS if "timeout" in hostile.expected else PATIENT
    assert sandbox.call(HONEST, "f", [1]).status == "ok"  # the next one runs in a process that was made ahead
    outcome = sandbox.call(source, "attack", limits=limits)

    assert outcome.status in hostile.expected, outcome
    assert outcome.status == "ok" or outcome.error
    assert outcome.value is None or outcome.status == "ok"
    assert "sk-secret" not in repr(outcome)
    assert "\x1b" not in outcome.error
    assert not list(outside.iterdir())
    after = secret.stat()
    assert (before.st_mode, before.st_mtime, after.st_nlink) == (after.st_mode, after.st_mtime, 1)
    assert os.getpgid(0) == os.getpgrp()
    server = sandbox._server
    assert server is not None
    assert server.alive
    assert eventually(lambda: not children(server.pid))
    assert eventually(lambda: len(list(Path(server.address).parent.glob("boxes-*/*"))) == 0)
    honest = sandbox.call(HONEST, "f", [1, 2, 3])
    assert (honest.status, honest.value) == ("ok", 2.0 + 3 + 9)


def test_a_forged_score_is_worthless_where_the_trusted_side_scores(sandbox: LocalSandbox) -> None:
    instance = [3.0, 1.0, 2.0]
    forger = (
        "import numpy\n"
        "numpy.average = numpy.mean = lambda *a, **k: 1e9\n"
        "class Liar(float):\n    __eq__ = __gt__ = lambda s, o: True\n    __hash__ = float.__hash__\n"
        "    def __float__(s): return 1e9\n"
        "def order(x):\n    x[:] = [1e9] * 3\n    return [Liar(0.0), Liar(0.0), Liar(0.0)]\n"
    )

    def score(output: object) -> float:
        right = sorted(instance)
        return sum(float(a == b) for a, b in zip(output, right, strict=True)) / len(right)  # type: ignore[call-overload]

    forged = sandbox.call(forger, "order", instance)
    honest = sandbox.call("def order(x):\n    return sorted(x)\n", "order", instance)

    assert instance == [3.0, 1.0, 2.0]
    assert [type(item) for item in forged.value] == [float, float, float]
    assert score(forged.value) == 0.0
    assert score(honest.value) == 1.0


def test_what_a_forged_frame_says_is_an_answer_and_scored_as_one(sandbox: LocalSandbox) -> None:
    source = next(c.source for c in CANDIDATES if c.name == "writes an answer to the result channel")

    assert sandbox.call(source, "attack").value == 999
