"""Builds C and C++ by the system's compiler, inside the sandbox; what comes back is a library as text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits

COMPILERS = {"c": ("gcc", "-std=gnu17"), "cpp": ("g++", "-std=gnu++17")}
"""By the ending of a source: a source is C if it builds as C, else C++."""
FLAGS = ("-O3", "-march=native", "-falign-functions=64", "-falign-loops=64", "-fPIC", "-shared")
"""Of candidates and of references alike. Mathematics is exact unless a source asks otherwise, by a pragma of its own.

A loop that lies 16 bytes farther is worth a third of its time to some kernels (`argmax`), so functions and loops begin with a line of the
cache, wherever they lie: code that is the same takes as long, whatever stands around it."""
_DRIVER_FLAGS = ("-O2", "-march=native", "-ffp-contract=off", "-std=gnu17")
_LIBRARY_BYTES = 8 << 20
_MEMORY_MB = 4096
_SHOWN = 3000
_SCRIPT = '"$@" </dev/null >&2 && base64 -w0 built'
_NOT_FOUND = 127
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Built:
    """A library in base64, or the compiler's words."""

    binary: str = ""
    words: str = ""


def build_kernel(sandbox: Sandbox, source: str, signature: str, *, seconds: float = 30.0) -> Built:
    """Build a kernel's source. The declaration comes first, so that a definition needs no `extern "C"`.

    Raises:
        NotMeasured: when there is no compiler.
    """
    text = source.encode(errors="replace").decode()
    tried = []
    for ending, compiler in COMPILERS.items():
        prefix, define = ('extern "C" ', "#define restrict __restrict__\n") if ending == "cpp" else ("", "")
        sources = {"signature.h": f"{define}{prefix}{signature};\n", f"kernel.{ending}": text}
        options = [
            *FLAGS,
            "-fdiagnostics-color=never",
            "-include",
            "signature.h",
            f"kernel.{ending}",
            "-o",
            "built",
            "-lm",
        ]
        built = build(sandbox, [*compiler, *options], sources, seconds=seconds)
        if built.binary:
            return built
        tried.append(built)
    return min(tried, key=lambda built: built.words.count(" error: "))


def build_reference(sandbox: Sandbox, source: str, signature: str) -> str:
    """Return the library of a trusted source, built once in this process."""
    return _once(source, lambda: build_kernel(sandbox, source, signature))


def build_driver(sandbox: Sandbox) -> str:
    """Return the driver as a program in base64, built once in this process."""
    folder = files("tracebench_kernelbench")
    sources = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ("driver.c", "confine.h")}
    argv = ["gcc", *_DRIVER_FLAGS, "driver.c", "-o", "built", "-lm", "-ldl"]
    return _once("\0".join(sources.values()), lambda: build(sandbox, argv, sources, seconds=60.0))


def _once(key: str, make: Callable[[], Built]) -> str:
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        known = _known()
        if key not in known:
            built = make()
            if not built.binary:
                raise NotMeasured(f"The judge's own source does not build here: {built.words}", retry=False)
            known[key] = built.binary
        return known[key]


@cache
def _known() -> dict[str, str]:
    return {}


def build(
    sandbox: Sandbox,
    argv: Sequence[str],
    sources: Mapping[str, str],
    *,
    seconds: float,
    memory_mb: int = _MEMORY_MB,
    most_bytes: int = _LIBRARY_BYTES,
) -> Built:
    """Run a compiler among its sources; what it writes to `built`, at most so many bytes in base64, comes back.

    Raises:
        NotMeasured: when it cannot be run.
    """
    limits = Limits(seconds=seconds, memory_mb=memory_mb, output_bytes=most_bytes, file_mb=most_bytes >> 20)
    outcome = sandbox.command(["sh", "-c", _SCRIPT, "build", *argv], files=sources, limits=limits)
    if outcome.status == "timeout":
        return Built(words=f"The compiler was ended after {seconds:g} s (`compile_seconds`).")
    if outcome.value is None:
        raise NotMeasured(f"The compiler could not be run: {outcome.error}")
    code, said = outcome.value["returncode"], outcome.value["stderr"]
    if code == _NOT_FOUND:
        raise NotMeasured(f"There is no compiler `{argv[0]}` on this machine: {said.strip()}", retry=False)
    if outcome.status != "ok" or code != 0:
        return Built(words=(said.strip() or outcome.error)[:_SHOWN])
    return Built(binary=outcome.value["stdout"])
