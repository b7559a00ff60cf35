"""Isolated evaluation of untrusted code: a process of its own, locked down, that hands back plain data.

Names are imported on first use: the evaluation template imports this package too, and every page it holds is a page to fork.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_sandbox.client import LocalSandbox, SandboxClient, connect, open_sandbox
    from tracebench_sandbox.codec import CodecError, Decoder, Encoder
    from tracebench_sandbox.frames import read_frame, write_frame
    from tracebench_sandbox.host import IsolationReport, isolation
    from tracebench_sandbox.launch import ServerHandle, start_server

__all__ = [
    "CodecError",
    "Decoder",
    "Encoder",
    "IsolationReport",
    "LocalSandbox",
    "SandboxClient",
    "ServerHandle",
    "connect",
    "isolation",
    "open_sandbox",
    "read_frame",
    "start_server",
    "write_frame",
]

__getattr__ = imported_on_use(
    __name__,
    {
        ".client": "LocalSandbox SandboxClient connect open_sandbox",
        ".codec": "CodecError Decoder Encoder",
        ".frames": "read_frame write_frame",
        ".host": "IsolationReport isolation",
        ".launch": "ServerHandle start_server",
    },
)
