"""Discovered trainers as specs, and as exclusions where they are not to be offered: none that was found is left out."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.specs import Exclusion, Source, TrainerSpec
from tracebench_opto.bridge import features
from tracebench_opto.discovery.records import Discovered
from tracebench_opto.discovery.vocabulary import aliases_of, settings_of

LOADERS = "tracebench_opto.discovery.loaders"
ANYTHING = "opto:optimize_anything"


def trainer_specs(discovered: Sequence[Discovered]) -> list[TrainerSpec]:
    """Return a spec for each class, also for those that are excluded; one that cannot run says why."""
    return [_spec(d) for d in discovered]


def anything_specs() -> list[TrainerSpec]:
    """Return the spec of `optimize_anything`, where this build has it."""
    if features.anything() is None:
        return []
    return [
        TrainerSpec(
            name=ANYTHING,
            loader="tracebench_opto.discovery.anything:build",
            settings="tracebench_opto.discovery.anything:Settings",
            title="OpenTrace's optimize_anything: a proposal from all feedback on the best",
            citation="OpenTrace, https://github.com/AgentOpt/OpenTrace",
            default_optimizer=_default_optimizer(),
        )
    ]


def exclusions(discovered: Sequence[Discovered]) -> list[Exclusion]:
    """Return the classes that are listed and not offered, with the reason."""
    return [Exclusion(id=d.id, reason=d.verdict.reason) for d in discovered if d.verdict.status == "excluded"]


def _spec(discovered: Discovered) -> TrainerSpec:
    found, verdict = discovered.found, discovered.verdict
    return TrainerSpec(
        name=discovered.id,
        loader=f"{LOADERS}:build_{found.identifier}",
        settings=f"{LOADERS}:Settings_{found.identifier}",
        setting_aliases=aliases_of(settings_of(found.constructor, found.train)),
        title=f"{found.qualname} of the installed opto"
        + (", not tried out yet" if verdict.status == "untried" else ""),
        description=f"Runs {verdict.reason}." if verdict.status == "ok" and verdict.reason else "",
        requires=verdict.requires,
        broken=verdict.reason if verdict.status == "broken" else "",
        default_optimizer=_default_optimizer(),
        source=Source(
            module=found.module, qualname=found.qualname, file_hash=found.file_hash, distribution="trace-opt"
        ),
    )


def _default_optimizer() -> str:
    return "OptoPrimeV2" if "OptoPrimeV2" in features.optimizers() else "OptoPrime"
