"""Check what a task or trainer needs from the machine, importing nothing."""

from __future__ import annotations

import math
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tracebench_core.errors import typed
from tracebench_core.plugins.interpreters import has_python

if TYPE_CHECKING:
    from tracebench_core.specs import Requirement

LOOK_SECONDS = 5.0
"""How long a tool or a service is waited for that is asked whether something is there."""


def unmet_requirement(
    requirements: Iterable[Requirement], settings: Mapping[str, Any] | None = None
) -> Requirement | None:
    """Return the first requirement that this machine does not meet, leaving out those that `settings` make moot."""
    return next((r for r in requirements if not _is_moot(r, settings or {}) and not _is_met(r)), None)


def why_unavailable(broken: str, requirements: Iterable[Requirement]) -> str:
    """Return why what is `broken`, or has these requirements, cannot run on this machine; nothing where it can."""
    if broken:
        return f"broken: {broken}"
    missing = unmet_requirement(requirements)
    return f"needs: {missing.kind} `{missing.name}` ({typed(missing.hint)})" if missing else ""


def _is_moot(requirement: Requirement, settings: Mapping[str, Any]) -> bool:
    return any(
        os.environ.get(name[1:]) if name.startswith("$") else settings.get(name) is not None
        for name in requirement.unless.split()
    )


def _is_met(requirement: Requirement) -> bool:
    if requirement.kind == "module" and requirement.python and has_python(requirement.python):
        return True
    return _LOOKS[requirement.kind](requirement.name)


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (Exception, SystemExit):  # noqa: BLE001 - to find what lies in a package, that is imported
        return False


@cache
def _output(*argv: str) -> str | None:
    """Return what a command prints; None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs; the name is one argument
            argv,
            check=True,
            timeout=LOOK_SECONDS,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _accepts(address: str) -> bool:
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        with socket.create_connection((parts.hostname or "127.0.0.1", port), timeout=LOOK_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def _has_gpu(wanted: str) -> bool:
    names = (_output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or "").splitlines()
    if wanted.isdecimal():
        return min(len(names), _most_visible()) >= int(wanted)
    return any(wanted.casefold() in name.casefold() for name in names)


def _most_visible() -> float:
    """Return how many graphics processors CUDA may show to a process of this one."""
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    return math.inf if told is None else sum(name.strip() not in {"", "-1"} for name in told.split(","))


def _is_there(path: str) -> bool:
    """Look for a file or folder; one that cannot be is none: of a user that there is not, too long, out of reach."""
    return os.path.exists(os.path.expanduser(path))  # noqa: PTH110, PTH111 - `Path` raises for each of them


def _has_dataset(name: str) -> bool:
    """Look on this machine only: a path, or the folder that the hub's library caches a data set in."""
    if not name.startswith("hub:"):
        return _is_there(name)
    home = os.environ.get("HF_HOME") or os.path.join("~", ".cache", "huggingface")  # noqa: PTH118 - as above
    hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")  # noqa: PTH118
    return _is_there(os.path.join(hub, f"datasets--{name.removeprefix('hub:').replace('/', '--')}", "snapshots"))  # noqa: PTH118


_LOOKS: dict[str, Callable[[str], bool]] = {
    "module": _has_module,
    "command": lambda name: shutil.which(name) is not None,
    "env": lambda name: bool(os.environ.get(name)),
    "path": _is_there,
    "image": lambda name: _output("docker", "image", "inspect", name) is not None,
    "service": _accepts,
    "gpu": _has_gpu,
    "dataset": _has_dataset,
}
