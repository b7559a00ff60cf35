"""Try a repository as an experiment, and write the `experiment.yaml` that was tried."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml

from tracebench_autoresearch.experiment import FILE, SystemExperiment
from tracebench_autoresearch.sources.git import is_repository, resolve
from tracebench_autoresearch.sources.opening import locate
from tracebench_autoresearch.sources.snapshot import take_snapshot
from tracebench_autoresearch.starting.finding import Direction, Layout, find_layout, find_metric
from tracebench_autoresearch.starting.power import smallest_gain
from tracebench_core.errors import OutputError, UsageError, quoted
from tracebench_core.specs import Feedback
from tracebench_engine.api import evaluate_task
from tracebench_engine.api.console.writing import put_new

_NAME = "tried"
_TAIL = "Last lines of the output:\n"
_SHORT = re.compile(r"([\w.-]+@[\w.-]+):(\S+)")
"""How git's users write a URL of ssh for short."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user says; the rest is guessed."""

    command: str = ""
    editable: tuple[str, ...] = ()
    metric: str = ""
    direction: Direction | None = None
    seconds: float = 600.0
    repeats: int = 8
    environment: str | None = None
    """Empty for Trace-Bench's own; found when None."""


@dataclass(frozen=True, slots=True)
class Started:
    """An experiment that runs, and how it measures."""

    experiment: dict[str, Any]
    layout: Layout
    values: tuple[float, ...]
    """Of the metric, with the initial files."""
    seconds: float
    """Of the longest run."""

    @property
    def spread(self) -> float:
        """The standard deviation of one measurement."""
        return stdev(self.values)

    @property
    def centre(self) -> float:
        """The mean."""
        return mean(self.values)

    def smallest_gain(self, experiments: int) -> float:
        """Return the smallest gain that so many experiments can tell."""
        return smallest_gain(self.values, experiments=experiments)


def try_repository(where: str, wanted: Wanted, say: Callable[[str], None]) -> Started:
    """Run a repository's committed files as often as is wanted, and return the experiment that was run.

    Raises:
        UsageError: when nothing is found to run or to read, or it does not run.
    """
    if "://" not in where and (short := _SHORT.fullmatch(where)) and not Path(where).exists():
        raise UsageError(f"`{where}` is no folder and no URL.", hint=f"ssh://{short[1]}/{short[2]}")
    base: dict[str, Any] = {"repo": where if "://" in where else str(Path(where).expanduser().resolve())}
    if "://" in where:
        draft = {**base, "revision": "HEAD", "editable": ["*"], "run": "true", "metric": {"name": "m"}}
        place = locate(SystemExperiment.model_validate(draft))
        base["revision"] = resolve(place, "HEAD")
    else:
        place = Path(base["repo"])
    pinned = {"revision": resolve(place, base.get("revision", "HEAD"))} if is_repository(place) else {}
    snapshot = take_snapshot(place, pinned.get("revision"))
    layout = find_layout(snapshot, command=wanted.command, editable=wanted.editable, environment=wanted.environment)
    if pinned and "revision" not in base:
        take_snapshot(place, None, guarded=layout.editable)
    say(f"run: {layout.command}; edited: {', '.join(layout.editable)}; never edited: everything else")
    if layout.environment:
        say(f"environment: {layout.environment}")
    base |= {"editable": list(layout.editable), **({"shown": list(layout.shown)} if layout.shown else {})}
    base |= {"environment": layout.environment} if layout.environment else {}
    run = {"command": layout.command, "seconds": wanted.seconds}
    with tempfile.TemporaryDirectory() as root:
        first = _measured(
            Path(root), {**base, **pinned, "run": run, "metric": {"name": "exit_code", "kind": "exit_code"}}, seed=0
        )
        name, direction = find_metric(first.text.partition(_TAIL)[2], name=wanted.metric, direction=wanted.direction)
        say(f"metric: {name}, {direction}")
        experiment = {**base, "run": run, "metric": {"name": name, "direction": direction}}
        found = []
        for seed in range(1, wanted.repeats + 1):
            found.append(_measured(Path(root), {**experiment, **pinned}, seed=seed))
            say(f"baseline {seed} of {wanted.repeats}: {name} {found[-1].metrics[name]:.6g}")
    longest = max(one.metrics["run_seconds"] for one in found)
    experiment["run"] = {**run, "seconds": float(max(10, math.ceil(3 * longest)))}
    return Started(experiment, layout, tuple(one.metrics[name] for one in found), longest)


def _measured(root: Path, experiment: dict[str, Any], *, seed: int) -> Feedback:
    folder = root / _NAME
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_text(yaml.safe_dump(experiment), encoding="utf-8")
    found = evaluate_task(f"autoresearch:{_NAME}", root=root, seed=seed)[0]
    if found.status != "ok":
        raise UsageError(f"The repository's files do not measure: {found.text}", hint='--command "…" --seconds 3600')
    return found


def choose_folder(where: str, out: Path | None) -> Path:
    """Return the folder of a new experiment, by the repository's name where none is given.

    Raises:
        UsageError: when it holds one already.
    """
    last = where.rstrip("/").rpartition("/")[2] if "://" in where else Path(where).expanduser().resolve().name
    folder = out or Path("experiments", last.removesuffix(".git") or "mine")
    if (path := folder / FILE).exists():
        raise UsageError(f"`{path}` is there already.", hint=f"--output {quoted(folder.with_name(folder.name + '-2'))}")
    return folder


def write_experiment(started: Started, folder: Path) -> Path:
    """Write `experiment.yaml` into a folder and return its path.

    Raises:
        OutputError: when it cannot be written.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        put_new(path, yaml.safe_dump(started.experiment, sort_keys=False).encode())
    except OSError as err:
        raise OutputError(f"`{path}` cannot be written: {err.strerror}.") from err
    return path
