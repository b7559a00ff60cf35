"""`run` and `resume`: run a config, continue a run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tracebench_core.errors import RunDirError, quoted
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import (
    AsJson,
    ConfigFile,
    ExecutorName,
    MaxCalls,
    MaxEvaluations,
    MaxSeconds,
    MaxTokens,
    MaxUsd,
    MaxWorkers,
    Overrides,
    Root,
    RunsDir,
    budget_of,
)
from tracebench_engine.api.keyless import fork_helpers, go_on_without_keys
from tracebench_engine.cli.running.ending import Verbose, finish
from tracebench_engine.cli.running.reading import read_config

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig
    from tracebench_engine.api.rundirs.control import RunEntry

KEEP_LOGGER = frozenset({"default", "config"})
NO_LOGGER = frozenset({"none", "null", "off", "disable", "disabled"})


class ResumeMode(StrEnum):
    """What to do with jobs that an earlier start of the same run has finished."""

    auto = "auto"
    failed = "failed"
    none = "none"


def run(
    *,
    config: ConfigFile,
    root: Root = None,
    runs_dir: RunsDir = None,
    max_workers: MaxWorkers = None,
    executor: ExecutorName = None,
    force: Annotated[bool, typer.Option("--force", help="Run every job again, finished ones too.")] = False,
    resume_mode: Annotated[
        ResumeMode | None,
        typer.Option("--resume", help="How to treat jobs that an earlier start finished: `auto` skips them."),
    ] = None,
    job_timeout: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="SECONDS", help="End a job after this long; 0: never.  [default: 0, in real mode 600]"
        ),
    ] = None,
    logger: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The logger of all trainers; `none` for none, `config` as written."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N jobs of the matrix.")] = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend", help="Add to the run of the config's `run_id` the jobs that it lacks; keep the others."
        ),
    ] = False,
    extend_seeds: Annotated[
        bool,
        typer.Option("--extend-seeds", help="Add further seeds to the run of the config's `run_id`, and nothing else."),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return at once; the run goes on when the terminal is closed.")
    ] = False,
    override: Overrides = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run every job of a config. The jobs are tasks x trainers x variants x seeds."""
    from tracebench_engine import api
    from tracebench_engine.api.configs import placing

    if detach:
        run_detached(sys.argv[1:], runs_dir=_runs_dir(config, override, runs_dir), as_json=as_json)
    flags = {
        "runs_dir": runs_dir,
        "max_workers": max_workers,
        "executor": executor,
        "job_timeout": job_timeout,
        "resume": resume_mode,
    }
    changes = [
        *(override or ()),
        *(f"{field}={json.dumps(value, ensure_ascii=False)}" for field, value in flags.items() if value is not None),
    ]
    settings = read_config(config, changes, root=root)
    if logger is not None:
        settings = with_logger(settings, logger)
    go_on_without_keys(settings)
    fork_helpers(settings)
    with placing(config, overrides=changes):
        summary = api.run(
            settings,
            root=root,
            force=force,
            limit=limit,
            extend="seeds" if extend_seeds else extend,
            reporter=reporter_name(as_json=as_json),
            stream=sys.stdout if as_json else sys.stderr,
        )
    finish(summary, as_json=as_json, verbose=verbose)


def resume(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Run jobs again that failed or timed out.")] = False,
    error_type: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --failed: only jobs that failed with this type of error.")
    ] = None,
    max_evaluations: MaxEvaluations = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    max_scoring_calls: MaxCalls = None,
    max_scoring_tokens: MaxTokens = None,
    max_scoring_usd: MaxUsd = None,
    max_workers: MaxWorkers = None,
    executor: ExecutorName = None,
    runs_dir: RunsDir = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Continue a run. What is finished is verified and skipped. A cap that is given replaces the run's own, or that of scoring."""
    from tracebench_engine import api

    caps = budget_of(
        evaluations=max_evaluations, llm_calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds
    )
    scoring = budget_of(llm_calls=max_scoring_calls, tokens=max_scoring_tokens, usd=max_scoring_usd)
    found = find_run(name, runs_dir=runs_dir)
    config = api.glance_at_config(found)  # `api.resume` asks the journal whether it is the run's
    go_on_without_keys(config)
    fork_helpers(config)
    summary = api.resume(
        found,
        failed=failed,
        error_type=error_type,
        run_budget=caps if caps.caps() else None,
        scoring_budget=scoring if scoring.caps() else None,
        max_workers=max_workers,
        executor=executor,
        reporter=reporter_name(as_json=as_json),
        stream=sys.stdout if as_json else sys.stderr,
    )
    finish(summary, as_json=as_json, verbose=verbose)


def _runs_dir(config: Path, override: list[str] | None, runs_dir: str | None) -> Path:
    from tracebench_engine.api.configs import load_config

    settings = load_config(config, overrides=override or ())
    return Path(settings.runs_dir if runs_dir is None else runs_dir)


def with_logger(config: RunConfig, name: str) -> RunConfig:
    """Return the config with one logger for all trainers; `none` and its like for none, `config` for no change."""
    if name.casefold() in KEEP_LOGGER:
        return config
    chosen = "none" if name.casefold() in NO_LOGGER else name
    trainers = tuple(t.model_copy(update={"logger": chosen}) for t in config.trainers)
    return config.model_copy(update={"trainers": trainers})


def reporter_name(*, as_json: bool) -> str:
    """Return how progress is shown: JSON Lines, a live table on a terminal, lines elsewhere."""
    if as_json:
        return "json"
    return "live" if sys.stderr.isatty() else "plain"


OURS = frozenset({"--detach", "--json"})
LOOK_SECONDS = 0.02


def run_detached(arguments: Sequence[str], *, runs_dir: Path, as_json: bool) -> NoReturn:
    """Start `arguments` as a process of its own, say where its run is once it is under way, and exit.

    A run that ends before it is under way (its config is wrong, or nothing is left to do) is told as if it had not been detached.
    """
    log = _new_log(runs_dir)
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "tracebench_engine.cli", *(a for a in arguments if a not in OURS)],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    entry = _wait(process)
    if entry is None:
        sys.stderr.write(log.read_text(errors="replace"))
        log.unlink()
        raise typer.Exit(process.returncode)
    kept = Path(entry.run_dir) / "run.log"
    log.replace(kept)
    _tell(entry, kept, as_json=as_json)
    raise typer.Exit


def _wait(process: subprocess.Popen[bytes]) -> RunEntry | None:
    from tracebench_engine.api.rundirs.control import entries

    while process.poll() is None:
        found = next((entry for entry in entries() if entry.pid == process.pid), None)
        if found is not None:
            return found
        time.sleep(LOOK_SECONDS)
    return None


def _new_log(runs_dir: Path) -> Path:
    """Return a name beside the runs, so that the log can be moved into its run while it is written."""
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise RunDirError(
            f"`{runs_dir}` cannot be made: {err.strerror}.", hint="trace-bench run --runs-dir DIR"
        ) from err
    return runs_dir / f".starting-{time.time_ns()}.log"


def _tell(entry: RunEntry, log: Path, *, as_json: bool) -> None:
    if as_json:
        output.document("detached", run_id=entry.run_id, run_dir=entry.run_dir, pid=entry.pid, log=str(log))
        return
    output.line(f"Run started: {entry.run_id}")
    output.line(f"Run dir: {entry.run_dir}")
    output.line(f"Process: {entry.pid}")
    output.line(f"Log: {log}")
    output.note(f"Watch:   trace-bench watch {quoted(entry.run_dir)}")
    output.note(f"Cancel:  trace-bench cancel {quoted(entry.run_dir)} --reason …")
