"""The judge of Python candidates from end to end, with real sessions: kernels over NumPy, and modules over a `torch` that is none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits, Outcome
from tracebench_kernelbench.modules import memory
from tracebench_kernelbench.modules.backends import NUMBA, TORCH
from tracebench_kernelbench.modules.comparing import Tolerance
from tracebench_kernelbench.modules.exercise import ModuleExercise, OwnExercise, asked, closed_on_failure, is_short
from tracebench_kernelbench.modules.stepping import ConstantOutput, TooShort, judge_python, tells_half
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.problem import Array, Problem
from tracebench_sandbox import open_sandbox

QUICK = Effort(trials=2, warm=2, least=6, most=6, budget_ms=0, call_seconds=2.0)
ONCE = replace(NUMBA, sessions=1)
UNTIMED = replace(TORCH, timed=False)
PLAIN = replace(TORCH, timed=False)
MODULE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, n, scale):
        self.weight = torch.randn(n, n)
        self.scale = scale

    def forward(self, x, y, z, shift):
        return torch.tanh(self.scale * (x @ self.weight) + shift)

def get_inputs():
    return [torch.randn(8, 16), torch.empty((0, 3)), torch.randn(16, 8).t(), 0.25]

def get_init_inputs():
    return [16, 0.125]
"""
BODY = "return torch.tanh(self.scale * (x @ self.weight) + shift)"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    if shutil.which("gcc") is None:
        pytest.skip("there is no `gcc` here: sudo apt-get install gcc")
    folder = tmp_path_factory.mktemp("torch")
    shutil.copy(Path(__file__).with_name("fake_torch.py"), folder / "torch.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        with open_sandbox(preload=("numpy", "torch")) as opened:
            yield opened


def problem(work: int = 1) -> Problem:
    """Doubles; the plain kernel does it as often as it is told."""
    source = f"""void kernel(const float* x, float* out) {{
    for (volatile int turn = 0; turn < {work}; turn++)
        for (int i = 0; i < 256; i++) out[i] = 2 * x[i];
}}
"""
    return Problem("doubles", "Doubles", (Array("x", (4, 64)),), Array("out", (4, 64)), lambda x: 2 * x, source, 256)


def module(body: str, code: str = MODULE) -> str:
    return code.replace(BODY, body)


RIGHT = "def kernel(x, out):\n    out[...] = 2 * x\n"
SLOW = "import torch\ndef kernel(x, out):\n    out[...] = 2 * x\n    torch.worked(None, 0.02)\n"


def test_a_right_kernel_is_compared_with_the_plain_one_in_processor_time(sandbox: Sandbox) -> None:
    fast = judge_python(OwnExercise(problem(40_000), ONCE), RIGHT, sandbox, QUICK)

    assert (fast.compiled, fast.correct, fast.status) == (True, True, "ok"), fast.text
    assert fast.text.startswith(
        "Correct in all calls. Processor time of a call, median (least) of 6 by turns: reference "
    )
    assert fast.score == fast.metrics["speedup"]
    assert fast.score > 2
    assert fast.metrics["speedup_raw"] == pytest.approx(
        fast.metrics["reference_ms"] / fast.metrics["candidate_ms"], rel=0.9
    )
    assert fast.metrics["hints"] == fast.text.count("\nHint: ") == 1

    slow = judge_python(OwnExercise(problem(40_000), ONCE), SLOW, sandbox, QUICK)
    assert slow.correct
    assert slow.score < 1


def test_each_of_several_sessions_is_timed(sandbox: Sandbox) -> None:
    timed = judge_python(OwnExercise(problem(40_000), replace(NUMBA, sessions=3)), RIGHT, sandbox, QUICK)

    assert timed.correct, timed.text
    assert "of 6 by turns" in timed.text, "two rounds in each of three sessions"


def test_a_budget_ends_the_rounds_once_the_least_are_done(sandbox: Sandbox) -> None:
    effort = QUICK.model_copy(update={"least": 6, "most": 30})
    within = effort.model_copy(update={"budget_ms": 600_000})

    for given, rounds in ((effort, 6), (within, 30)):
        told = judge_python(OwnExercise(problem(40_000), ONCE), RIGHT, sandbox, given).text
        assert f"of {rounds} by turns" in told


def test_where_no_time_is_taken_what_is_right_counts_one(sandbox: Sandbox) -> None:
    hinted = "import threading\n" + RIGHT

    verdict, noted = (judge_python(OwnExercise(problem(), UNTIMED), text, sandbox, QUICK) for text in (RIGHT, hinted))

    assert verdict.text == "Correct in all calls. No time is taken with this backend: what is right counts 1."
    assert (verdict.score, verdict.status) == (1.0, "ok")
    assert verdict.metrics == {"compiled": 1.0, "correct": 1.0, "hints": 0.0}
    assert noted.text.startswith(f"{verdict.text}\nHint: ")
    assert noted.metrics["hints"] == noted.text.count("\nHint: ") == 1


@pytest.mark.parametrize(
    ("source", "words", "compiled"),
    [
        (RIGHT.replace("2 * x", "3 * x"), r"^Wrong in call 1: 256 of 256 values are wrong; .*\. Each call has inputs", True),
        ("def kernel(x, out):\n    pass\n", r"Wrong in call 1: .* = nan, expected", True),
        (RIGHT + "calls = []\n" + RIGHT.replace("    ", "    calls.append(1)\n    if len(calls) > 3: return\n    "),
         r"^Wrong in call 4: 256 of 256", True),
        ("def kernel(x, out):\n    raise ValueError('no such thing')\n", "^It failed in call 1: .*no such thing", False),
        ("import os\ndef kernel(x, out):\n    os.kill(os.getpid(), 9)\n", "^Its process ended in call 1: ", True),
        ("def kernel(x out):\n", "^It failed in call 1: ", False),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_kernel_is_told(source: str, words: str, compiled: bool, sandbox: Sandbox) -> None:
    effort = QUICK.model_copy(update={"trials": 1, "warm": 4})
    verdict = judge_python(OwnExercise(problem(), UNTIMED), source, sandbox, effort)

    assert re.search(words, verdict.text), verdict.text
    assert (verdict.correct, verdict.score, verdict.status) == (False, 0.0, "invalid")
    assert verdict.compiled == compiled


def test_a_call_that_is_too_short_or_a_kernel_that_does_not_build_leaves_nothing_measured(sandbox: Sandbox) -> None:
    with pytest.raises(TooShort, match="too little to be timed here, where 4 times that are needed"):
        judge_python(OwnExercise(problem(), ONCE), RIGHT, sandbox, QUICK)
    broken = replace(problem(), source="void kernel(")
    with pytest.raises(NotMeasured, match=r"^The plain kernel does not build here: .*error") as told:
        judge_python(OwnExercise(broken, ONCE), RIGHT, sandbox, QUICK)
    assert not told.value.retry


def test_a_constant_problem_is_refused(sandbox: Sandbox) -> None:
    constant = replace(
        problem(), source="void kernel(const float* x, float* out) { for (int i = 0; i < 256; i++) out[i] = 1; }"
    )

    with pytest.raises(ConstantOutput, match="does not depend on its inputs: a constant would pass") as told:
        judge_python(OwnExercise(constant, UNTIMED), RIGHT, sandbox, QUICK)
    assert not told.value.retry


LAID = [Array("x", (1025,)), Array("n", (3,), "i", limit=4)]


@pytest.mark.parametrize("output", [Array("out", (2, 3)), Array("out", (5,), "i", limit=9)])
def test_arrays_of_a_turn_lie_apart_at_one_place_in_two_turns(output: Array) -> None:
    own = Problem("p", "P", tuple(LAID), output, lambda x, n: x, "", 1)
    exercise = OwnExercise(own, ONCE)
    shared = memoryview(bytearray(exercise.shared_mb << 20))
    session: Any = type("Session", (), {"shared": shared})
    seen = set()
    for turn in range(16):
        inputs = [np.full(1025, turn, np.float32), np.full(3, turn, np.int32)]
        exercise.give(session, inputs, turn=turn)
        place = shared[memory.PLACE]
        seen.add(place)
        assert place == turn // 2 % 8
        [empty] = exercise.take(session, turn=turn)
        assert empty.shape == output.shape
        assert np.isnan(empty).all() if output.kind == "f" else (empty == -1).all()
    assert seen == {*range(8)}
    first, second, last = exercise._begin
    assert (first, second - first, last - second) == (memory.INPUTS, 8192, 4096)
    assert exercise._step == 8192 + 4096 + 4096
    for place in range(8):
        assert np.frombuffer(shared, np.float32, 1025, first + place * exercise._step).min() == 2 * place + 1
        assert np.frombuffer(shared, np.int32, 3, second + place * exercise._step).max() == 2 * place + 1
    assert exercise.shared_mb << 20 >= first + 8 * exercise._step
    assert exercise.shared_mb - 1 << 20 < first + 8 * exercise._step + 1


def test_what_a_kernel_of_our_own_is_held_to() -> None:
    own = replace(problem(), rtol=2e-3, atol=3e-3)
    exercise = OwnExercise(own)

    assert exercise.tolerance == Tolerance(2e-3, 3e-3)
    assert exercise.ordered() == {"problem": "doubles"}
    assert exercise.room(limits := Limits(seconds=1, memory_mb=7), 10_000) is limits
    [truth] = exercise.truth(4) or []
    assert (truth.shape, truth.dtype) == ((4, 64), np.float32)
    assert truth == pytest.approx(2 * own.draw(4)[0])


def test_a_module_gets_room_for_twice_what_its_reference_took() -> None:
    exercise = ModuleExercise(MODULE, PLAIN)
    limits = Limits(seconds=1, memory_mb=1000, shared_mb=exercise.shared_mb)

    assert exercise.room(limits, 512) == limits
    more = exercise.room(limits, 600)
    assert (more.memory_mb, more.shared_mb) == (1000 + 176, exercise.shared_mb + 176)
    assert exercise.ordered() == {"reference": MODULE}
    assert ModuleExercise(MODULE, PLAIN).seed != exercise.seed


def test_modules_are_judged_against_their_own_source(sandbox: Sandbox) -> None:
    for body in (
        "return [torch.tanh(shift + (x @ self.weight) * self.scale)]",
        "return torch.tanh(self.scale * (x @ self.weight) + shift).t().contiguous().t()",
    ):
        verdict = judge_python(ModuleExercise(MODULE, PLAIN), module(body, renamed(MODULE)), sandbox, QUICK)
        assert verdict.correct, verdict.text


def test_a_module_is_timed_against_its_reference(sandbox: Sandbox) -> None:
    code = module(f"torch.worked(x, 0.004)\n        {BODY}")

    verdict = judge_python(ModuleExercise(code, TORCH), renamed(MODULE), sandbox, QUICK)

    assert verdict.correct, verdict.text
    assert verdict.score > 2
    assert verdict.metrics["reference_ms"] > 3.9


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return torch.tanh(self.scale * (x @ self.weight))", "^Wrong in call 1: .* values are wrong"),
        ("return {}", "^It failed in call 1: .*the output is a dict, and no tensor"),
        ("return x, [x]", "it returns 2 arrays, and should return 1"),
        ("import os; os._exit(0)", r"^It failed in call 1: .*ended its process \(exit code 0\)"),
    ],
)
def test_what_is_wrong_with_a_module_is_told(body: str, words: str, sandbox: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, PLAIN), module(body, renamed(MODULE)), sandbox, QUICK)

    assert re.search(words, verdict.text), verdict.text
    assert (verdict.correct, verdict.score) == (False, 0.0)


def test_a_source_without_the_class_fails_while_it_is_loaded(sandbox: Sandbox) -> None:
    verdict = judge_python(ModuleExercise(MODULE, PLAIN), "import torch", sandbox, QUICK)

    assert verdict.text.startswith("It failed while it was loaded: ")
    assert "ModelNew" in verdict.text


def test_a_reference_that_fails_is_nobodys_failure(sandbox: Sandbox) -> None:
    for code, words in (
        (MODULE.replace("return [16, 0.125]", "return [16]"), r"^The reference failed \(error\): .*scale"),
        (module("return tanh(x)"), r"^The reference failed \(error\): .*tanh"),
        (module("return x[:, 0] + float('nan') if False else x * 0.0"), "a constant would pass"),
    ):
        with pytest.raises(NotMeasured, match=words):
            judge_python(ModuleExercise(code, PLAIN), renamed(MODULE), sandbox, QUICK)


def test_half_precision_is_told_from_single_but_where_errors_cancel(sandbox: Sandbox) -> None:
    assert tells_half(ModuleExercise(MODULE, PLAIN), sandbox)
    kept = "return torch.Tensor(x.array.astype('f8').mean(1).astype('f4'))"
    averaged = module(kept).replace("torch.randn(8, 16)", "torch.rand(4, 40000)").replace("self.weight", "self.w")
    assert not tells_half(ModuleExercise(averaged, PLAIN), sandbox)


def test_inputs_are_widened_only_where_the_module_allows_it(sandbox: Sandbox) -> None:
    """Of negative numbers a root is none, so such a module keeps what it draws; another is held to numbers beyond 1."""
    drawn = MODULE.replace("torch.randn(8, 16)", "torch.rand(8, 16)")
    clamps = "return torch.Tensor(x.array.clip(0, 1))"
    rooted = "return torch.sqrt(x)"

    wide = judge_python(
        ModuleExercise(module("return x + 0.0", drawn), PLAIN), module(clamps, renamed(drawn)), sandbox, QUICK
    )
    kept = judge_python(
        ModuleExercise(module(rooted, drawn), PLAIN),
        module("return torch.sqrt(torch.Tensor(x.array.clip(0, 1)))", renamed(drawn)),
        sandbox,
        QUICK,
    )

    assert not wide.correct
    assert kept.correct, kept.text


def test_words_of_a_trusted_call() -> None:
    assert asked(Outcome(status="ok", value=3)) == 3
    with pytest.raises(NotMeasured, match=r"^The reference failed \(killed\): by a signal$") as told:
        asked(Outcome(status="killed", error="by a signal"))
    assert told.value.retry
    with pytest.raises(NotMeasured, match=r"^The reference failed \(error\): line 3$"):
        asked(Outcome(status="error", traceback="line 3"))
    for outcome in (
        Outcome(status="memory", error="all"),
        Outcome(status="error", error="you can't allocate memory: all"),
    ):
        assert is_short(outcome)
        with pytest.raises(NotMeasured) as short:
            asked(outcome)
        here = memory.machine_mb("MemTotal")
        assert (
            str(short.value)
            == f"The reference needs more memory than half of this machine's {here} MB: {outcome.error}"
        )
        assert not short.value.retry
    assert not is_short(Outcome(status="error", error="x"))


def test_a_session_is_closed_where_what_is_done_with_it_fails(sandbox: Sandbox) -> None:
    with sandbox.session("def f(): return 1", "f") as session:
        with closed_on_failure(session):
            assert session.call().value == 1
        assert session.call().status == "ok"
        with pytest.raises(KeyboardInterrupt), closed_on_failure(session):
            raise KeyboardInterrupt
        assert session.call().status != "ok"
