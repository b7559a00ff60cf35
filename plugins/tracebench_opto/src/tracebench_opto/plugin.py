"""The plugin's hooks: specs only. Where the installed opto has trainers of its own, they are found and tried out in other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Exclusion, OptimizerSpec, StubFormatSpec, TrainerSpec
from tracebench_opto.bridge import features
from tracebench_opto.discovery.records import Discovered
from tracebench_opto.discovery.specs import exclusions, trainer_specs
from tracebench_opto.proposers.specs import optimizer_specs
from tracebench_opto.trainers.specs import REFUSED, TRAINER_SPECS

_EXCLUDED: set[str] = set()


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the option `excluded`: class names that discovery is not to try."""
    _EXCLUDED.update(settings.get("options", {}).get("excluded", ()))
    _discovered.cache_clear()


@hookimpl
def tracebench_optimizers() -> Iterable[OptimizerSpec]:
    """Offer Trace's optimizers."""
    return optimizer_specs()


@hookimpl
def tracebench_trainers() -> Iterable[TrainerSpec]:
    """Offer our search trainers, and those of the installed opto."""
    return [*TRAINER_SPECS, *trainer_specs(_discovered())]


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
    return [*(Exclusion(id=name, reason=why) for name, why in REFUSED.items()), *exclusions(_discovered())]


@cache
def _discovered() -> list[Discovered]:
    if not features.has_trainers():
        return []
    from tracebench_opto.discovery.catalogue import discover  # noqa: PLC0415 - only where there is something to find

    return discover(excluded=_EXCLUDED)
