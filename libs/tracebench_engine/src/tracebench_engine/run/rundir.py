"""Make a run directory from a plan, or find the plan again in one."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.ids import canonical_json, content_hash, run_id
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.discovery import core_version
from tracebench_core.specs import PUBLIC, RunConfig, TaskSpec, TrainerSpec
from tracebench_engine.checks.preflight import held
from tracebench_engine.config.roots import absolute_root
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.run.continuing import Extend, as_installed, continued_jobs
from tracebench_gateway.credentials import secret_environ
from tracebench_gateway.models import every_model, prices_of
from tracebench_gateway.variants import llm_configs
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.keys import forget
from tracebench_runs.journal.trust import Trust, read_trust
from tracebench_runs.meta.environment import GitState, changed_since, read_git
from tracebench_runs.meta.manifest import read_head, write_manifest
from tracebench_runs.meta.meta import read_config, write_config, write_environment
from tracebench_runs.meta.planned import kinds_of, read_jobs
from tracebench_runs.meta.salt_files import close_secrets, read_salts, write_salts
from tracebench_runs.prices import PriceTable
from tracebench_runs.storage import sharing
from tracebench_runs.storage.disk import disk_errors_explained
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import RunLock
from tracebench_runs.storage.regular import read_whole

log = logging.getLogger(__name__)

NOT_IN_HASH = {
    "run_id",
    "runs_dir",
    "max_workers",
    "eval_workers",
    "resume",
    "fail_fast",
    "retries",
    "executor",
    "share",
    "uncalibrated",
}


class Opened(NamedTuple):
    """A run directory that is locked, and the jobs of the run."""

    layout: RunLayout
    plan: Plan


@contextmanager
def open_run_dir(
    plan: Plan, host: PluginHost, *, root: Path | None, environ: Mapping[str, str], extend: Extend = False
) -> Iterator[Opened]:
    """Make the run's directory and write its meta files, or continue the one that exists; lock it.

    With a `run_id` that exists, the jobs that are there stay, and with `extend` a changed config may add to them, or only seeds.

    Raises:
        RunDirError: when the folder cannot be made, another process is working on it, or it is the run of another config.
    """
    git = read_git(Path.cwd())
    config_hash = hash_config(plan.config)
    layout = _make_folder(plan.config, config_hash, git)
    with disk_errors_explained(layout), RunLock(layout):
        config = plan.config.model_copy(update={"run_id": layout.run_id})
        exists = layout.manifest.exists() or layout.mirror.exists()
        close_secrets(layout)
        if not exists and not layout.journal("main").exists():
            forget(layout, layout.journal("main").name)  # that of an earlier run of this name
        jobs = continued_jobs(layout, plan, config_hash=config_hash, extend=extend) if exists else plan.jobs
        if not exists or len(jobs) > len(read_jobs(layout)) or read_head(layout).get("config_hash") != config_hash:
            before = read_head(layout) if exists else {}
            if exists:
                stored_plan(layout, config, host)  # refuses what its jobs no longer find, before anything is written
            write_config(layout, config)
            write_environment(
                layout,
                git=git,
                secrets=sorted(secret_environ(environ, *llm_configs(config).values())),
                isolation=held(plan),
            )
            if plan.salts is not None:
                write_salts(layout, plan.salts)
            head = _head(plan, host, config_hash=config_hash, root=root)
            head["created_at"] = before.get("created_at", head["created_at"])
            write_manifest(layout, head, jobs)
            with Journal(layout) as journal:
                declare_meta(layout, journal)
        yield Opened(layout, as_installed(stored_plan(layout, config, host), host) if exists else plan)


class Reopened(NamedTuple):
    """What a run directory says of its run."""

    layout: RunLayout
    config: RunConfig
    root: Path | None
    trust: Trust
    """As it was when the run was not locked yet."""


def reopen_run_dir(path: Path) -> Reopened:
    """Read a run's config and root from its directory.

    Raises:
        RunDirError: when the folder is no run, or says of itself what its journal does not vouch for.
    """
    layout = RunLayout(path)
    if not path.is_dir():
        raise RunDirError(f"Run directory `{path}` does not exist.", hint="trace-bench runs")
    head = read_head(layout)
    trust = read_trust(layout)
    close_secrets(layout)
    for file in (layout.manifest, layout.config_snapshot, layout.salts):
        trust.demand_meta(layout, file)
    for words in changed_since(_environment(layout)):
        log.warning("since the run began: %s; its jobs say which of them ran with what (`runtime`)", words)
    return Reopened(layout, read_config(layout), Path(head["root"]) if head.get("root") else None, trust)


def _environment(layout: RunLayout) -> Mapping[str, Any]:
    try:
        env = json.loads(read_whole(layout.env))
    except (OSError, ValueError):
        return {}
    return env if isinstance(env, dict) else {}


def glance_at_config(path: Path) -> RunConfig:
    """Return a run's config before its journal was asked whether it is the run's: for what is prepared while that is not known.

    Raises:
        RunDirError: as `reopen_run_dir`.
    """
    layout = RunLayout(path)
    try:
        read_head(layout)
        return read_config(layout)
    except RunDirError:
        return reopen_run_dir(path).config


def stored_plan(layout: RunLayout, config: RunConfig, host: PluginHost) -> Plan:
    """Return the plan as it was written, with the specs that its jobs name: resuming never plans anew.

    Raises:
        RunDirError: when the salts of its jobs are gone.
    """
    jobs = read_jobs(layout)
    kinds = [*kinds_of(jobs)]
    trainers: dict[str, TrainerSpec] = {}
    for name in dict.fromkeys(job.trainer_id for job in kinds):
        spec = host.component("trainer", name)
        if isinstance(spec, TrainerSpec):
            trainers[name] = spec
    tasks = {task_id: host.task(task_id) for task_id in dict.fromkeys(job.task_id for job in kinds)}
    salts = read_salts(layout.salts)
    if any(job.salt not in {None, PUBLIC, salts.digest if salts is not None else None} for job in kinds):
        raise RunDirError(
            f"`{layout.salts}` does not hold what the run's instances are drawn from.",
            hint=f"trace-bench fsck {quoted(layout.path)} --repair",
        )
    return Plan(config=config, jobs=jobs, tasks=tasks, trainers=trainers, salts=salts)


def hash_config(config: RunConfig) -> str:
    """Return the hash by which equal configs are found: of everything that can change a result."""
    return content_hash(canonical_json(config.model_dump(mode="json", exclude=NOT_IN_HASH)))


def known_prices(plan: Plan) -> dict[str, Any]:
    """Return what a million tokens of each model cost, null where nobody told it."""
    if not plan.asks_models:
        return {}
    models = {job.llm_variant: job.models for job in kinds_of(plan.jobs)}
    found: dict[str, Any] = {}
    for name, llm in llm_configs(plan.config).items():
        table = PriceTable(prices_of(llm, models.get(name, {})))
        for _, _, identity in every_model(models.get(name, {})):
            price = table.price(identity)
            told = None if price is None else price.model_dump(exclude_none=True)
            found[f"{identity.provider}/{identity.model}"] = told
    return found


def _make_folder(config: RunConfig, config_hash: str, git: GitState) -> RunLayout:
    runs = Path(config.runs_dir)
    try:
        runs.mkdir(parents=True, exist_ok=True)
        if config.run_id is not None:
            folder = runs / config.run_id
            try:
                sharing.make_root(folder, config.share)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            return RunLayout(folder)
        for attempt in range(1000):
            digest = content_hash(canonical_json([config_hash, git.commit, attempt]))
            folder = runs / run_id(datetime.now(UTC), digest)
            try:
                sharing.make_root(folder, config.share)
            except FileExistsError:
                continue
            return RunLayout(folder)
    except OSError as err:
        raise RunDirError(
            f"The run directory cannot be made in `{runs}`: {err.strerror}.", hint="trace-bench run --runs-dir DIR"
        ) from err
    raise RunDirError(f"`{runs}` has too many runs of this second.")


def _head(plan: Plan, host: PluginHost, *, config_hash: str, root: Path | None) -> dict[str, Any]:
    used = [("task", i) for i in plan.tasks] + [("trainer", i) for i in plan.trainers]
    return {
        "config_hash": config_hash,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "root": absolute_root(root),
        "versions": {"core": core_version(), "plugins": sorted({host.version_of(kind, i) for kind, i in used})},
        "tasks": {i: _task_entry(spec, plan) for i, spec in plan.tasks.items()},
        "trainers": {i: spec.source.model_dump() if spec.source else None for i, spec in plan.trainers.items()},
        "sandbox": held(plan),
        "prices": known_prices(plan),
    }


def _task_entry(spec: TaskSpec, plan: Plan) -> dict[str, Any]:
    """Return what scores of a task depend on: runs that differ in it are not pooled."""
    entry: dict[str, Any] = {
        **spec.version.model_dump(),
        "source": spec.source,
        "target": spec.target,
        "score_bounds": spec.score_bounds.model_dump(),
        "aggregate": spec.aggregate,
    }
    if spec.salted:
        entry["salt"] = plan.salts.hashes if plan.salts is not None else PUBLIC
    return entry
