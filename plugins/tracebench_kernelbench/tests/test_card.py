"""What the judge asks of CUDA's driver, on one that keeps a device's books in C: a library of the same name."""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_kernelbench.tests.test_device_card import is_driver_here

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda import libcuda
from tracebench_kernelbench.cuda.card import Card, open_card

NVML = "libnvidia-ml.so.1"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("there is no `gcc` here: sudo apt-get install gcc")
    if is_driver_here():
        pytest.skip("this machine has a CUDA driver")
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("fake_libcuda.c")
    for name, more in (("libcuda.so.1", ()), (NVML, ("-DWITH_NVML",))):
        argv = ["gcc", "-shared", "-fPIC", "-w", *more, f"-Wl,-soname,{name}", str(source), "-o", str(folder / name)]
        subprocess.run(argv, check=True)
    return folder


@pytest.fixture
def driver(built: Path) -> Iterator[Any]:
    """Whoever asks for a library by a name gets the one of that name that is loaded already; without state of an earlier test."""
    libcuda._library.cache_clear()
    library = ctypes.CDLL(str(built / "libcuda.so.1"))
    library.told.restype = ctypes.c_char_p
    yield library
    handle = libcuda._library()._handle
    libcuda._library.cache_clear()
    for one in (library._handle, handle):
        _ctypes.dlclose(one)


def said(driver: Any) -> list[str]:
    return [line.strip() for line in driver.told().decode(errors="replace").splitlines()]


@pytest.fixture
def card(driver: Any) -> Card:
    opened = open_card()
    said(driver)
    return opened


def test_a_device_is_opened_with_a_stream_that_waits_for_no_other(driver: Any) -> None:
    card = open_card()

    calls = said(driver)
    assert card.name == "A Card \N{REPLACEMENT CHARACTER}"
    assert calls[:5] == [
        "cuInit 0",
        "cuDeviceGet 0",
        "cuDevicePrimaryCtxRetain 40",
        "cuCtxSetCurrent 7",
        "cuDeviceGetName 256 40",
    ]
    assert {"cuStreamCreate 1", "cuModuleLoadData gauge", "cuModuleGetFunction 9 gauge"} <= {*calls}
    driver.hold(ctypes.c_size_t(100 << 20))
    open_card()
    sizes = [line.split()[1] for line in calls + said(driver) if line.startswith("cuMemAlloc_v2")]
    assert sizes == ["256", str(64 << 20), "256", str(200 << 20)], "twice the cache, and twice 32 MiB at least"


def test_the_gauge_takes_six_milliseconds_and_shares_of_it_less(driver: Any, card: Card) -> None:
    first, _, last = card.mark(), card.gauge(), card.mark()
    tenth, _, end = card.mark(), card.gauge(0.1), card.mark()
    card.gauge(0.0)

    assert card.seconds(first, last) == pytest.approx(6e-3)
    assert card.seconds(tenth, end) == pytest.approx(6e-4)
    launched = [line for line in said(driver) if line.startswith("cuLaunchKernel")]
    assert launched == [f"cuLaunchKernel 11 1 {turns} 13" for turns in (600_000, 60_000, 1)], (
        "one thread, in the judge's stream"
    )


def test_memory_is_written_read_poisoned_and_copied_by_bytes(driver: Any, card: Card) -> None:
    one, other = card.allocate(16), card.allocate(8)

    card.write(one, 0, bytes(range(16)))
    card.poison(one, 4, 2)
    card.copy(one, 3, other, 1, 5)

    assert (one.size, other.size, card.free_bytes()) == (16, 8, 123)
    assert card.read(one, 2, 6) == bytes([2, 3, 255, 255, 6, 7])
    assert card.read(other, 0, 8) == bytes([0, 3, 255, 255, 6, 7, 0, 0])
    assert int.from_bytes(one.handle[:8], "little") == one.address
    assert len(one.handle) == 64
    calls = said(driver)
    assert calls[calls.index("cuMemcpyHtoD_v2 16") - 1] == "cuStreamSynchronize 13"
    assert calls[calls.index("cuMemcpyDtoH_v2 6") - 1] == "cuStreamSynchronize 13"
    assert "cuMemcpyDtoDAsync_v2 5 13" in calls


def test_the_cache_is_written_over_each_time_with_another_value(driver: Any, card: Card) -> None:
    for _ in range(257):
        card.flush()

    calls = said(driver)
    wiped = [f"cuMemsetD8Async {value} {64 << 20} 13" for value in (1, 2)]
    assert calls[:4] == ["cuCtxResetPersistingL2Cache", wiped[0], "cuCtxResetPersistingL2Cache", wiped[1]]
    assert [calls[-3].split()[1], calls[-1].split()[1]] == ["0", "1"]


def test_gates_say_nothing_of_time_and_marks_do(driver: Any, card: Card) -> None:
    gate = card.gate()
    card.signal(gate)
    card.wait(gate)
    card.mark()

    assert gate.handle == bytes([6]) * 64, "no timing, and for other processes"
    assert said(driver) == [
        "cuEventCreate 6",
        "cuIpcGetEventHandle 6",
        "cuEventRecord 6 13",
        "cuStreamWaitEvent 13 6 0",
        "cuEventCreate 0",
        "cuEventRecord 0 13",
    ]


def test_the_device_is_waited_for_and_not_for_ever(driver: Any, card: Card) -> None:
    driver.owe(3)
    assert card.settle(600.0)
    assert said(driver) == ["cuStreamQuery 13"] * 4
    driver.owe(1 << 30)
    assert not card.settle(0.0)
    assert not card.settle(-1.0)


def test_what_was_taken_is_given_back(driver: Any, card: Card) -> None:
    card.allocate(1)
    card.allocate(2)
    card.mark()
    said(driver)

    card.close()

    assert sorted(said(driver)) == [
        "cuDevicePrimaryCtxRelease_v2 40",
        *["cuEventDestroy_v2"] * 3,
        *["cuMemFree_v2"] * 2,
    ], "with both marks of the gauge"


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (
            "cuMemAlloc_v2",
            2,
            "The device cannot be used: `cuMemAlloc_v2` failed with 2: out of \N{REPLACEMENT CHARACTER} luck",
        ),
        ("cuMemAlloc_v2", 999, "The device cannot be used: `cuMemAlloc_v2` failed with 999: "),
        (
            "cuMemAlloc_v2",
            600,
            "The device cannot be used: `cuMemAlloc_v2` failed with 600: out of \N{REPLACEMENT CHARACTER} luck",
        ),
    ],
)
def test_what_fails_on_a_device_leaves_nothing_measured(
    name: str, code: int, words: str, driver: Any, card: Card
) -> None:
    driver.fail(name.encode(), code)

    with pytest.raises(NotMeasured) as told:
        card.allocate(1)
    assert str(told.value) == words


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("cuMemGetInfo_v2", lambda card, memory, gate, mark: card.free_bytes()),
        ("cuMemcpyHtoD_v2", lambda card, memory, gate, mark: card.write(memory, 0, b"x")),
        ("cuMemcpyDtoH_v2", lambda card, memory, gate, mark: card.read(memory, 0, 1)),
        ("cuMemsetD8Async", lambda card, memory, gate, mark: card.poison(memory, 0, 1)),
        ("cuMemcpyDtoDAsync_v2", lambda card, memory, gate, mark: card.copy(memory, 0, memory, 0, 1)),
        ("cuCtxResetPersistingL2Cache", lambda card, memory, gate, mark: card.flush()),
        ("cuLaunchKernel", lambda card, memory, gate, mark: card.gauge()),
        ("cuEventCreate", lambda card, memory, gate, mark: card.gate()),
        ("cuEventCreate", lambda card, memory, gate, mark: card.mark()),
        ("cuEventRecord", lambda card, memory, gate, mark: card.signal(gate)),
        ("cuStreamWaitEvent", lambda card, memory, gate, mark: card.wait(gate)),
        ("cuEventElapsedTime", lambda card, memory, gate, mark: card.seconds(mark, mark)),
        ("cuStreamQuery", lambda card, memory, gate, mark: card.settle(1.0)),
        ("cuDevicePrimaryCtxRelease_v2", lambda card, memory, gate, mark: card.close()),
        ("cuDeviceGetName", lambda card, memory, gate, mark: open_card()),
    ],
)
def test_whatever_fails_is_nobodys_score(name: str, asks: Any, driver: Any, card: Card) -> None:
    memory, gate, mark = card.allocate(8), card.gate(), card.mark()
    driver.fail(name.encode(), 700)

    with pytest.raises(NotMeasured, match=f"^The device cannot be used: `{name}` failed with 700"):
        asks(card, memory, gate, mark)


def test_a_function_that_the_driver_lacks_is_named(driver: Any, card: Card) -> None:
    del driver
    with pytest.raises(libcuda.CudaError, match=r"^the CUDA driver has no `cuNothing`$"):
        libcuda.cuda("cuNothing")


def test_the_clock_is_told_in_hertz_where_there_is_one_to_ask(built: Path, card: Card) -> None:
    assert card.clock_hz() is None
    nvml = ctypes.CDLL(str(built / NVML))
    assert card.clock_hz() == 1.755e9
    nvml.fail(b"", 3)
    assert card.clock_hz() is None
    for _ in range(3):
        _ctypes.dlclose(nvml._handle)
