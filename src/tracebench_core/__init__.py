"""What plugins of Trace-Bench are written against: specs, contracts, hooks, and the registry of plugins.

Names are imported on first use, so that `import tracebench_core` stays light; those of the bench are forwarded to it.
"""

from __future__ import annotations

from tracebench_core.forwarding import install
from tracebench_core.lazy import imported_on_use

_HOMES = {
    ".api": "BenchRunner evaluate_task load_config load_run plan resume run",
    ".hookspecs": "hookimpl",
    ".specs": "RunConfig",
}

__all__ = sorted(" ".join(_HOMES.values()).split())  # noqa: PLE0605 - derived from the one table of names

__getattr__ = imported_on_use(__name__, _HOMES)
install()
