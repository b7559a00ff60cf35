"""What plugins add to the pages of their suites: columns, charts, pictures and whole pages, by the hook `tracebench_views`.

A loader is called with `(run, job_id)`, `job_id` being None on the page of a run. It returns, by its kind,
`columns`: a dict of lists; `chart`: an Altair chart or Vega-Lite as a dict; `picture`: SVG as text or an image's bytes; `page`: a function
without arguments that draws with Streamlit. None: nothing to show. One that fails costs its own place on the page and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from tracebench_core.builtin.hosting import open_host
from tracebench_core.plugins import load_ref
from tracebench_core.specs import ViewSpec
from tracebench_core.store.reader import Run


class Shown(NamedTuple):
    """One view, ready to be drawn."""

    title: str
    kind: str
    content: Any
    problem: str
    """Why there is no content, empty when there is."""


@cache
def offered() -> tuple[tuple[str, ViewSpec], ...]:
    """Return every view with the plugin that offers it. Loads the plugins, once."""
    catalog = open_host().catalog()
    found = catalog.components["view"]
    return tuple(
        (catalog.origin.get(("view", name), "?"), spec)
        for name, spec in sorted(found.items())
        if isinstance(spec, ViewSpec)
    )


def wanted(suites: Iterable[str]) -> list[tuple[str, ViewSpec]]:
    """Return the views for jobs of some suites."""
    here = {*suites}
    return [(owner, spec) for owner, spec in offered() if not spec.suites or here & {*spec.suites}]


def build(owner: str, spec: ViewSpec, run: Run, job_id: str | None) -> Shown | None:
    """Ask one view for its content; None when it has nothing to show here."""
    title = spec.title or spec.name
    try:
        content = load_ref(spec.loader, owner=owner)(run, job_id)
    except Exception as err:  # noqa: BLE001 - a plugin's code may raise anything
        return Shown(title, spec.kind, None, f"`{spec.name}` of `{owner}` failed: {type(err).__name__}: {err}")
    return None if content is None else Shown(title, spec.kind, content, "")
