"""The views that plugins add to the pages of their suites' runs and jobs, by the hook `tracebench_views`."""

from __future__ import annotations

from functools import cache

from tracebench_engine.api import Catalog, open_host
from tracebench_engine.api.analysis import build_views
from tracebench_engine.api.records import Run
from tracebench_viewer import parts


@cache
def catalog() -> Catalog:
    """Return what the installed plugins offer. Loads them, once."""
    return open_host().catalog()


def draw(run: Run, job_id: str | None) -> None:
    """Draw every view of a job, or of a whole run."""
    for shown in build_views(catalog(), run, job_id):
        parts.view(shown, key=f"view-{shown.name}")
