"""A device's driver and its quiet, without a device: what calls of the driver say, and whether somebody else works beside."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tracebench_kernelbench.cuda import libcuda
from tracebench_kernelbench.cuda.libcuda import NOT_READY, CudaError, cuda, made
from tracebench_kernelbench.cuda.quiet import drift, handing_of, is_busy


class Driver:
    """One whose functions return the code that they are given."""

    def cuAnswer(self, code: int) -> int:  # noqa: N802 - as CUDA calls its own
        return code

    def cuMake(self, place: Any, code: int) -> int:  # noqa: N802
        place._obj.value = 7
        return code

    def cuGetErrorString(self, code: int, place: Any) -> int:  # noqa: N802
        place._obj.value = f"words of {code}".encode()
        return 0


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcuda, "_library", Driver)


def test_a_call_says_whether_it_is_done_and_fails_in_the_drivers_words() -> None:
    assert cuda("cuAnswer", 0) is True
    assert cuda("cuAnswer", 0, ready=False) is True
    assert cuda("cuAnswer", NOT_READY, ready=False) is False
    for code, ready in ((NOT_READY, True), (2, True), (2, False)):
        with pytest.raises(CudaError, match=f"`cuAnswer` failed with {code}: words of {code}"):
            cuda("cuAnswer", code, ready=ready)
    with pytest.raises(CudaError, match="has no `cuAbsent`"):
        cuda("cuAbsent")


def test_what_a_call_makes_is_returned() -> None:
    assert made("cuMake", ctypes.c_int, 0).value == 7
    with pytest.raises(CudaError, match="words of 1"):
        made("cuMake", ctypes.c_int, 1)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [([2.0], [2.0], 0.0), ([1.1, 9.0, 1.0], [1.0], 0.1), ([1.0], [1.0, 1.1, 9.0], 0.1), ([3.0, 1.0], [1.0], 1.0)],
)
def test_clocks_drift_by_what_their_medians_differ_either_way(
    one: list[float], other: list[float], share: float
) -> None:
    assert drift(one, other) == pytest.approx(share)


def test_a_device_is_busy_when_gauges_are_late_and_not_for_a_single_one() -> None:
    assert not is_busy([1.0] * 20, 1.0)
    assert not is_busy([1.0] * 19 + [50.0], 1.0)
    assert is_busy([50.0] * 20, 1.0)
    assert is_busy([50.0], 1.0)


def test_handing_over_takes_what_the_quickest_call_without_work_took() -> None:
    handing = handing_of([5.0, 3.0, 4.0, 3.5])

    assert handing.least == 3.0
    assert 0 < handing.spread <= 2.0
    assert handing.net(10.0) == pytest.approx(7.0)
    assert handing.net(3.0) == handing.spread
