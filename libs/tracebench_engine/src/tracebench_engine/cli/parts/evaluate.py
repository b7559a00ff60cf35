"""`evaluate`: what given programs or values are worth on a task, without a trainer, a run or a model."""

from __future__ import annotations

import enum
import json
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Root

if TYPE_CHECKING:
    from tracebench_core.specs import ExampleResult, Parameter, Split
    from tracebench_engine.api.evaluating import Workbench

FAILED = 1
INITIAL = "(initial)"
MOST_NAMED = 10


class SplitName(enum.StrEnum):
    """The split to evaluate on."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A `.json` object of values by parameter, else the text of the one parameter, or of the file of that name.",
        ),
    ] = None,
    *,
    split: Annotated[SplitName, typer.Option(help="The examples to evaluate on.")] = SplitName.TRAIN,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the evaluations.")] = 0,
    eval_kwargs: Annotated[
        str, typer.Option("--eval-kwargs", metavar="JSON", help="The task's options, as in a config.")
    ] = "{}",
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate programs or values on a task, side by side; without FILE its initial values. Exits 1 when one earns no score."""
    from tracebench_engine import api
    from tracebench_engine.api.evaluating import open_workbench

    chosen: Split = split.value
    scored: dict[str, list[ExampleResult]] = {}
    with open_workbench(api.open_host(root=root), task, eval_kwargs=_options(eval_kwargs), seed=seed) as bench:
        if not bench.count(chosen):
            raise UsageError(
                f"`{task}` has no examples to evaluate on in `{chosen}`.", hint=output.command("evaluate", task)
            )
        entrants: dict[str, Mapping[str, Any]] = {str(f): read_values(f, bench.parameters, task) for f in files or ()}
        for number, (name, values) in enumerate((entrants or {INITIAL: {}}).items(), start=1):
            scored[name] = _evaluate(bench, values, split=chosen, name=name, candidate=f"c{number}")
        means = {name: _mean(bench, results) for name, results in scored.items()}
    if as_json:
        listed = [
            {"file": name, "score": means[name], "results": [r.model_dump(mode="json") for r in results]}
            for name, results in scored.items()
        ]
        output.document("scores", task=task, split=chosen, seed=seed, files=listed)
    else:
        _print(scored, means)
    if any(score is None for score in means.values()):
        raise typer.Exit(FAILED)


def read_values(file: Path, parameters: Sequence[Parameter], task: str) -> dict[str, Any]:
    """Return the values that a file gives to parameters.

    Raises:
        UsageError: when it cannot be read, or holds no values for them.
    """
    from tracebench_engine.api.evaluating import breach

    names = ", ".join(f"`{p.name}`" for p in parameters)
    try:
        text = file.read_text(encoding="utf-8")
        values = json.loads(text) if file.suffix == ".json" else None
    except (OSError, ValueError) as err:
        raise UsageError(f"`{file}` cannot be read: {err}", hint=shlex.join(["ls", "-l", str(file)])) from err
    if values is None:
        values = _of_one_text(file, text, parameters, task)
    if not isinstance(values, dict):
        raise UsageError(f"`{file}` holds no object of values by parameter.", hint=f"its keys are of {names}")
    if why := breach(parameters, {p.name: p.initial for p in parameters} | values):
        raise UsageError(f"`{file}` cannot be evaluated: {why}", hint=f"the task's parameters are {names}")
    return values


def _of_one_text(file: Path, text: str, parameters: Sequence[Parameter], task: str) -> dict[str, Any]:
    """Return the values that one text gives: to the one parameter or file that takes one, else to that of its name."""
    texts = [p for p in parameters if p.kind in {"text", "code"}]
    meant = texts if len(texts) == 1 else [p for p in texts if p.name == file.stem]
    if meant:
        return {meant[0].name: text}
    trees = [(p, dict(p.initial)) for p in parameters if p.kind == "files" and isinstance(p.initial, dict)]
    every = [(p, path, tree) for p, tree in trees for path in sorted(tree)]
    found = every if len(every) == 1 and not texts else [e for e in every if e[1] in _alike(file, e[2])]
    if len(found) == 1:
        parameter, path, tree = found[0]
        return {parameter.name: {**tree, path: text}}
    known = [f"{p.name}{file.suffix}" for p in texts] + [path for _, path, _ in every]
    if not known:
        raise UsageError(
            f"`{file}` is one text, and the task has no parameter that takes one.",
            hint=f"give a `.json` file with an object of values by parameter: {', '.join(p.name for p in parameters)}",
        )
    which = [path for _, path, _ in found] or known
    words = "it may be any of these" if found else "it has the name of none"
    target = f"given/{which[0]}"
    raise UsageError(
        f"`{file}` is one text, and the task has {len(known)} that it may be; {words}: {', '.join(f'`{k}`' for k in which[:MOST_NAMED])}.",
        hint=" && ".join(
            (
                shlex.join(["mkdir", "-p", str(Path(target).parent)]),
                shlex.join(["cp", str(file), target]),
                output.command("evaluate", task, target),
            )
        ),
    )


def _alike(file: Path, tree: Mapping[str, Any]) -> list[str]:
    """Return the paths of a tree that end as the path of a file does, those that share most; none when not even the names are equal."""
    given = file.absolute().parts
    lengths = {}
    for path in tree:
        parts = Path(path).parts
        same = 0
        while same < min(len(parts), len(given)) and parts[-1 - same] == given[-1 - same]:
            same += 1
        lengths[path] = same
    longest = max(lengths.values(), default=0)
    return [path for path, same in lengths.items() if same == longest] if longest else []


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
