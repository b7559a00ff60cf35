"""What can be known of a real device's parts where there is none: they build, and say what is missing."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from plugins.tracebench_kernelbench.tests.test_modules import settings_of, write_checkout

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda import card, cheats
from tracebench_kernelbench.cuda.listing import list_device
from tracebench_kernelbench.cuda.task import _arena, device_task

PROBLEM = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)

def get_inputs():
    return [torch.randn(1 << 24)]

def get_init_inputs():
    return []
"""


def is_driver_here() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def test_without_a_driver_nothing_is_measured_and_it_is_said() -> None:
    if is_driver_here():
        pytest.skip("this machine has a CUDA driver")
    with pytest.raises(NotMeasured, match="no CUDA driver"):
        card.open_card()


def test_tasks_for_a_device_say_what_they_need_and_that_they_are_unconfined(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in list_device(settings_of(write_checkout(tmp_path)))}

    assert [name for name, spec in specs.items() if not spec.broken] == [
        "cuda/level1/1",
        "cuda/level1/2",
        "cuda/level1/10",
    ]
    assert "evaluation server" in specs["cuda/level4/3"].broken
    for spec in specs.values():
        assert (spec.timed, spec.unconfined, spec.resources.gpus) == (True, True, 1)
        assert {need.kind for need in spec.requires} == {"gpu", "module", "command"}


def test_a_device_is_calibrated_by_multiples_itself_and_thirty_cheats() -> None:
    cases = list(device_task(PROBLEM).calibrations())

    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    assert len(cheats.WRONG) + len(cheats.SLOW) >= 30
    assert {"itself", "times-2", "times-5", "times-10", *cheats.WRONG, *cheats.SLOW} <= set(names)
    for case in cases:
        assert case.values is not None
        compile(str(case.values["kernel"]), case.name, "exec")


def test_the_work_of_the_gauge_assembles() -> None:
    """Triton brings NVIDIA's assembler; whether a driver takes the code as well, no machine without a device can say."""
    spec = find_spec("triton")
    found = Path(spec.origin).parent / "backends/nvidia/bin/ptxas" if spec and spec.origin else None
    if found is None or not found.is_file():
        pytest.skip('there is no assembler here: pip install "tracebench-kernelbench[triton]"')
    for arch in ("sm_75", "sm_90"):
        subprocess.run([found, f"-arch={arch}", "-o", "/dev/null", "-"], input=card._GAUGE.rstrip(b"\0"), check=True)


@pytest.fixture(scope="module")
def arena() -> str:
    if which("g++") is None:
        pytest.skip("there is no `g++` here: sudo apt-get install g++")
    return str(_arena())


def in_arena(arena: str, body: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines in a process that has an arena of a mebibyte."""
    head = f"""import ctypes
lib = ctypes.CDLL({arena!r})
lib.arena_take.restype, lib.arena_take.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
lib.arena_give.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
room = ctypes.create_string_buffer(1 << 20)
begin = ctypes.addressof(room)
lib.arena_begin(ctypes.c_void_p(begin), ctypes.c_size_t(1 << 20))
take = lambda size: lib.arena_take(size, 0, None)
"""
    return subprocess.run([sys.executable, "-c", head + body], capture_output=True, text=True, timeout=60, check=False)


def test_blocks_lie_in_the_judges_memory_apart_and_are_used_again(arena: str) -> None:
    done = in_arena(
        arena,
        "a, b = take(1000), take(5000)\n"
        "assert begin <= a and a + 1000 <= b and b + 5000 <= begin + (1 << 20)\n"
        "lib.arena_give(b, 5000, 0, None)\nassert take(5100) == b and take(5000) not in (a, b) and take(0) is None\n",
    )

    assert done.returncode == 0, done.stderr


def test_memory_that_is_full_is_told_and_not_exceeded(arena: str) -> None:
    done = in_arena(arena, "while True: take(100_000)\n")

    assert done.returncode == 12
    assert re.search(r"full: \d+ bytes were asked for", done.stderr)


def test_what_the_judge_builds_is_part_of_the_distribution() -> None:
    assert files("tracebench_kernelbench.cuda").joinpath("arena.cpp").is_file()
