"""Isolated evaluation of untrusted code: a process of its own, locked down, that hands back plain data.

Names are imported on first use: the evaluation template imports this package too, and every page it holds is a page to fork.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracebench_core.sandbox.client import LocalSandbox, SandboxClient, connect, open_sandbox
    from tracebench_core.sandbox.host import IsolationReport, isolation
    from tracebench_core.sandbox.launch import ServerHandle, start_server

_HOME = {
    "IsolationReport": "host",
    "LocalSandbox": "client",
    "SandboxClient": "client",
    "ServerHandle": "launch",
    "connect": "client",
    "isolation": "host",
    "open_sandbox": "client",
    "start_server": "launch",
}

__all__ = [
    "IsolationReport",
    "LocalSandbox",
    "SandboxClient",
    "ServerHandle",
    "connect",
    "isolation",
    "open_sandbox",
    "start_server",
]


def __getattr__(name: str) -> Any:  # what each name is, type checkers read above
    if name in _HOME:
        return getattr(import_module(f"tracebench_core.sandbox.{_HOME[name]}"), name)
    raise AttributeError(f"module `tracebench_core.sandbox` has no attribute `{name}`")
