"""A real device, by CUDA's driver: see `device`. One stream of the judge's, which waits for no other.

Nothing of this was ever run on a device by who wrote it: it is calibrated on yours before anything is scored there.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.libcuda import (
    EVENT_DISABLE_TIMING,
    EVENT_INTERPROCESS,
    CudaError,
    Handle,
    cuda,
    enter,
    made,
)

_L2_CACHE_SIZE = 38
"""CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE."""
_NON_BLOCKING = 1
_L2_TIMES = 2
"""How many times what the second-level cache holds is written to clear it."""
_LEAST_L2 = 32 << 20
_GAUGE_SECONDS = 6e-3
"""A process has a device for two milliseconds in a row."""
_FIRST_TURNS = 200_000
_POLL = 2e-4
_SM_CLOCK = 1
"""NVML_CLOCK_SM."""
_GAUGE = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry gauge(.param .u64 place, .param .u32 turns)
{
  .reg .u64 %at;
  .reg .u32 %left, %value;
  .reg .pred %more;
  ld.param.u64 %at, [place];
  ld.param.u32 %left, [turns];
  cvta.to.global.u64 %at, %at;
  ld.global.u32 %value, [%at];
AGAIN:
  mad.lo.u32 %value, %value, 1664525, 1013904223;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra AGAIN;
  st.global.u32 [%at], %value;
  ret;
}
\0"""
"""One thread that multiplies, each time what it got before: so many cycles, whatever else the device could do."""


@contextmanager
def _as_not_measured() -> Iterator[None]:
    """Say of what fails that nothing was measured."""
    try:
        yield
    except CudaError as err:
        raise NotMeasured(f"The device cannot be used: {err}") from err


@dataclass
class CardMemory:
    """See `device.Memory`."""

    size: int
    address: int
    handle: bytes


@dataclass
class CardGate:
    """See `device.Gate`."""

    event: Any
    handle: bytes


@dataclass
class Card:
    """See `device.Device`. Made by `open_card`."""

    name: str
    _device: Any
    _context: Any
    _stream: Any
    _kernel: Any
    _place: Any
    _cache: Any
    _cache_size: int
    _turns: int = _FIRST_TURNS
    _marks: list[Any] = field(default_factory=list)
    _taken: list[Any] = field(default_factory=list)
    _written: int = 0

    @_as_not_measured()
    def free_bytes(self) -> int:
        """See `Device`."""
        free, whole = ctypes.c_size_t(), ctypes.c_size_t()
        cuda("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(whole))
        return free.value

    @_as_not_measured()
    def allocate(self, size: int) -> CardMemory:
        """See `Device`."""
        address = made("cuMemAlloc_v2", ctypes.c_uint64, ctypes.c_size_t(size))
        self._taken.append(address)
        handle = made("cuIpcGetMemHandle", Handle, address)
        return CardMemory(size, address.value, bytes(handle))

    @_as_not_measured()
    def write(self, memory: Any, at: int, data: Any) -> None:
        """See `Device`."""
        raw = bytes(data)
        self._wait_for_all()
        cuda("cuMemcpyHtoD_v2", _at(memory, at), raw, ctypes.c_size_t(len(raw)))

    @_as_not_measured()
    def read(self, memory: Any, at: int, size: int) -> bytes:
        """See `Device`."""
        raw = ctypes.create_string_buffer(size)
        self._wait_for_all()
        cuda("cuMemcpyDtoH_v2", raw, _at(memory, at), ctypes.c_size_t(size))
        return raw.raw

    @_as_not_measured()
    def poison(self, memory: Any, at: int, size: int) -> None:
        """See `Device`."""
        self._fill(_at(memory, at), 0xFF, size)

    @_as_not_measured()
    def copy(self, source: Any, source_at: int, target: Any, target_at: int, size: int) -> None:
        """See `Device`."""
        cuda(
            "cuMemcpyDtoDAsync_v2", _at(target, target_at), _at(source, source_at), ctypes.c_size_t(size), self._stream
        )

    @_as_not_measured()
    def flush(self) -> None:
        """See `Device`."""
        cuda("cuCtxResetPersistingL2Cache")
        self._written = (self._written + 1) % 256
        self._fill(self._cache, self._written, self._cache_size)

    @_as_not_measured()
    def gauge(self, share: float = 1.0) -> None:
        """See `Device`."""
        place, turns = ctypes.c_uint64(self._place.value), ctypes.c_uint32(max(1, round(share * self._turns)))
        given = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in (place, turns)))
        one = ctypes.c_uint(1)
        cuda("cuLaunchKernel", self._kernel, one, one, one, one, one, one, ctypes.c_uint(0), self._stream, given, None)

    @_as_not_measured()
    def gate(self) -> CardGate:
        """See `Device`."""
        event = made("cuEventCreate", ctypes.c_void_p, ctypes.c_uint(EVENT_DISABLE_TIMING | EVENT_INTERPROCESS))
        return CardGate(event, bytes(made("cuIpcGetEventHandle", Handle, event)))

    @_as_not_measured()
    def signal(self, gate: Any) -> None:
        """See `Device`."""
        cuda("cuEventRecord", gate.event, self._stream)

    @_as_not_measured()
    def wait(self, gate: Any) -> None:
        """See `Device`."""
        cuda("cuStreamWaitEvent", self._stream, gate.event, ctypes.c_uint(0))

    @_as_not_measured()
    def mark(self) -> Any:
        """See `Device`."""
        event = made("cuEventCreate", ctypes.c_void_p, ctypes.c_uint(0))
        self._marks.append(event)
        cuda("cuEventRecord", event, self._stream)
        return event

    @_as_not_measured()
    def seconds(self, first: Any, second: Any) -> float:
        """See `Device`."""
        return float(made("cuEventElapsedTime", ctypes.c_float, first, second).value) / 1e3

    @_as_not_measured()
    def settle(self, seconds: float) -> bool:
        """See `Device`."""
        end = time.monotonic() + seconds
        while not cuda("cuStreamQuery", self._stream, ready=False):
            if time.monotonic() > end:
                return False
            time.sleep(_POLL)
        return True

    def clock_hz(self) -> float | None:
        """See `Device`; NVML's figure for the first device."""
        try:
            library, device, rate = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_uint()
        except OSError:
            return None
        calls: tuple[Callable[[], int], ...] = (
            library.nvmlInit_v2,
            lambda: library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)),
            lambda: library.nvmlDeviceGetClockInfo(device, _SM_CLOCK, ctypes.byref(rate)),
        )
        return None if any(call() for call in calls) else 1e6 * rate.value

    @_as_not_measured()
    def close(self) -> None:
        """See `Device`."""
        for event in self._marks:
            cuda("cuEventDestroy_v2", event)
        for address in self._taken:
            cuda("cuMemFree_v2", address)
        cuda("cuDevicePrimaryCtxRelease_v2", self._device)

    def tune(self) -> None:
        """Make the gauge as long as it is to be: longer than a process has the device in a row."""
        self.gauge()  # the first one loads it
        first, _, last = self.mark(), self.gauge(), self.mark()
        self.settle(10.0)
        self._turns = max(1, round(self._turns * _GAUGE_SECONDS / max(self.seconds(first, last), 1e-6)))

    def _fill(self, address: Any, value: int, size: int) -> None:
        cuda("cuMemsetD8Async", address, ctypes.c_ubyte(value), ctypes.c_size_t(size), self._stream)

    def _wait_for_all(self) -> None:
        cuda("cuStreamSynchronize", self._stream)


def open_card() -> Card:
    """Open the first device that is visible to this process.

    Raises:
        NotMeasured: where there is none, or no driver.
    """
    with _as_not_measured():
        device, context = enter()
        name = ctypes.create_string_buffer(256)
        cuda("cuDeviceGetName", name, 256, device)
        held = max(made("cuDeviceGetAttribute", ctypes.c_int, _L2_CACHE_SIZE, device).value, _LEAST_L2)
        module = made("cuModuleLoadData", ctypes.c_void_p, _GAUGE)
        card = Card(
            name.value.decode(errors="replace"),
            device,
            context,
            made("cuStreamCreate", ctypes.c_void_p, ctypes.c_uint(_NON_BLOCKING)),
            made("cuModuleGetFunction", ctypes.c_void_p, module, b"gauge"),
            made("cuMemAlloc_v2", ctypes.c_uint64, ctypes.c_size_t(256)),
            made("cuMemAlloc_v2", ctypes.c_uint64, ctypes.c_size_t(_L2_TIMES * held)),
            _L2_TIMES * held,
        )
        card.tune()
        return card


def _at(memory: Any, at: int) -> Any:
    return ctypes.c_uint64(memory.address + at)
