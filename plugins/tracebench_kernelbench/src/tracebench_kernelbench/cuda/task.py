"""Tasks whose candidates run on a graphics processor: a problem of KernelBench at its own sizes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from tracebench_core.contracts import Context, Guide, NotMeasured
from tracebench_core.specs import Calibration, Example, Parameter, Split, Values
from tracebench_kernelbench.calibrations import PARAMETER, of_module, once_of
from tracebench_kernelbench.cuda import cheats
from tracebench_kernelbench.cuda.card import open_card
from tracebench_kernelbench.cuda.judging import Assignment, Bench, judge_on_device
from tracebench_kernelbench.cuda.serving import ARENA
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.task import scaled, score

_GUEST = "tracebench_kernelbench.cuda.torch_guest"
_SECONDS = 120.0
_WITH = {
    "cuda": "CUDA C++, which `torch.utils.cpp_extension.load_inline` builds; the build does not count",
    "triton": "Triton; what is compiled on the first calls does not count",
    "torch_compile": "`torch.compile`; what is compiled on the first calls does not count",
    "torch": "PyTorch",
}
_OBJECTIVE = """Write a faster replacement of this PyTorch module for this machine's graphics processor, with {what}.

Define `ModelNew`: it is made and called as `Model` is, makes its weights in the same order, and returns the same shapes and types. The
score is the speed-up over `Model`, in the device's time; a speed-up within the noise counts as 1, and a wrong result as 0. Each call has
fresh inputs and a cleared second-level cache; every output is checked. All work must be done, or queued on the current stream, when
`forward` returns. A result may differ by {atol:g} + {rtol:g} * |value|, and by less where half precision would keep that.

```python
{code}
```
"""


class DeviceOptions(Effort):
    """Settings of a task on a graphics processor."""

    backend: Literal["cuda", "triton", "torch_compile", "torch"] = "cuda"
    """What the candidate is written with."""
    call_seconds: float = Field(default=10.0, gt=0, le=60)
    """Seconds that one call may take."""
    compile_seconds: float = Field(default=300.0, gt=0, le=600)
    """Seconds that loading a candidate may take, with all that it builds, and its first call."""


class DeviceTask:
    """A core `Task` made of a problem's code."""

    def __init__(self, code: str, options: DeviceOptions) -> None:
        self._assignment, self._options = Assignment(code, options.backend), options
        tolerance = self._assignment.tolerance
        self.objective = _OBJECTIVE.format(
            what=_WITH[options.backend], atol=tolerance.atol, rtol=tolerance.rtol, code=code.strip()
        )
        self.guide: Guide = score
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name=PARAMETER, initial=renamed(code), kind="code", description="Python source.", max_length=100_000
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {
            "train": (Example(id="train-0", input=1),),
            "test": (Example(id="test-0", input=2),),
        }

    def run(self, values: Values, example: Example, _context: Context) -> Verdict:
        """Judge the source on this machine's device.

        Raises:
            NotMeasured: where there is none; see `judge_on_device` for more.
        """
        effort = scaled(self._options, int(example.input))
        return judge_on_device(self._assignment, str(values[PARAMETER]), bench(), effort)

    def calibrations(self) -> Iterable[Calibration]:
        """Return modules of known ratio, and those that cheat."""
        initial = str(self.parameters[0].initial)
        yield from of_module(initial, self._options.backend, timed=True, tells_half=False)
        yield from cheats.cases(once_of(initial))

    def close(self) -> None:
        """Do nothing: each judgement ends what it began."""


def device_task(code: str, **options: object) -> DeviceTask:
    """Build the task of a problem."""
    return DeviceTask(code, DeviceOptions.model_validate(options))


def bench() -> Bench:
    """Return this machine's device, with guests that run PyTorch.

    Raises:
        NotMeasured: where the allocator of guests cannot be built.
    """
    return Bench(open_card, [sys.executable, "-P", "-m", _GUEST], {ARENA: str(_arena())})


@cache
def _arena() -> Path:
    """Build the allocator of guests, once in this process."""
    folder = Path(tempfile.mkdtemp(prefix="kernelbench-arena-"))
    built, source = folder / "arena.so", folder / "arena.cpp"
    source.write_bytes(files("tracebench_kernelbench.cuda").joinpath("arena.cpp").read_bytes())
    try:
        subprocess.run(  # noqa: S603 - the compiler, as PATH names it
            ["g++", "-O2", "-shared", "-fPIC", str(source), "-o", str(built)],  # noqa: S607
            check=True,
            capture_output=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as err:
        raise NotMeasured(f"The allocator of guests cannot be built with `g++`: {err}", retry=False) from err
    return built
