"""`evaluate`: what given programs, prompts or values are worth on a task: at once, or as a run where a model is asked."""

from __future__ import annotations

import enum
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, MaxUsd, Overrides, Root, RunsDir
from tracebench_engine.api.keyless import fork_helpers, go_on_without_keys
from tracebench_engine.cli.parts.given_files import read_all
from tracebench_engine.cli.results.evaluated import evaluated_data, print_evaluated
from tracebench_engine.cli.running.ending import next_command
from tracebench_engine.cli.running.reading import read_config
from tracebench_engine.cli.running.run import reporter_name

if TYPE_CHECKING:
    from tracebench_core.specs import ExampleResult, RunConfig, Split
    from tracebench_engine.api.evaluating import Workbench
    from tracebench_engine.api.records import Run

FAILED = 1
INITIAL = "(initial)"
SCORE = "score"


class SplitName(enum.StrEnum):
    """The split to evaluate on."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def evaluate(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A `.json` object of values by parameter, else the text of the one parameter, or of the file of that name; or a folder.",
        ),
    ] = None,
    *,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model that answers. Makes the evaluation a run.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="Address of a server that speaks OpenAI's API, ending in /v1."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take models, prices, caps and plugins from a run config.")
    ] = None,
    split: Annotated[
        SplitName | None, typer.Option(help="The examples to evaluate on.  [default: train; of a run: test]")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most N examples of the split.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the evaluations; with several, the first.")
    ] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="N", help="Ask everything N times, each by a seed of its own.")
    ] = 1,
    in_flight: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Calls of a model at a time; without one, examples.  [default: 1; of a run: 8]"
        ),
    ] = None,
    max_usd: MaxUsd = None,
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Name of the run; one that exists and is unfinished is continued.")
    ] = None,
    runs_dir: RunsDir = None,
    override: Overrides = None,
    eval_kwargs: Annotated[
        str, typer.Option("--eval-kwargs", metavar="JSON", help="The task's options, as in a config.")
    ] = "{}",
    metric: Annotated[str, typer.Option(metavar="NAME", help="Of a run: what to compare by.")] = SCORE,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Score prompts, programs or values side by side. Without FILE: the initial ones. Where a model is asked, it is a run: recorded,
    capped, continued by the same command, compared example by example. Exits 1 when one earns no score."""
    options = _options(eval_kwargs)
    asks_model = _asks_model(task, options, root)
    of_runs = (model, base_url, config, limit, max_usd, run_id, runs_dir, override)
    if asks_model or seeds > 1 or any(given is not None for given in of_runs):
        evaluate_in_run(
            Asked(
                task=task,
                files=tuple(files or ()),
                options=options,
                split=split.value if split is not None else None,
                limit=limit,
                seeds=tuple(range(seed, seed + seeds)),
                in_flight=in_flight or 8,
                metric=metric,
                root=root,
            ),
            config=config,
            changes=[
                f"{field}={json.dumps(value, ensure_ascii=False)}"
                for field, value in {
                    "llm.model": model,
                    "llm.base_url": base_url,
                    "run_budget.usd": max_usd,
                    "run_id": run_id,
                    "runs_dir": runs_dir,
                }.items()
                if value is not None
            ]
            + list(override or ()),
            as_json=as_json,
        )
        return
    if metric != SCORE:
        raise UsageError(
            f"`--metric` is for runs; without a run every metric is printed beside `{SCORE}`.",
            hint=output.command("evaluate", task, *(files or ())),
        )
    _evaluate_now(
        task,
        files or (),
        split=split.value if split else "train",
        seed=seed,
        in_flight=in_flight or 1,
        options=options,
        root=root,
        as_json=as_json,
    )


def _evaluate_now(
    task: str,
    files: Sequence[Path],
    *,
    split: Split,
    seed: int,
    in_flight: int,
    options: Mapping[str, Any],
    root: Path | None,
    as_json: bool,
) -> None:
    """Measure each file in this process, and print each example's feedback; nothing is kept."""
    from tracebench_engine import api
    from tracebench_engine.api.evaluating import open_workbench

    scored: dict[str, list[ExampleResult]] = {}
    host = api.open_host(root=root)
    with open_workbench(host, task, eval_kwargs=options, seed=seed, workers=in_flight) as bench:
        if not bench.count(split):
            raise UsageError(
                f"`{task}` has no examples to evaluate on in `{split}`.", hint=output.command("evaluate", task, *files)
            )
        entrants, refused = read_all(files, bench.parameters, task)
        for number, (name, values) in enumerate((entrants if files else {INITIAL: {}}).items(), start=1):
            scored[name] = _evaluate(bench, values, split=split, name=name, candidate=f"c{number}")
        means = {name: _mean(bench, results) for name, results in scored.items()}
    if as_json:
        listed: list[dict[str, Any]] = [
            {"file": name, "score": means[name], "results": [r.model_dump(mode="json") for r in results]}
            for name, results in scored.items()
        ]
        listed += [{"file": name, "score": None, "error": str(err), "results": []} for name, err in refused.items()]
        output.document("scores", task=task, split=split, seed=seed, files=listed)
    else:
        _print(scored, means)
    if refused or any(score is None for score in means.values()):
        raise typer.Exit(FAILED)


def _asks_model(task: str, options: Mapping[str, Any], root: Path | None) -> bool:
    """Tell whether a task asks a model under these options."""
    from tracebench_engine import api
    from tracebench_engine.api.evaluating import find_task

    return find_task(api.open_host(root=root), task, options).asks_model(options)


def _options(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except ValueError as err:
        raise UsageError(f"`--eval-kwargs` is no JSON: {err}", hint="--eval-kwargs '{\"seed\": 7}'") from err
    if not isinstance(options, dict):
        raise UsageError("`--eval-kwargs` is no JSON object.", hint="--eval-kwargs '{\"seed\": 7}'")
    return options


def _evaluate(
    bench: Workbench, values: Mapping[str, Any], *, split: Split, name: str, candidate: str
) -> list[ExampleResult]:
    """Return the results of one file, counting them on a terminal."""
    results: list[ExampleResult] = []
    live, total = sys.stderr.isatty(), bench.count(split)
    for result in bench.evaluate(values, split=split, name=candidate):
        results.append(result)
        if live:
            end = "\n" if len(results) == total else ""
            sys.stderr.write(f"\r{output.safe(name)}: {len(results)} of {total} examples{end}")
            sys.stderr.flush()
    return results


def _mean(bench: Workbench, results: Sequence[ExampleResult]) -> float | None:
    return bench.aggregate([result.feedback for result in results])


def _print(scored: Mapping[str, Sequence[ExampleResult]], means: Mapping[str, float | None]) -> None:
    metrics = list(dict.fromkeys(name for results in scored.values() for r in results for name in r.feedback.metrics))
    rows = []
    for name, results in scored.items():
        counts = Counter(r.feedback.status for r in results)
        told = ", ".join(f"{n} {status}" for status, n in counts.items())
        values = [[r.feedback.metrics[m] for r in results if m in r.feedback.metrics] for m in metrics]
        cells = [output.number(sum(v) / len(v) if len(v) == len(results) else None) for v in values]
        rows.append([name, output.number(means[name]), told, *cells, f"{sum(r.seconds for r in results):.2f}"])
    output.table(["file", "score", "examples", *metrics, "seconds"], rows)
    for name, results in scored.items():
        for r in results:
            output.line(f"\n{output.safe(name)} on {output.safe(r.example)}: {r.feedback.status}")
            output.line(output.safe(r.feedback.text))


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
        return read_config(config, [f"tasks={json.dumps([task], ensure_ascii=False)}", *changes], root=root)
    from tracebench_engine.api.configs import parse_config

    return parse_config({"mode": "real", "tasks": [task]}, overrides=changes, origin="the command line")
