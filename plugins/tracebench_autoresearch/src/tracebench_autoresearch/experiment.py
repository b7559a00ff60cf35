"""`SystemExperiment`: what is edited, how it is run, and what is measured; read from `experiment.yaml`."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from tracebench_core.errors import UsageError

FILE = "experiment.yaml"
SHIPPED = Path(__file__).parent / "experiments"
MetricKind = Literal["regex", "json", "pytest", "coverage", "exit_code", "cpu_seconds", "speedup"]
OUTSIDE: frozenset[MetricKind] = frozenset({"cpu_seconds", "speedup"})
"""Kinds that nothing in a box tells: the system counts the processor time of the whole box of `run`."""


def _words(command: Any) -> Any:
    return tuple(shlex.split(command)) if isinstance(command, str) else command


Argv = Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)]
"""A command: a list of words, or one line that is split like a shell's, and run without one."""


class Part(BaseModel):
    """Base of every part: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Command(Part):
    """A command in a fresh box of the sandbox that holds the experiment's files."""

    command: Argv
    """`python` as the first word is the interpreter that runs Trace-Bench; `{seed}` in a word is the measurement's seed."""
    seconds: float = Field(default=300.0, gt=0)
    """Wall-clock budget; the processor time of each process is limited to the same."""
    memory_mb: int = Field(default=2048, gt=0)
    """Address space of each process; with `gpus` none is set unless it is given, for CUDA reserves far more than it uses."""
    stdin: str | None = None
    """A file whose text is given on standard input."""
    outputs: tuple[str, ...] = ()
    """Files that it writes: read back after it ended, and handed to `evaluate`."""
    exit_codes: tuple[int, ...] = (0,)
    """Codes that are no crash; empty for any."""
    cpus: float = Field(default=1.0, gt=0)
    """Processors that it uses: what planning sets aside; `OMP_NUM_THREADS` is their number, rounded up."""
    gpus: int = Field(default=0, ge=0)
    """Graphics processors that it uses: its box has them, `CUDA_VISIBLE_DEVICES` names them, no other measurement has them meanwhile."""
    devices: tuple[str, ...] = ()
    """Further character devices that its box has, by their absolute names."""
    outside: bool = False
    """Run in a folder of its own on this machine in place of a box: with the network and every device, without limits but time."""

    @property
    def most_memory_mb(self) -> int | None:
        """The limit on address space; none where graphics processors are used and none was given, nor outside of a box."""
        if self.outside or (self.gpus and "memory_mb" not in self.model_fields_set):
            return None
        return self.memory_mb


class Metric(Part):
    """A number, and where it is found."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    direction: Literal["maximize", "minimize"] = "maximize"
    kind: MetricKind = "regex"
    pattern: str | None = None
    """For `regex`: its last match in the output counts, the first group or all of it. `<name>: <number>` when left out."""
    file: str | None = None
    """For `json`: an output file; standard output when left out."""
    path: str = ""
    """For `json`: keys and indices to the number, as in `results.0.loss`; the metric's name when left out."""
    minimum: float | None = None
    """A guard: a candidate with less is refused."""
    maximum: float | None = None
    """A guard: a candidate with more is refused."""
    may_worsen: float | None = Field(default=None, ge=0)
    """A guard: the most percent by which a candidate may be worse than the initial files, which are measured for it once a process."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as err:
            raise ValueError(f"is no regular expression: {err}") from err
        return pattern

    @property
    def is_guarded(self) -> bool:
        """Say whether a candidate without it is refused."""
        return not (self.minimum is None and self.maximum is None and self.may_worsen is None)

    @property
    def sign(self) -> float:
        """Return what turns a value into a score, for which higher is better."""
        return 1.0 if self.direction == "maximize" else -1.0


class Prepare(Part):
    """Steps that are run once per revision, outside the sandbox and with the network: they are the author's, not a candidate's."""

    steps: tuple[Argv, ...] = Field(min_length=1)
    seconds: float = Field(default=600.0, gt=0)
    """For each step."""
    keep: tuple[str, ...] = Field(min_length=1)
    """Globs of the files that the steps make and the experiment needs."""


class SystemExperiment(Part):
    """One experiment on a repository."""

    title: str = ""
    objective: str = ""
    """For the model, beside what follows from the other fields."""
    repo: str = "."
    """A folder, relative to this file, or the URL of a git repository. Of a repository the revision is read, never its working tree."""
    revision: str | None = None
    """A commit, tag or branch; the current commit when left out. A URL needs one."""
    editable: tuple[str, ...] = Field(min_length=1)
    """Files and globs that a candidate may change. Files named without a wildcard must stay."""
    shown: tuple[str, ...] = ()
    """Globs of other files whose text the model is shown."""
    hidden: tuple[str, ...] = ()
    """Globs of files that no box holds; one may still be a command's `stdin`."""
    prepare: Prepare | None = None
    environment: str = ""
    """Where `python` and the programs beside it come from: a file of the revision (`uv.lock`, requirements, or an `environment.yml` with
    packages of pip alone), from which an environment is made once; the path of an interpreter; or the name of one that
    `trace-bench pythons` built. Trace-Bench's own when left out."""
    readable: tuple[str, ...] = ()
    """Further files and folders of this machine that boxes may read, by absolute names; `~` and `$NAME` are expanded."""
    run: Command
    evaluate: Command | None = None
    """Runs after `run` in a box of its own, which holds its outputs; the metrics are then read from here."""
    metric: Metric
    metrics: tuple[Metric, ...] = ()
    """Further metrics, kept beside the first."""
    apart: bool = False
    """The author's word that what prints the metrics runs the candidate's files in a process of their own, and believes nothing that they
    print. Without it, and without `evaluate`, a metric that is read from `run` is the candidate's own word, and is marked as that."""
    guards: tuple[Command, ...] = ()
    """Commands that must succeed before a measurement counts."""
    deterministic: bool = False
    """The same files always measure the same."""
    target: float | None = None
    """The metric's value from which the experiment counts as solved."""
    comparability: int = Field(default=1, ge=1)
    """Raised whenever the same files measure something else than before: scores of two numbers are never compared."""
    tags: tuple[str, ...] = ()
    needs: dict[str, str] = {}
    """Commands that must be installed, each with the line that installs it."""

    @model_validator(mode="before")
    @classmethod
    def _short_commands(cls, data: Any) -> Any:
        """Take `run: python train.py` for a command with defaults."""
        if not isinstance(data, dict):
            return data
        short: dict[str, Any] = {
            n: {"command": data[n]} for n in ("run", "evaluate") if isinstance(data.get(n), str | list)
        }
        guards = data.get("guards")
        if isinstance(guards, list):
            short["guards"] = [{"command": g} if isinstance(g, str | list) else g for g in guards]
        return {**data, **short}

    @model_validator(mode="after")
    def _consistent(self) -> SystemExperiment:
        names = [m.name for m in self.all_metrics]
        if len(set(names)) < len(names):
            raise ValueError("two metrics have one name")
        counted = [metric.name for metric in self.all_metrics if metric.kind in OUTSIDE]
        if counted and self.run.outside:
            raise ValueError(f"`{counted[0]}` counts the processor time of a box, and `run` is `outside` of one")
        if any(metric.kind == "speedup" for metric in self.all_metrics) and not self.run.outputs:
            raise ValueError(
                "a metric of kind `speedup` needs `outputs` of `run`, which must be those of the initial files"
            )
        if self.is_remote and not self.revision:
            raise ValueError("a `repo` that is a URL needs a `revision`")
        return self

    @property
    def all_metrics(self) -> tuple[Metric, ...]:
        """The first metric, which is optimised, and the others."""
        return (self.metric, *self.metrics)

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands that a measurement runs."""
        return (*self.guards, self.run, *((self.evaluate,) if self.evaluate else ()))

    @property
    def self_reported(self) -> tuple[str, ...]:
        """The metrics that are the candidate's own word: `score` for the first, and names."""
        if self.apart or self.evaluate is not None:
            return ()
        names = tuple(metric.name for metric in self.all_metrics if metric.kind not in OUTSIDE)
        return (("score",) if self.metric.kind not in OUTSIDE else ()) + names

    @property
    def is_remote(self) -> bool:
        """Say whether the repository is a URL."""
        return "://" in self.repo


def read_experiment(path: Path) -> SystemExperiment:
    """Read an experiment file.

    Raises:
        UsageError: when it cannot be read or is no experiment; in words that name file and field.
    """
    try:
        experiment = SystemExperiment.model_validate(_data(path))
    except OSError as err:
        raise UsageError(f"`{path}` cannot be read: {err.strerror}.") from err
    except ValidationError as err:
        first = err.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"`{path}`: `{field}`: {first['msg']}.", hint="docs/reference/autoresearch.md") from err
    if experiment.is_remote:
        return experiment
    return experiment.model_copy(update={"repo": str((path.parent / experiment.repo).resolve())})


def _data(path: Path) -> Any:
    """Return what the file says; where the same lies beside it as JSON, from there, without a YAML library: listing imports none."""
    compiled = path.with_suffix(".json")
    if path.is_relative_to(SHIPPED) and compiled.is_file():
        return json.loads(compiled.read_text(encoding="utf-8"))
    import yaml  # noqa: PLC0415 - only for files of the user's

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        raise UsageError(f"`{path}` is no YAML: {' '.join(str(err).split())}.") from err
