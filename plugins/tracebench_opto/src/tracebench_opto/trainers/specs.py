"""The search trainers as data; importing this imports no trainer."""

from __future__ import annotations

from tracebench_core.specs import TrainerSpec

_PACKAGE = "tracebench_opto.trainers"
_COMMON = {"batch_size": "train_batch_size", "threads": "num_threads"}


def _spec(
    name: str, module: str, *, title: str, citation: str = "", aliases: dict[str, str] | None = None
) -> TrainerSpec:
    """Return the spec of a trainer whose module offers `build`, `Settings` and `estimate_cost`."""
    return TrainerSpec(
        name=name,
        loader=f"{_PACKAGE}.{module}:build",
        settings=f"{_PACKAGE}.{module}:Settings",
        cost=f"{_PACKAGE}.{module}:estimate_cost",
        aliases=_COMMON | (aliases or {}),
        title=title,
        citation=citation,
        default_optimizer="OptoPrime",
        preload=(f"{_PACKAGE}.{module}",),
    )


TRAINER_SPECS: tuple[TrainerSpec, ...] = (
    _spec(
        "PrioritySearch",
        "priority_search",
        title="Expand the most urgent candidates of a priority queue",
        aliases={
            "ps_steps": "num_steps",
            "ps_batches": "num_batches",
            "ps_candidates": "num_candidates",
            "ps_proposals": "num_proposals",
            "ps_mem_update": "memory_update_frequency",
        },
    ),
)
