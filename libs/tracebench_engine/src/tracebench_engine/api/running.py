"""Run a config, prepare a run of it, and go on with a run."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from tracebench_core.contracts import Reporter
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import Budget, Resume, RunConfig
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.placing import refuse_unplaced
from tracebench_engine.checks.preflight import note_unknown_names, refuse_unready
from tracebench_engine.matrix.plan import Plan, make_plan
from tracebench_engine.run.continuing import Extend, as_installed, record_resume, refuse_unknown_error, with_run_budget
from tracebench_engine.run.rundir import open_run_dir, reopen_run_dir, stored_plan
from tracebench_engine.run.runner import Runner, RunSummary
from tracebench_engine.run.services import RunServices
from tracebench_gateway.credentials import provider_environ
from tracebench_runs.journal.trust import Trust
from tracebench_runs.storage.disk import disk_errors_explained
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import RunLock


def run(
    config: RunConfig,
    *,
    root: Path | None = None,
    force: bool = False,
    limit: int | None = None,
    extend: Extend = False,
    reporter: str = "plain",
    stream: TextIO | None = None,
) -> RunSummary:
    """Run a config to its end.

    `limit` keeps the first jobs of the plan; `force` runs again what is finished; `extend` adds what the config has beyond a run of that
    `run_id` and keeps what is there (`"seeds"`: nothing but further seeds of what is there); `reporter` names a live view, written to
    `stream` (standard error when None).

    Raises:
        TraceBenchError: before any job starts, when the run cannot work.
    """
    host = open_host(root=root, plugins=config.plugins)
    full = make_plan(config, host, environ=provider_environ(), draw=True, mistakes=note_unknown_names(config, host))
    chosen = full if limit is None else replace(full, jobs=full.jobs[:limit])
    refuse_unready(chosen, environ=provider_environ())
    refuse_unplaced(chosen, host)
    with open_run_dir(chosen, host, root=root, environ=provider_environ(), extend=extend) as (layout, planned):
        mode: Resume = "none" if force else config.resume
        return _run(planned, host, layout, root=root, mode=mode, reporter=_reporter(host, reporter, stream))


def prepare_run(config: RunConfig, *, root: Path | None = None, host: PluginHost | None = None) -> Path:
    """Write what would be run into a run directory of its own, from which `resume` can run it, and return its manifest.

    Raises:
        ConfigError: for what cannot be resolved.
        NothingSelectedError: when no task is selected.
        RunDirError: when the folder cannot be written.
    """
    used = host or open_host(root=root, plugins=config.plugins)
    planned = make_plan(config.model_copy(update={"run_id": None}), used, environ=os.environ)
    with open_run_dir(planned, used, root=root, environ=os.environ) as (layout, _):
        return layout.manifest


class BenchRunner:
    """Another name of `run`, for programs that hold a runner: `BenchRunner(config).run()`."""

    def __init__(self, config: RunConfig, *, root: Path | None = None) -> None:
        self.config = config
        self.root = root

    def run(self, **options: Any) -> RunSummary:
        """Run the config to its end; `options` are those of `run`."""
        return run(self.config, root=self.root, **options)


def resume(
    run_dir: str | Path,
    *,
    failed: bool = False,
    error_type: str | None = None,
    run_budget: Budget | None = None,
    scoring_budget: Budget | None = None,
    max_workers: int | None = None,
    executor: str | None = None,
    reporter: str = "plain",
    stream: TextIO | None = None,
) -> RunSummary:
    """Continue a run: what is finished stays, and with `failed` what failed (with `error_type`, with that error) is run again.

    The caps that `run_budget` and `scoring_budget` set take the place of the run's own, and `executor` that of the one that had its jobs.

    Raises:
        RunDirError: when the folder is no run, or another process works on it.
        UsageError: when the run has spent a new cap already, or no job failed with `error_type`.
        TraceBenchError: when there is no such executor.
    """
    layout, config, root, trust = reopen_run_dir(Path(run_dir))
    if max_workers is not None:
        config = config.model_copy(update={"max_workers": max_workers})
    if run_budget is not None:
        config = with_run_budget(config, run_budget, layout=layout)
    if scoring_budget is not None:
        changed = {str(axis): cap for axis, cap in scoring_budget.caps().items()}
        config = config.model_copy(update={"scoring_budget": config.scoring_budget.model_copy(update=changed)})
    if error_type is not None:
        refuse_unknown_error(layout, error_type)
    host = open_host(root=root, plugins=config.plugins)
    if executor is not None:
        host.component("executor", executor)
        config = config.model_copy(update={"executor": executor})
    with disk_errors_explained(layout), RunLock(layout):
        record_resume(
            layout, failed=failed, error_type=error_type, run_budget=run_budget, scoring_budget=scoring_budget
        )
        stored = as_installed(stored_plan(layout, config, host), host)
        refuse_unready(stored, environ=provider_environ())
        refuse_unplaced(stored, host)
        mode: Resume = "failed" if failed or error_type is not None else "auto"
        shown = _reporter(host, reporter, stream)
        return _run(stored, host, layout, root=root, mode=mode, reporter=shown, error_type=error_type, known=trust)


def _run(
    plan_: Plan,
    host: PluginHost,
    layout: RunLayout,
    *,
    root: Path | None,
    mode: Resume,
    reporter: Reporter,
    error_type: str | None = None,
    known: Trust | None = None,
) -> RunSummary:
    runner = Runner(plan_, host, layout, reporter=reporter, resume=mode, error_type=error_type, known=known)
    try:
        return runner.run(
            lambda: RunServices(plan_, host, layout, root=root, environ=provider_environ(), reuse=mode != "none")
        )
    except KeyboardInterrupt as err:
        begun = "No job had begun. " if next(layout.job_folders(), None) is None else ""
        err.add_note(f"{begun}Continue:  trace-bench resume {shlex.quote(str(layout.path))}")
        raise


def _reporter(host: PluginHost, name: str, stream: TextIO | None) -> Reporter:
    built: Reporter = load_ref(host.component("reporter", name).loader, owner=name)(stream or sys.stderr)
    return built
