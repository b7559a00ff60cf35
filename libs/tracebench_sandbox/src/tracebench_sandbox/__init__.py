"""Isolated evaluation of untrusted code: a process of its own, locked down, that hands back plain data.

Names are imported on first use: the evaluation template imports this package too, and every page it holds is a page to fork.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_sandbox.client import (
        LocalSandbox as LocalSandbox,
        SandboxClient as SandboxClient,
        connect as connect,
        open_sandbox as open_sandbox,
    )
    from tracebench_sandbox.codec import CodecError as CodecError, Decoder as Decoder, Encoder as Encoder
    from tracebench_sandbox.frames import read_frame as read_frame, write_frame as write_frame
    from tracebench_sandbox.host import IsolationReport as IsolationReport, isolation as isolation
    from tracebench_sandbox.launch import ServerHandle as ServerHandle, start_server as start_server

__getattr__ = imported_on_use(__name__)
