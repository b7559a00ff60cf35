"""Kernels in Numba that claim more than they are worth, each of another kind than those that `trace-bench calibrate` measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_kernelbench.modules.backends import NUMBA, loaded_beforehand
from tracebench_kernelbench.modules.exercise import OwnExercise, asked
from tracebench_kernelbench.modules.stepping import _called, _idle, judge_python
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_sandbox import open_sandbox

pytestmark = [
    pytest.mark.heavy("kernels"),
    pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed"),
]
EXERCISE = OwnExercise(PROBLEMS["row_sums"])
EFFORT = Effort(trials=2, warm=3, least=8, most=8, budget_ms=0, call_seconds=2.0)
LOOPS = """
import numba

@numba.njit
def work(x, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
"""
PLAIN = f"{LOOPS}\ndef kernel(x, out):\n    work(x, out)\n"
WRONG = {
    "tells its own process to be idle": f"{LOOPS}\ndef kernel(x, out):\n    work(x, out)\n    _judge_memory[0] = 1\n",
    "gives its own process other arrays": f"{LOOPS}\ndef kernel(x, out):\n    work(x, out)\n    _judge_arrays[:] = [[x, out.copy()]] * 8\n",
    "says that its arrays lie at another place": f"{LOOPS}\ndef kernel(x, out):\n    x, out = _judge_arrays[0]\n    work(x, out)\n"
    "    _judge_memory[1] = 0\n",
    "returns what it returned before": f"{LOOPS}\nkept = []\ndef kernel(x, out):\n    if not kept:\n        work(x, out)\n"
    "        kept.append(out.copy())\n    out[:] = kept[0]\n",
    "rounds to half precision": "def kernel(x, out):\n    out[:] = x.astype('float16').sum(1)\n",
    "reads its rival's memory": "import os\ndef kernel(x, out):\n    at = out.ctypes.data\n"
    "    for pid in range(max(1, os.getpid() - 30), os.getpid() + 30):\n        try:\n"
    "            with open(f'/proc/{pid}/mem', 'rb', 0) as file:\n                file.seek(at)\n"
    "                data = file.read(out.nbytes)\n        except (OSError, ValueError):\n            continue\n"
    "        if pid != os.getpid():\n            memoryview(out).cast('B')[:] = data\n            return\n",
    "works in a thread that goes on": f"{LOOPS}\nimport threading\ndef kernel(x, out):\n"
    "    threading.Thread(target=work, args=(x, out)).start()\n",
    "works in a child": f"{LOOPS}\nimport os\ndef kernel(x, out):\n    if os.fork() == 0:\n        work(x, out)\n        os._exit(0)\n",
    "works when a timer rings": f"{LOOPS}\nimport signal\nlate = []\ndef ring(*_):\n    work(*late)\n"
    "signal.signal(signal.SIGALRM, ring)\ndef kernel(x, out):\n    late[:] = x, out\n    signal.setitimer(signal.ITIMER_REAL, 0.0005)\n",
    "answers for its own judge": f"{LOOPS}\ndef kernel(x, out):\n    work(x, out)\n    globals()['_judge_work'] = lambda: None\n"
    "    globals()['kernel'] = lambda *_: None\n",
}


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    with open_sandbox(preload=loaded_beforehand([NUMBA])) as opened:
        yield opened


def test_the_kernel_that_the_cheats_are_made_of_is_right(warm: Sandbox) -> None:
    verdict = judge_python(EXERCISE, PLAIN, warm, EFFORT)
    assert verdict.correct, verdict.text


@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_that_does_not_do_its_work_is_worth_nothing(name: str, warm: Sandbox) -> None:
    verdict = judge_python(EXERCISE, WRONG[name], warm, EFFORT)
    assert not verdict.correct, verdict.text
    assert verdict.score == 0.0


@pytest.mark.parametrize("ask", [_called, _idle])
def test_a_reference_that_is_over_is_not_measured(ask: Callable[..., Any], warm: Sandbox) -> None:
    """Its time may be over on a busy machine, between any two calls; the memory that it shared is gone then."""
    with EXERCISE.open_reference(warm, Limits(seconds=30.0, shared_mb=EXERCISE.shared_mb)) as reference:
        inputs = EXERCISE.draw(1, reference, wide=False)
        reference.close()
        with pytest.raises(NotMeasured, match="closed"):
            asked(ask(EXERCISE, reference, inputs, 0))


def test_arrays_lie_at_another_place_every_second_call(warm: Sandbox) -> None:
    """Which pages a process is given for its arrays is worth a tenth to who walks down columns."""
    counting = f"{LOOPS}\nseen = []\ndef kernel(x, out):\n    seen.append((x.ctypes.data, out.ctypes.data))\n"
    places = "    assert len(set(seen)) == min(8, (len(seen) + 1) // 2), seen\n    work(x, out)\n"

    verdict = judge_python(EXERCISE, counting + places, warm, EFFORT.model_copy(update={"least": 20, "most": 20}))

    assert verdict.correct, verdict.text
