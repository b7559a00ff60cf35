"""Check a config without running it: does every task load, has it something to train, is every name known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from tracebench_core.errors import MissingRequirementError, TraceBenchError, typed
from tracebench_core.plugins import Catalog, PluginHost, load_ref
from tracebench_core.specs import RunConfig
from tracebench_core.specs.models import ModelConfig
from tracebench_engine.checks.affording import Affording
from tracebench_engine.checks.calibration.record import refusal_of, standing
from tracebench_engine.checks.lacking import addresses, lacks
from tracebench_engine.checks.placing import outlook, refuse_unplaced
from tracebench_engine.checks.preflight import held, note_unknown_names, refuse_unpriced, refuse_unready
from tracebench_engine.checks.trial import Check, Level, Trials
from tracebench_engine.config.problems import dotted
from tracebench_engine.matrix.plan import Plan, TaskChoice, choose_tasks, make_plan
from tracebench_engine.matrix.providers import misspelt_providers
from tracebench_engine.matrix.reserve import unshared_words
from tracebench_gateway.variants import llm_configs


def refuse_wrong_names(config: RunConfig, host: PluginHost, *, environ: Mapping[str, str]) -> None:
    """Raise what is wrong with the names of a config, all of it together; nothing is opened, and nobody is asked what a model needs."""
    plan = make_plan(config, host, environ=environ, mistakes=note_unknown_names(config, host))
    if plan.asks_models:
        refuse_unpriced(plan, environ=environ)


def validate_config(
    config: RunConfig, host: PluginHost, *, environ: Mapping[str, str], trials: Trials | None
) -> Iterator[Check]:
    """Yield a check per task, and with `trials` one per trainer, optimizer, guide and logger, and the expanded matrix.

    With `trials` every task is opened, and its initial candidate measured on one example, in a process of its own.
    """
    mistakes = note_unknown_names(config, host)
    chosen = choose_tasks(config, host, mistakes)
    if mistakes:
        make_plan(config, host, environ=environ, mistakes=mistakes)  # tells these together with those of trainers
    yield from _tried(chosen, trials, host)
    plan = make_plan(config, host, environ=environ)
    if plan.asks_models:
        refuse_unpriced(plan, environ=environ)
        yield from _of_models(config, host, environ=environ, strict=trials is not None)
    if warning := unshared_words(config, len(plan.jobs)):
        yield Check("WARN", "run_budget", warning)
    affording = Affording(plan, host)
    yield from (Check("WARN", "budget", words) for words in affording.advice())
    yield from (Check("OK" if told.is_enough else "WARN", "scoring", told.words) for told in affording.scoring())
    yield from _placed(plan, host, strict=trials is not None)
    if not can_be_made(Path(config.runs_dir)):
        level: Literal["WARN", "FAIL"] = (
            "WARN" if trials is None else "FAIL"
        )  # the run may be meant for another machine
        yield Check(level, "runs_dir", f"`{config.runs_dir}` cannot be written to: trace-bench run --runs-dir DIR")
    if trials is None:
        return
    yield from _lacks(plan, environ=environ)
    buys = affording.proposals()
    for trainer_id, trainer in plan.trainers.items():
        if reason := host.catalog().availability(trainer):
            yield Check("SKIP", trainer_id, reason)
        else:
            check = _resolves(host, "trainer", trainer_id)
            yield check._replace(message=buys.get(trainer_id, "")) if check.level == "OK" else check
    named = {("optimizer", j.optimizer) for j in plan.jobs} | {("guide", j.guide) for j in plan.jobs}
    named |= {("logger", j.logger) for j in plan.jobs}
    for kind, name in sorted((k, n) for k, n in named if n is not None):
        yield _resolves(host, kind, name)
    yield Check(
        "OK", "matrix", f"{len(plan.jobs)} {'job' if len(plan.jobs) == 1 else 'jobs'} expanded deterministically"
    )
    for job in plan.jobs:
        yield Check("OK", f"job {job.job_id}", f"{job.task_id} x {job.called} (seed={job.seed})")


def _tried(chosen: Sequence[TaskChoice], trials: Trials | None, host: PluginHost) -> Iterator[Check]:
    for choice in chosen:
        if names := choice.spec.self_reported:
            words = f"self-reported: {', '.join(names)}; a candidate prints what it likes, and nothing else measures it"
            yield Check("WARN", choice.id, words)
        if choice.spec.unconfined:
            yield Check("WARN", choice.id, "executes what a model writes in the process of the job, in no sandbox")
        if reason := Catalog.availability(choice.spec):
            told = standing(host, choice.id, choice.spec, choice.options).words
            level: Level = "FAIL" if choice.spec.broken and choice.spec.trainable else "SKIP"
            yield Check(level, choice.id, f"{reason}; {told}")
        elif trials is None:
            yield Check("OK", choice.id)
        else:
            check = trials.try_task(choice.id, choice.options, trainable=choice.spec.trainable)
            if check.level == "OK" and check.message:
                yield Check("WARN", choice.id, check.message)
            yield check if check.level != "OK" else _calibrated(check, choice, host)


def _calibrated(check: Check, choice: TaskChoice, host: PluginHost) -> Check:
    """Return the check of a sound task with where it was calibrated; a timed one whose cases did not pass here is none."""
    found = standing(host, choice.id, choice.spec, choice.options)
    if choice.spec.timed and (refusal := refusal_of(found)):
        return Check("FAIL", choice.id, f"{refusal}: trace-bench calibrate {choice.id}")
    if choice.spec.timed and found.entry is not None and not found.entry.verdicts:
        return Check("WARN", choice.id, f"{found.words}, so that a run scores it only with `uncalibrated: score`")
    later = "; the run does so first" if choice.spec.timed and found.place != "here" else ""
    return check._replace(message=f"{found.words}{later}")


def _placed(plan: Plan, host: PluginHost, *, strict: bool) -> Iterator[Check]:
    subject = f"executor {plan.config.executor}"
    try:
        if strict:
            refuse_unplaced(plan, host)
        yield from (Check("OK", subject, words) for words in outlook(plan, host))
    except TraceBenchError as err:
        yield Check("FAIL" if strict else "WARN", subject, f"{err} {typed(err.hint)}".strip())


def _lacks(plan: Plan, *, environ: Mapping[str, str]) -> Iterator[Check]:
    """Say what would keep the whole run from starting on this machine."""
    try:
        refuse_unready(plan, environ=environ)
    except MissingRequirementError as err:
        yield Check("FAIL", "run", f"{err} {err.hint}".strip())
    if held(plan) == "process":
        yield Check("OK", "isolation", "process: candidates of this config would run UNPROTECTED on this machine")


def _of_models(config: RunConfig, host: PluginHost, *, environ: Mapping[str, str], strict: bool) -> Iterator[Check]:
    """Say what the models lack here, a warning as the run may be meant for another machine, and where a host alone is asked."""
    for lack in lacks(config, environ=environ):
        if not (strict and lack.is_sure):  # `_lacks` fails for those
            yield Check("WARN", lack.subject, f"{lack.words} {typed(lack.hint)}")
    for name, near in misspelt_providers(config, host).items():
        words = f"is no provider that is known, and is asked as any server of OpenAI's API. Did you mean `{near}`?"
        yield Check("WARN", f"provider {name}", words)
    for place, name, near in misspelt_fields(config):
        words = f"holds `{name}`, which is sent as it is written, and no provider is known to take it. Did you mean `{near}`?"
        yield Check("WARN", place, words)
    for url, asked in addresses(config, environ=environ).items():
        if url.rstrip("/") != asked.rstrip("/"):
            yield Check("OK", f"base_url {url}", f"names no path: asked at {asked}")
        elif not asked.rstrip("/").endswith("/v1"):
            yield Check("OK", f"base_url {url}", "does not end in `/v1`: asked as it stands, through litellm")


def can_be_made(folder: Path) -> bool:
    """Tell whether a folder can be made or written to, by making one in the nearest that is there: `/proc` says that it can, and cannot."""
    there = next((p for p in (folder.absolute(), *folder.absolute().parents) if p.exists()), Path("/"))
    try:
        with TemporaryDirectory(dir=there, prefix=".trace-bench-"):
            return True
    except OSError:
        return False


def _resolves(host: PluginHost, kind: str, name: str) -> Check:
    try:
        component = host.component(kind, name)  # type: ignore[arg-type]  # one of the kinds above
        if reason := host.catalog().availability(component):
            return Check("SKIP", f"{kind} {name}", reason)
        load_ref(component.loader, owner=name)
    except TraceBenchError as err:
        return Check("FAIL", f"{kind} {name}", str(err))
    return Check("OK", f"{kind} {name}")


ALIKE = 0.8
"""Names that are less alike are taken for what a server of its own takes."""
BODY = frozenset({
    "chat_template", "chat_template_kwargs", "cache_prompt", "do_sample", "dynatemp_range", "enable_thinking",
    "frequency_penalty", "grammar", "guided_choice", "guided_grammar", "guided_json", "guided_regex", "ignore_eos",
    "json_schema", "keep_alive", "length_penalty", "logit_bias", "logprobs", "max_tokens", "metadata", "min_p",
    "min_tokens", "mirostat", "modalities", "options", "parallel_tool_calls", "plugins", "prediction",
    "presence_penalty", "provider", "reasoning", "reasoning_effort", "repeat_last_n", "repeat_penalty",
    "repetition_penalty", "response_format", "route", "safe_prompt", "safety_settings", "seed", "service_tier",
    "skip_special_tokens", "stop", "stop_token_ids", "store", "structured_outputs", "temperature", "tfs_z",
    "thinking", "thinking_budget", "thinking_config", "tool_choice", "tools", "top_a", "top_k", "top_logprobs",
    "top_p", "transforms", "truncate_prompt_tokens", "typical_p", "usage", "use_beam_search", "user", "verbosity",
    "web_search_options",
})  # fmt: skip
"""What OpenAI, Anthropic, Google, Mistral, OpenRouter, vLLM, llama.cpp and Ollama document."""
HEADERS = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "api-key", "authorization", "content-type", "helicone-auth",
    "http-referer", "openai-beta", "openai-organization", "openai-project", "user-agent", "x-api-key",
    "x-goog-api-key", "x-request-id", "x-title",
})  # fmt: skip


def misspelt_fields(config: RunConfig) -> Iterator[tuple[str, str, str]]:
    """Yield the place, the name and the nearest known name of each field of `extra_body` and `extra_headers` that looks misspelt."""
    told: set[tuple[str, str]] = set()
    for llm in llm_configs(config).values():
        models: list[tuple[str, ModelConfig]] = [("llm", llm)]
        for role, own in llm.roles.items():
            models += [(dotted(("llm", "roles", role)), own)]
            models += [(dotted(("llm", "roles", role, "models", name)), model) for name, model in own.models.items()]
        for place, model in models:
            for field, names, known in (
                ("extra_body", model.extra_body, BODY),
                ("extra_headers", model.extra_headers, HEADERS),
            ):
                for name in names:
                    folded = name.casefold() if known is HEADERS else name
                    near = get_close_matches(folded, known, n=1, cutoff=ALIKE)
                    if folded not in known and near and (f"{place}.{field}", name) not in told:
                        told.add((f"{place}.{field}", name))
                        yield f"{place}.{field}", name, near[0]
