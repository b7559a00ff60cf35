"""CUDA's driver by ctypes: the functions that judge and guest call, by name, and what fails as an exception."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

_LIBRARY = "libcuda.so.1"
EVENT_DISABLE_TIMING, EVENT_INTERPROCESS = 2, 4
MEMORY_LAZY_PEER = 1
NOT_READY = 600
_HANDLE_BYTES = 64


class CudaError(RuntimeError):
    """A function of the driver failed, or there is no driver."""


class Handle(ctypes.Structure):
    """An IPC handle, of memory or of an event; passed by value."""

    _fields_ = (("bytes", ctypes.c_ubyte * _HANDLE_BYTES),)


@cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as err:
        raise CudaError(f"there is no CUDA driver on this machine: {err}") from err


def cuda(name: str, *given: Any, ready: bool = True) -> bool:
    """Call a function; with `ready=False`, return False where it says that something is not done yet.

    Raises:
        CudaError: when it fails, or is not there.
    """
    function: Callable[..., int] | None = getattr(_library(), name, None)
    if function is None:
        raise CudaError(f"the CUDA driver has no `{name}`")
    code = function(*given)
    if code == NOT_READY and not ready:
        return False
    if code:
        words = ctypes.c_char_p()
        _library().cuGetErrorString(code, ctypes.byref(words))
        raise CudaError(f"`{name}` failed with {code}: {(words.value or b'').decode(errors='replace')}")
    return True


def made(name: str, kind: Any, *given: Any) -> Any:
    """Call a function whose first argument is where it leaves what it makes; return that."""
    value = kind()
    cuda(name, ctypes.byref(value), *given)
    return value


def opened(name: str, kind: Any, handle: bytes, *given: Any) -> Any:
    """Open what another process exported."""
    return made(name, kind, Handle.from_buffer_copy(handle), *given)


def enter(ordinal: int = 0) -> tuple[Any, Any]:
    """Make the primary context of a device this thread's; return device and context."""
    cuda("cuInit", 0)
    device = made("cuDeviceGet", ctypes.c_int, ordinal)
    context = made("cuDevicePrimaryCtxRetain", ctypes.c_void_p, device)
    cuda("cuCtxSetCurrent", context)
    return device, context
