"""What plugins of Trace-Bench are written against: specs, contracts, hooks, and the registry of plugins.

Names are imported on first use, so that `import tracebench_core` stays light; those of the bench are forwarded to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.forwarding import install
from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.hookspecs import hookimpl as hookimpl
    from tracebench_core.registry import Registry as Registry, guide as guide, task as task, trainer as trainer
    from tracebench_core.specs import RunConfig as RunConfig

__getattr__ = imported_on_use(
    __name__, forwarded={".api": "BenchRunner evaluate_task load_config load_run plan resume run"}
)
install()
