"""`evaluate` where a model is asked: a run of the given candidates, and the comparison of their answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.keyless import fork_helpers, go_on_without_keys
from tracebench_engine.cli.parts.given_files import read_all
from tracebench_engine.cli.results.evaluated import evaluated_data, print_evaluated
from tracebench_engine.cli.running.ending import next_command
from tracebench_engine.cli.running.reading import read_config
from tracebench_engine.cli.running.run import reporter_name

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig, Split
    from tracebench_engine.api.records import Run

FAILED = 1
INITIAL = "(initial)"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be evaluated."""

    task: str
    files: tuple[Path, ...]
    options: Mapping[str, Any]
    split: Split | None
    limit: int | None
    seeds: tuple[int, ...]
    in_flight: int
    metric: str
    root: Path | None


def evaluate_in_run(asked: Asked, *, config: Path | None, changes: Sequence[str], as_json: bool) -> None:
    """Run the evaluation, or what is left of it, and print each candidate's score and each pair; exits with the run's code."""
    from tracebench_engine import api
    from tracebench_engine.api.given import given_config, task_and_parameters
    from tracebench_engine.api.records import load_run

    base = _base(asked.task, config, changes, root=asked.root)
    go_on_without_keys(base)
    spec, parameters = task_and_parameters(base, asked.task, asked.options, root=asked.root)
    values, refused = read_all(asked.files, parameters, asked.task)
    settings = given_config(
        base,
        spec,
        asked.task,
        values if asked.files else {INITIAL: {}},
        options=asked.options,
        split=asked.split,
        limit=asked.limit,
        seeds=asked.seeds,
        in_flight=asked.in_flight,
    )
    fork_helpers(settings)
    summary = api.run(settings, root=asked.root, reporter=reporter_name(as_json=as_json), stream=sys.stderr)
    run = load_run(summary.run_dir)
    try:
        _tell(asked, run, refused, as_json=as_json)
    except UsageError as err:  # the answers are paid for and kept: what works asks nobody again
        raise UsageError(str(err), hint=output.command("compare", summary.run_dir, *(err.hint or "").split())) from err
    output.note(next_command(summary))
    raise typer.Exit(summary.exit_code or (FAILED if refused else 0))


def _tell(asked: Asked, run: Run, refused: Mapping[str, UsageError], *, as_json: bool) -> None:
    """Print what a run came to.

    Raises:
        UsageError: no row has the metric that was asked for.
    """
    if as_json:
        output.document(
            "evaluation_run",
            task=asked.task,
            **evaluated_data(run, metric=asked.metric),
            refused={name: str(err) for name, err in refused.items()},
        )
    else:
        print_evaluated(run, metric=asked.metric)


def _base(task: str, config: Path | None, changes: Sequence[str], *, root: Path | None) -> RunConfig:
    """Return the config of a run in which a model is asked, still without candidates."""
    if config is not None:
        return read_config(config, [f'tasks=["{task}"]', *changes], root=root)
    from tracebench_engine.api.configs import parse_config

    return parse_config({"mode": "real", "tasks": [task]}, overrides=changes, origin="the command line")
