"""The judge of a device's kernels, on a device with a clock of its own: what is honest is told apart, and what cheats earns nothing."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from plugins.tracebench_kernelbench.tests.device_cheats import CODE, KEPT, PLAIN, SLOW, WORK, WRONG, module
from plugins.tracebench_kernelbench.tests.fake_device import Door, FakeDevice, Gpu, Op
from tests.processes import has_ended
from tests.whole import one_in

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.guests import open_guest
from tracebench_kernelbench.cuda.judging import Assignment, Bench, judge_on_device
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.modules.comparing import Tolerance
from tracebench_kernelbench.options import Effort

EFFORT = Effort(trials=2, warm=2, least=8, most=8, budget_ms=0, call_seconds=1.0, compile_seconds=20.0)
FEW = {"works on another stream", "returns what it returned before", "has a kernel that never ends wait for inputs"}
"""Tried in every run of the tests; the others are of the heavy group `kernels`."""
OTHERWISE = {
    "has a kernel that never ends wait for inputs": "goes on on the device",
    "keeps the device busy while its rival is called": "goes on on the device",
    "says that its results lie beyond its memory": "outside of the memory", "describes a result larger than all memory": "outside of the",
    "describes a result of no type": "no array of NumPy", "guesses a handle of its judge's": "KeyError", "fails": "ValueError: no",
    "describes an empty result of sides larger than all memory": "outside of the memory",
    "answers with what nests too deep": "describes none",
    "answers without end": "Its process ended",
    "tells an error of half a surrogate": "ValueError", "answers what is no answer": "describes none",
    "ends its process": "Its process ended", "says nothing": "too long",
    "never comes to an end": "too long",
}  # fmt: skip
"""What is said of those whose output is not what is found wrong."""


def few_of(cases: Mapping[str, object]) -> list[ParameterSet]:
    return [pytest.param(name, marks=() if name in FEW else pytest.mark.heavy("kernels")) for name in cases]


@pytest.fixture
def gpu() -> Gpu:
    return Gpu()


@pytest.fixture
def bench(gpu: Gpu, tmp_path: Path) -> Iterator[Bench]:
    door = Door(gpu, tmp_path)
    root = str(Path(__file__).parents[3])
    yield Bench(
        lambda: FakeDevice(gpu),
        [sys.executable, str(Path(__file__).with_name("fake_guest.py")), door.path],
        {"PYTHONPATH": root},
    )
    door.close()


def judged(source: str, bench: Bench, code: str = CODE) -> Verdict:
    return judge_on_device(Assignment(code, "cuda"), source, bench, EFFORT)


def test_the_same_work_is_worth_one(bench: Bench) -> None:
    verdict = judged(module(PLAIN), bench)

    assert (verdict.correct, verdict.score) == (True, 1.0), verdict.text
    assert verdict.metrics["speedup_raw"] == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("times", one_in(3, [2, 5, 10]))
def test_work_done_over_again_is_worth_its_share(times: int, bench: Bench) -> None:
    again = f"out = gpu.empty()\nfor _ in range({times}):\n    {WORK.format(us=400)}\nreturn out"

    verdict = judged(module(again), bench)

    assert verdict.metrics["speedup_raw"] == pytest.approx(1 / times, rel=0.1), verdict.text


def test_a_kernel_that_is_four_times_as_fast_is_worth_four(bench: Bench) -> None:
    verdict = judged(module(PLAIN.replace("400", "100")), bench)

    assert verdict.metrics["speedup_raw"] == pytest.approx(4, rel=0.1), verdict.text


@pytest.mark.parametrize("name", few_of(WRONG))
def test_a_kernel_that_does_not_do_its_work_is_worth_nothing(name: str, bench: Bench) -> None:
    verdict = judged(module(*WRONG[name]), bench)

    assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text
    assert OTHERWISE.get(name, "Wrong in call") in verdict.text


def test_a_tolerance_that_half_precision_would_keep_is_made_strict(bench: Bench) -> None:
    loose = Assignment(CODE, "cuda", tolerance=Tolerance(1e-3, 1e-3, by_scale=True))

    verdict = judge_on_device(loose, module(PLAIN.replace("square", "half")), bench, EFFORT)

    assert not verdict.correct
    assert "Wrong in call" in verdict.text


def test_what_holds_of_the_problems_own_inputs_alone_is_wrong(bench: Bench) -> None:
    positive = CODE.replace("random.gauss(0, 1)", "random.random()")

    verdict = judged(module(PLAIN.replace("square", "positive")), bench, positive)

    assert not verdict.correct
    assert "Wrong in call" in verdict.text


def test_what_is_done_a_moment_after_it_is_said_to_be_done_is_not_done(bench: Bench) -> None:
    """The work ends before the judge looks at outputs, and after it has copied them."""
    silent = "ask = gpu.ask\ngpu.ask = lambda do, **more: {} if (do, more.get('stream')) == ('signal', 0) else ask(do, **more)\n"
    early = (
        "out = gpu.empty()\ngpu.ask('signal', handle=work.gates[1], stream=1)\n" + WORK.format(us=3000) + "\nreturn out"
    )

    verdict = judged(module(early, silent), bench)

    assert "Wrong in call 1" in verdict.text


def test_what_is_the_same_in_every_call_is_to_be_written_in_every_call(bench: Bench) -> None:
    """The half of the output that no input changes still lies there from the call before, unless the judge spoils it."""
    once = "out = gpu.empty()\nif kept:\n    gpu.launch('square', x, out, us=200, scale=self.scale, count=COUNT // 2)\n"
    often = "else:\n    gpu.launch('half_constant', x, out, us=400, scale=self.scale)\nkept[len(kept)] = 1\nreturn out"

    verdict = judged(module(once + often, KEPT), bench, CODE.replace("square", "half_constant"))

    assert (verdict.correct, verdict.score) == (False, 0.0), verdict.text
    assert "Wrong in call" in verdict.text


@pytest.mark.parametrize("name", few_of(SLOW))
def test_a_kernel_that_does_ten_times_the_work_is_not_thought_quick(name: str, bench: Bench) -> None:
    verdict = judged(module(*SLOW[name]), bench)

    assert verdict.score < 0.5, verdict.text


def test_a_clock_that_is_raised_by_turns_is_found(bench: Bench) -> None:
    raising = "kept[len(kept)] = 1\ngpu.ask('rate', rate=1.0 + len(kept) % 2)\n" + PLAIN

    with pytest.raises(NotMeasured, match="clock differs by"):
        judged(module(raising, KEPT), bench)


def test_others_work_on_the_device_is_found_before_anything_is_measured(gpu: Gpu, bench: Bench) -> None:
    gpu.put("somebody", Op(poll=lambda: None))

    with pytest.raises(NotMeasured, match="not quiet"):
        judged(module(PLAIN), bench)


@pytest.mark.parametrize("flushes", [True, False])
def test_only_a_cache_that_is_cleared_gives_no_one_an_advantage(
    flushes: bool, gpu: Gpu, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device without a flush shows that the case can fail: inputs were copied a moment ago, and persist."""
    gpu.cached = 0.8
    if not flushes:
        monkeypatch.setattr(FakeDevice, "flush", lambda self: None)
    persisting = "gpu.ask('persist', handle=gpu.memory, at=x)\n" + PLAIN

    raw = judged(module(persisting), bench).metrics["speedup_raw"]
    reference = judged(module(PLAIN), bench).metrics["reference_ms"]

    assert raw == pytest.approx(1, rel=0.05)
    assert (reference == pytest.approx(0.4, rel=0.1)) == flushes


def test_a_reference_that_is_constant_or_fails_or_is_too_short_is_no_measure(gpu: Gpu, bench: Bench) -> None:
    gpu.jitter = 0.1
    for code, words in (
        (CODE.replace("square", "zeros"), "does not depend"),
        (CODE.replace("gpu.launch", "raise ValueError('broken')"), "The reference failed"),
        (CODE.replace("us=400", "us=0"), "too little to be timed"),
    ):
        with pytest.raises(NotMeasured, match=words):
            judged(module(PLAIN), bench, code)


def test_a_guest_finds_spoilt_memory_and_its_inputs_elsewhere_in_each_turn(bench: Bench) -> None:
    told = """if not kept:
    kept['found'] = gpu.ask('read', handle=gpu.memory, at=gpu.heap, count=3)['values']
kept[x % 4096] = 1
if len(kept) == 5:
    raise ValueError(f'{kept}')
"""

    verdict = judged(module(told + PLAIN, KEPT), bench)

    assert "{'found': [nan, nan, nan], 0: 1, 256: 1, 512: 1, 768: 1}" in verdict.text


def test_while_it_judges_no_process_of_the_user_may_look_into_the_judge(bench: Bench, gpu: Gpu) -> None:
    """The superuser's may, and tests can be that one's, so this asks what the kernel was told."""
    dumpable, seen = partial(ctypes.CDLL(None).prctl, 3, 0, 0, 0, 0), list[int]()
    before = dumpable()

    def opened() -> FakeDevice:
        seen.append(dumpable())
        return FakeDevice(gpu)

    judged("raise ValueError", replace(bench, open=opened))

    assert (seen, dumpable()) == ([0], before)


def test_a_guest_is_stopped_between_its_calls(bench: Bench) -> None:
    guest = open_guest(bench.open(), bench.program, size=1 << 20, inputs=1 << 19, environ=bench.environ)
    try:
        assert guest.ask("load", 20.0, code=CODE, source="", name="Model", seed=1).status == "ok"
        until = time.monotonic() + 20
        while (state := state_of(guest._process.pid)) != "T" and time.monotonic() < until:
            time.sleep(0.01)
        assert state == "T"
    finally:
        guest.close()


def state_of(pid: int) -> str:
    """Return the letter of a process's state: see proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_left_its_group_is_stopped_and_ended_with_its_guest(bench: Bench, tmp_path: Path) -> None:
    """It looks for a moment in which its guest is stopped and it is not: then it could hold up the reference."""
    told, alone = tmp_path / "pid", tmp_path / "alone"
    escaping = f"""import os
KEPT = {{}}
def escape():
    guest = os.getpid()
    if os.fork() or os.setsid() or os.fork():
        return
    open({str(told)!r}, "w").write(str(os.getpid()))
    def is_stopped():
        return open(f"/proc/{{guest}}/stat").read().rpartition(")")[2].split()[0] == "T"
    while True:
        if is_stopped() and is_stopped(): # what was read before this process was stopped, too, is told after it goes on
            open({str(alone)!r}, "w").close()
"""
    fork = (
        "if not KEPT:\n    KEPT[0] = os.getpid()\n    escape()\n    if os.getpid() != KEPT[0]:\n        os._exit(0)\n"
    )

    verdict = judged(module(fork + PLAIN, escaping), bench)

    assert verdict.correct, verdict.text
    assert has_ended(int(told.read_text()))
    assert not alone.exists()


def test_no_process_is_left_and_none_got_a_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    told = "raise ValueError(f'{os.getpid()} {sorted(os.environ)} {os.getcwd()}')"

    verdict = judged(module(told, "import os\n"), bench)

    assert "OPENAI_API_KEY" not in verdict.text
    pid = int(verdict.text.split("ValueError: ")[1].split()[0])
    assert has_ended(pid)
