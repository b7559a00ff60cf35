"""What may be set of Trace's optimizers, by class."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tracebench_core.proposing.asking import ProposerSettings


class TraceSettings(ProposerSettings):
    """What all of them take."""

    objective: str | None = None
    """Said in place of the optimizer's own instruction and the task's objective."""
    max_tokens: int | None = Field(default=None, gt=0)
    """For each reply; the config of the model decides when None."""


class OptoPrimeSettings(TraceSettings):
    """OptoPrime, and OptoPrimeV2 where it is found."""

    memory_size: int = Field(default=0, ge=0)
    """Earlier candidates of the lineage that are shown with their feedback."""
    include_example: bool = False
    """Show an example of a problem and its answer."""


class OPROSettings(TraceSettings):
    """OPRO, and OPROv2 where it is found. It sees nothing but earlier values with their feedback."""

    memory_size: int = Field(default=20, ge=0)
    """Earlier candidates of the lineage that are shown; the paper (arXiv 2309.03409, section 5.2) shows 20."""


class OptoPrimeMultiSettings(OptoPrimeSettings):
    """OptoPrimeMulti: several replies at falling temperatures, of which one is taken."""

    num_responses: int = Field(default=5, gt=0)
    temperature_range: tuple[float, float] | None = None
    """Highest and lowest; the optimizer's own (1.3 and 0) when None."""


class OptoPrimeMultiV2Settings(OptoPrimeSettings):
    """OptoPrimeMultiV2 of newer builds, whose replies are generated and selected in the named ways."""

    num_responses: int = Field(default=3, gt=0)
    generation_technique: str | None = None
    selection_technique: str | None = None


def constructor_arguments(settings: TraceSettings) -> dict[str, Any]:
    """Return what is handed to the optimizer's constructor; `None` leaves the optimizer's own default."""
    ours = {*ProposerSettings.model_fields, "objective", "max_tokens", "temperature_range"}
    own = settings.model_dump(exclude=ours)
    return {name: value for name, value in own.items() if value is not None}
