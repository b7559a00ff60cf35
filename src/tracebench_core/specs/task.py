"""What a suite says of its tasks, before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue, model_validator

from tracebench_core.specs.base import Ref, Spec, Split
from tracebench_core.specs.calibration import Bounds

ParameterKind = Literal["text", "code", "number", "choice", "json", "files"]


class Parameter(Spec):
    """One thing that is optimised.

    A value that breaks `minimum`, `maximum`, `choices` or `max_length` is refused before it is evaluated. A value of kind `files` maps
    relative POSIX paths to texts: `{"src/main.py": "…"}`.
    """

    name: str
    """Stable across copies; an attribute path for modules."""
    initial: JsonValue
    kind: ParameterKind = "text"
    description: str = ""
    """Shown to optimizers."""
    signature: str | None = None
    """For code: the `def` line that must stay."""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[JsonValue, ...] = ()
    max_length: int | None = Field(default=None, gt=0)
    """For text and code: characters; for files, of all texts together."""

    @model_validator(mode="after")
    def _choices_for_choice(self) -> Parameter:
        if (self.kind == "choice") != bool(self.choices):
            raise ValueError("`choices` belongs to kind `choice`, and kind `choice` needs it")
        return self


class Example(Spec):
    """One case of a data set: what the program is given, and what the guide compares with."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: str
    """Unique within the task, over all splits."""
    input: Any = None
    reference: Any = None


class Requirement(Spec):
    """Something a task or trainer needs from the machine, and how to get it."""

    kind: Literal["module", "command", "env", "path", "image", "service", "gpu", "dataset"]
    name: str
    """A module to import, a command on PATH, a variable to set, a file or folder, a local container image, a service (`host:port` or
    a URL) that takes connections, a graphics processor (how many, or a part of its name), or a data set (a path, or `hub:owner/name`
    in the local cache)."""
    hint: str
    """The command that mends it, such as `pip install "tracebench-x[gym]"`."""
    python: str = ""
    """For a module: the named interpreter that may hold it in this environment's stead."""
    unless: str = ""
    """Makes this moot where it is given: a setting, such as the path of another interpreter, or a variable of the environment, as `$NAME`;
    several are separated by spaces."""


class TaskVersion(Spec):
    """Scores may be pooled while `comparability` is equal; programs written against it work while `interface` is."""

    comparability: int = Field(default=1, ge=1)
    interface: int = Field(default=1, ge=1)


class Objective(Spec):
    """One metric of a multi-objective task."""

    metric: str
    direction: Literal["maximize", "minimize"]
    weight: float = 1.0


class TaskSizes(Spec):
    """How large a task is, known without opening it."""

    parameters: int = Field(default=1, ge=1)
    train: int = Field(ge=1)
    """Examples of the split; so are the others."""
    validation: int = Field(default=0, ge=0)
    test: int = Field(default=0, ge=0)


class Resources(Spec):
    """What one job takes of a machine, for executors that share machines out."""

    cpus: float = Field(default=1.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)
    gpus: int = Field(default=0, ge=0)


class TaskSpec(Spec):
    """One task as data: everything `list-tasks` shows and planning needs."""

    name: str
    """Unique within the suite; the full id is `<suite>:<name>`."""
    loader: Ref
    """Called with the validated options as keywords; returns a `Task`. Heavy imports belong behind it.

    A loader with a keyword `splits` is told the splits (a `frozenset[Split]`) that its process may hold, and opens no others.
    That of a salted task has a keyword `salts`, too: a secret text by split (`Mapping[Split, str]`), for those of these that have one.
    """
    title: str
    aliases: tuple[str, ...] = ()
    """Other ids of this task: full ones (`other:name`), or bare names."""
    description: str = ""
    groups: tuple[str, ...] = ()
    """Group names that expand to this task: `<suite>:<group>`. Every suite has the group `all`."""
    tags: tuple[str, ...] = ()
    options: Ref | None = None
    """A pydantic model of the task's `eval_kwargs`; none means that the task takes none."""
    version: TaskVersion = TaskVersion()
    metric: str = "score"
    """Name of the native metric; the guide puts its value into `Feedback.metrics`."""
    direction: Literal["maximize", "minimize"] = "maximize"
    """Of the native metric. `Feedback.score` is always maximised."""
    content: str = ""
    """Name of the metric that says what an output holds in whatever form, on the scale of the score and never below it. A gain in score is
    split by it. It knows the right answer, so that trainers are not shown it."""
    objectives: tuple[Objective, ...] = ()
    """Two or more make the task multi-objective; their values are in `Feedback.metrics`."""
    score_bounds: Bounds = Bounds()
    """Between which every example's score lies, whatever the candidate. What lies beyond is no measurement: it is refused, and the
    candidate is `invalid` on that example."""
    metric_bounds: dict[str, Bounds] = {}
    """The same for metrics, by name."""
    target: float | None = None
    """The score from which the task counts as solved."""
    worst_score: float | None = None
    """What an example counts for on which a candidate fails (invalid, timed out); None leaves such a candidate without a score."""
    self_reported: tuple[str, ...] = ()
    """Names of metrics, or `score`, that the candidate itself prints and nothing else measures: told wherever they are shown."""
    timed: bool = False
    """The score is a time, or depends on one: it differs from one measurement to the next, and no seed covers it. Such a task is scored on
    a machine only where its calibrations of kind `ratio` and `same` have passed; a run makes them first."""
    stands_on: Ref | None = None
    """`(options) -> Mapping[str, str]`: what a measurement stands on beside the plugin's own files, by name, each with its version: a
    compiler, a library that compiles. What was seen of calibrations with other versions does not count."""
    deterministic: bool = False
    """The same values on the same example always give the same feedback: what was measured may be used again."""
    salted: bool = False
    """Instances of validation and test are generated, and drawn from the loader's `salts`; without them, from a seed that is public."""
    aggregate: str = "mean"
    """How the scores of a batch's examples become one: `mean`, or the name of a plugin's `AggregateSpec`."""
    sizes: TaskSizes | None = None
    """Sizes under the default options: planning need not open the task."""
    sizes_of: Ref | None = None
    """`(options) -> TaskSizes` for options that change sizes; it opens nothing."""
    size_options: dict[Split, str] = {}
    """By split, the option that says how many examples it has."""
    environments: tuple[str, ...] = ()
    """Names of the environments that the task's context may ask for."""
    dataset: str | None = None
    """Name of an environment of scope `run` that holds the task's data set, opened once for all jobs.

    It is opened with those of the task's options that its own `options` name; the task's loader gets its handle as the keyword `dataset`.
    """
    concurrency: int | None = Field(default=None, ge=1)
    """The most evaluations of one job at a time."""
    evaluation_timeout: float | None = Field(default=None, gt=0)
    """Seconds that one evaluation may take: `Context.deadline`. It is ended soon after; see docs/reference/time-limits.md."""
    resources: Resources = Resources()
    requires: tuple[Requirement, ...] = ()
    broken: str = ""
    """Why a task that was found on disk cannot be built; it stays listed, and is never run."""
    preload: tuple[str, ...] = ()
    """Modules worth importing once, before jobs fork."""
    sandbox: tuple[str, ...] | None = None
    """Modules that candidate code may find warm in its sandbox; None when the task runs no untrusted code."""
    unconfined: bool = False
    """What candidates say is executed in the process of the job, outside of any sandbox: told wherever the task is listed or validated."""
    readable: tuple[str, ...] = ()
    """Folders outside of the system's that code and commands in the sandbox may read, such as a tool chain in a home. `~` and `$NAME` are
    expanded; what is not there is left out."""
    answers: Ref | None = None
    """`(options) -> Sequence[Values]`: a few assignments of known quality, the worst first, each a full or a partial one. The last one
    beats the initial candidate. None says that there is none."""
    uses_model: bool = False
    """The program itself asks a model (role `agent`), or the guide does (role `judge`)."""
    modelless: dict[str, tuple[JsonValue, ...]] = {}
    """Options of a task with `uses_model`, each with the values with which it asks none after all."""
    traced: bool = False
    """The task offers `trace_agent()`: its computation graph is part of the subject."""
    trainable: bool = True
    """False for a task that has no parameters on purpose: validation expects it to be refused."""
    licence: str = ""
    citation: str = ""
    source: str = ""
    """Where the task comes from, with a content hash where it was found on disk."""

    @model_validator(mode="after")
    def _hide_nothing_that_trainers_need(self) -> TaskSpec:
        if self.content and self.content in {self.metric, *(o.metric for o in self.objectives)}:
            raise ValueError(
                f"content `{self.content}` is kept from trainers, and so cannot be the metric or an objective"
            )
        return self

    def asks_model(self, options: Mapping[str, Any]) -> bool:
        """Tell whether it asks a model under these options."""
        return self.uses_model and not any(options.get(name) in values for name, values in self.modelless.items())


class SuiteSpec(Spec):
    """A family of tasks, as `list-suites` shows it."""

    title: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    """Other prefixes that mean this suite."""
    licence: str = ""
    """Of the tasks that name none of their own."""
    calibrations: Ref | None = None
    """`(name, task) -> Iterable[Calibration]`: families of cases, for the opened task of a name, beside those of `Task.calibrations()`."""
    owns_bare_ids: bool = False
    """Task ids written without a prefix are looked up here first."""
    citation: str = ""
