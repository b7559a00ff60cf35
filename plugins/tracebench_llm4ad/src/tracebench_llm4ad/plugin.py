"""The hooks of the suite; light, so that listing tasks imports no numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.errors import ConfigError, quoted
from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import SuiteSpec, TaskSpec, ViewSpec
from tracebench_llm4ad.adapters import catalog as adapters
from tracebench_llm4ad.catalog import SPECS
from tracebench_llm4ad.cobench.catalog import available_specs
from tracebench_llm4ad.cobench.folder import configure
from tracebench_llm4ad.table import CITATION


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the root: a tree of foreign tasks, else the folder that holds the data of CO-Bench.

    Raises:
        ConfigError: an option that there is not, or a folder that there is not.
    """
    options = settings.get("options") or {}
    refuse_unknown_options("llm4ad", options, ("root", "cobench_data"))
    for name, place in options.items():
        from tracebench_llm4ad.adapters.tree import INSTALLED  # noqa: PLC0415 - most listings have no folder

        if place != INSTALLED and not Path(place).expanduser().is_dir():
            raise ConfigError(
                f"`plugins.options.llm4ad.{name}`: there is no folder `{place}`.", hint=f"ls -d {quoted(place)}"
            )
    configure(settings, root_is_tree=adapters.configure(settings))


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite; ids without a prefix are looked up here first."""
    return SuiteSpec(
        title="LLM4AD",
        description="Algorithm design: write the heuristic, policy or equation at the heart of a trusted simulation.",
        owns_bare_ids=True,
        citation=CITATION,
    )


@hookimpl
def tracebench_tasks() -> tuple[TaskSpec, ...]:
    """Return all tasks; those whose extra is missing say so through their requirements."""
    own = (*SPECS, *available_specs())
    return (*own, *adapters.rooted_specs([spec.name for spec in own]))


@hookimpl
def tracebench_views() -> tuple[ViewSpec, ...]:
    """Return the pictures of what a job's candidates made of an instance: of one held out where there is one, and of one that chooses."""
    views = f"{__package__}.drawings.view"
    made = "What the first and the best candidate made of one instance"
    return (
        ViewSpec(name="solution", kind="picture", title=made, suites=("llm4ad",), loader=f"{views}:picture"),
        ViewSpec(name="solutions", kind="frames", title="Solutions", suites=("llm4ad",), loader=f"{views}:frames"),
    )
