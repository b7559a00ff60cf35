"""The plugin's hooks: specs only. Loading it starts nothing: the installed opto's own trainers are looked for when they are listed, and
tried out, each alone and in another process, when it is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import Exclusion, OptimizerSpec, StubFormatSpec, SuiteSpec, TaskSpec, TrainerSpec
from tracebench_opto.bridge import features
from tracebench_opto.discovery.records import Discovered
from tracebench_opto.discovery.specs import anything_specs, exclusions, trainer_specs
from tracebench_opto.proposers.specs import optimizer_specs
from tracebench_opto.tasks.specs import TASK_SPECS
from tracebench_opto.trainers.specs import REFUSED, TRAINER_SPECS

if TYPE_CHECKING:
    from tracebench_opto.discovery.catalogue import Effort

_EXCLUDED: set[str] = set()
_KNOWN: dict[str, Discovered] = {}
"""What this process knows of the installed opto's own trainers, by id."""


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the option `excluded`: class names that discovery is not to try."""
    refuse_unknown_options("opto", settings.get("options") or {}, ("excluded",))
    _EXCLUDED.update(settings.get("options", {}).get("excluded", ()))
    _KNOWN.clear()


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Traced examples",
        description="Trace's first examples, with their graphs.",
        licence="MIT",
        calibrations="tracebench_opto.tasks.calibrations:cases",
    )


@hookimpl
def tracebench_tasks() -> Iterable[TaskSpec]:
    """Offer the traced examples."""
    return TASK_SPECS


@hookimpl
def tracebench_optimizers() -> Iterable[OptimizerSpec]:
    """Offer Trace's optimizers."""
    return optimizer_specs()


@hookimpl
def tracebench_trainers() -> Iterable[TrainerSpec]:
    """Offer our search trainers, and those of the installed opto that were tried out before."""
    return [*TRAINER_SPECS, *anything_specs(), *trainer_specs(_look("remember"))]


@hookimpl
def tracebench_find_trainers(name: str | None) -> Iterable[TrainerSpec]:
    """List the installed opto's own trainers, or try out the one of this name."""
    return trainer_specs(_look("list") if name is None else _look("try", only=name))


@hookimpl
def tracebench_stub_formats() -> Iterable[StubFormatSpec]:
    """Return how the stub model answers Trace's optimizers."""
    formats = "tracebench_opto.proposers.stub_formats"
    return [
        StubFormatSpec(name="opto-1-textgrad", loader=f"{formats}:improved_variable"),
        StubFormatSpec(name="opto-2-xml", loader=f"{formats}:tagged_variables"),
        StubFormatSpec(name="opto-3-json", loader=f"{formats}:suggestion"),
    ]


@hookimpl
def tracebench_exclusions() -> Iterable[Exclusion]:
    """Name what users know from OpenTrace and is not offered, and the classes of the installed opto that are not."""
    return [*(Exclusion(id=name, reason=why) for name, why in REFUSED.items()), *exclusions([*_KNOWN.values()])]


def _look(effort: Effort, *, only: str | None = None) -> list[Discovered]:
    if not features.has_trainers():
        return []
    from tracebench_opto.discovery.catalogue import discover  # noqa: PLC0415 - only where there is something to find

    found = discover(excluded=_EXCLUDED, effort=effort, only=only)
    _KNOWN.update({d.id: d for d in found})
    return found
