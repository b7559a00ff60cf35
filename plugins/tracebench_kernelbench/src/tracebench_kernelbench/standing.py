"""What times stand on beside the judge's own files: compilers and libraries that compile, each with its version."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tracebench_kernelbench.catalog import SERVER
from tracebench_kernelbench.modules.backends import BACKENDS, NUMBA, TORCH, find_tool

_COMPILERS = ("gcc", "g++")
_BESIDE = {"numba": ("llvmlite",)}
"""What a package compiles with, by package."""
_SECONDS = 10.0


def of_c(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the compilers; nothing where a server judges, which has its own."""
    return {} if _judged_elsewhere(options) else _tools(_COMPILERS)


def of_numba(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what kernels in Numba and the plain one in C are built with; nothing where a server judges."""
    return {} if _judged_elsewhere(options) else {**_tools(_COMPILERS), **_packages(NUMBA.modules)}


def of_modules(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the chosen backend builds with."""
    if _judged_elsewhere(options):
        return {}
    backend = BACKENDS.get(str(options.get("backend", TORCH.name)), TORCH)
    return {**_tools(backend.tools), **_packages(dict.fromkeys((*TORCH.modules, *backend.modules)))}


def of_device(_options: Mapping[str, Any]) -> dict[str, str]:
    """Return what kernels on a device are built with, and what runs them."""
    return {**_tools(("g++", "nvcc")), **_packages(("torch", "triton")), **_drivers()}


def _drivers() -> dict[str, str]:
    try:
        return {"nvidia": Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").partition("\n")[0]}
    except OSError:
        return {}


def _judged_elsewhere(options: Mapping[str, Any]) -> bool:
    return bool(options.get("server") or os.environ.get(SERVER))


def _packages(names: Iterable[str]) -> dict[str, str]:
    known = {}
    for name in ("numpy", *names):
        for package in (name, *_BESIDE.get(name, ())):
            try:
                known[package] = version(package)
            except PackageNotFoundError:
                continue
    return known


def _tools(names: Iterable[str]) -> dict[str, str]:
    found = {name: path for name in names if (path := find_tool(name)) is not None}
    return {name: told for name, path in found.items() if (told := _told(path, Path(path).stat().st_mtime_ns))}


@cache
def _told(path: str, _changed: int) -> str:
    """Return the first line of what a program says of its version; nothing where it says none."""
    try:
        done = subprocess.run(  # noqa: S603 - a compiler, as PATH names it
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(done.stdout.splitlines()), "")
