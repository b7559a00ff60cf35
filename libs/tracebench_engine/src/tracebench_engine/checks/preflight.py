"""What must hold before the first job starts: keys, a sandbox as strong as demanded, prices for capped money."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_core.specs import LLMConfig, RunConfig
from tracebench_engine.checks.lacking import lack_of
from tracebench_engine.matrix.mistakes import Mistakes
from tracebench_engine.matrix.plan import Plan
from tracebench_gateway.models import missing_key, resolve_models, unmet_needs, unpriced_models
from tracebench_gateway.routing import INSTALL, lacks_package
from tracebench_gateway.variants import llm_configs
from tracebench_runs.meta.planned import iter_jobs, kinds_of
from tracebench_runs.storage.layout import RunLayout

if TYPE_CHECKING:
    from tracebench_sandbox.launch import Level

log = logging.getLogger(__name__)

MOST_SHOWN = 8


def refuse_unready(plan: Plan, *, environ: Mapping[str, str]) -> None:
    """Raise when the run cannot work on this machine at all; a task that lacks something of its own is skipped later.

    Raises:
        MissingRequirementError: for a missing key or client, or a sandbox weaker than the config demands.
        ConfigError: for a cap in USD on a model without a price, and for a replay of seeds that were not recorded.
    """
    config = plan.config
    if plan.asks_models:
        for llm in llm_configs(config).values():
            if lacking := lacks_package(llm, mode=config.mode, environ=environ):
                raise MissingRequirementError(lacking.words, hint=INSTALL)
            missing = missing_key(llm, mode=config.mode, environ=environ)
            if missing is None:
                if config.mode == "real":
                    refuse_unmet(llm, environ=environ)
                continue
            raise MissingRequirementError(
                f"Mode `real` needs `{missing.variable}` for provider `{missing.provider}`, and it is not set.",
                hint=f"export {missing.variable}=…   (or `mode: stub` for a run without a model)",
            )
        refuse_unpriced(plan, environ=environ)
        refuse_unrecorded(plan)
    refuse_unprotected(plan)


def refuse_unmet(llm: LLMConfig, *, environ: Mapping[str, str]) -> None:
    """Raise MissingRequirementError for what a provider needs beside a key: an address, a region, a project, a version."""
    for identity, need in unmet_needs(llm, environ=environ):
        lack = lack_of(identity, need)
        raise MissingRequirementError(lack.words, hint=lack.hint)


def refuse_unrecorded(plan: Plan) -> None:
    """Raise ConfigError for seeds that a replayed run did not have: answered as other seeds were, they would be copies of those."""
    config = plan.config
    if config.mode != "replay" or config.replay_from is None:
        return
    recorded = {job.seed for job in iter_jobs(RunLayout(Path(config.replay_from)))}
    unknown = sorted({job.seed for job in plan.jobs} - recorded)
    if unknown:
        shown = ", ".join(map(str, unknown[:MOST_SHOWN])) + (", …" if len(unknown) > MOST_SHOWN else "")
        raise ConfigError(
            f"`seeds`: {shown} were not recorded in `{config.replay_from}`; a replay of them would repeat the answers to other seeds.",
            hint=f"-o 'seeds={sorted(recorded)[:MOST_SHOWN]}', or record them: mode: stub or real, with llm.record: true",
        )


def note_unknown_names(config: RunConfig, host: PluginHost) -> Mistakes:
    """Return a mistake for an executor that nobody offers, and for options of a plugin that is not installed: a typo must not vanish."""
    mistakes = Mistakes()
    with mistakes.at("executor"):
        host.component("executor", config.executor)
    for name in config.plugins.options:
        with mistakes.at("plugins", "options", name):
            if name not in host.records:
                raise ConfigError(
                    f"`plugins.options.{name}`: no plugin `{name}` is installed.{did_you_mean(name, host.records)}",
                    hint="trace-bench plugins",
                )
    for i, name in enumerate(config.plugins.exclude):
        with mistakes.at("plugins", "exclude", i):
            _note_misspelt(name, host.catalog())
    return mistakes


def _note_misspelt(name: str, catalog: Catalog) -> None:
    """Raise for an id that nobody offers and that is much like one; what is not installed at all may be excluded."""
    offered = {*catalog.tasks, *(each for parts in catalog.components.values() for each in parts)}
    if name not in offered and (near := did_you_mean(name, offered)):
        raise ConfigError(f"`{name}` is offered by nobody.{near}", hint="trace-bench list-tasks")


def refuse_unprotected(plan: Plan) -> None:
    """Raise MissingRequirementError when code of candidates would be held less well than the config demands; warn when it is not held."""
    found = held(plan)
    if found:
        from tracebench_sandbox.launch import refuse_weak  # noqa: PLC0415 - asked only when a task needs it

        refuse_weak(found, plan.config.sandbox.require)
    if found == "process":
        log.warning(
            "candidates run UNPROTECTED: `sandbox.require: process` allows it, and this host offers nothing better"
        )


def held(plan: Plan) -> Level | Literal[""]:
    """Return how this machine holds the code of candidates; empty when no task of the plan has any."""
    if not any(spec.sandbox is not None for spec in plan.tasks.values()):
        return ""
    from tracebench_sandbox.host import level  # noqa: PLC0415 - as above

    return level()


def refuse_unpriced(plan: Plan, *, environ: Mapping[str, str]) -> None:
    """Raise ConfigError when money is capped, per job or per run, and a model's price is unknown: such a cap cannot be kept."""
    config = plan.config
    field = next(
        (name for name in ("budget", "run_budget", "scoring_budget") if getattr(config, name).usd is not None), None
    )
    if field is None:
        return
    of_jobs = {job.llm_variant: job.models for job in kinds_of(plan.jobs)}
    unpriced = (
        identity
        for name, llm in llm_configs(config).items()
        for identity in unpriced_models(
            llm, of_jobs.get(name) or resolve_models(llm, mode=config.mode, environ=environ)
        )
    )
    for identity in unpriced:
        raise ConfigError(
            f"`{field}.usd` cannot be kept: the price of `{identity.provider}/{identity.model}` is unknown.",
            hint=f"give it in `llm.prices`:  {{{identity.model}: {{prompt: 0.5, completion: 1.5}}}}   (USD per million tokens)",
        )
