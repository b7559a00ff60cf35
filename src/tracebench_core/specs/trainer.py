"""What a plugin says of its trainers, optimizers, guides, executors, loggers and reporters."""

from __future__ import annotations

from pydantic import Field

from tracebench_core.specs.base import Ref, Spec, Split
from tracebench_core.specs.budget import Budget
from tracebench_core.specs.task import Requirement, Resources


class Source(Spec):
    """Exactly which code a discovered class is."""

    module: str
    qualname: str
    file_hash: str
    """SHA-256 of the module's file."""
    distribution: str = ""


class Component(Spec):
    """Base of everything that a plugin offers by name and that is built on use."""

    name: str
    loader: Ref
    settings: Ref | None = None
    """A pydantic model of the keyword arguments; None means that any keyword is handed to the loader."""
    setting_aliases: dict[str, str] = {}
    """Other names of settings, each with the name that it stands for."""
    title: str = ""
    description: str = ""
    requires: tuple[Requirement, ...] = ()
    preload: tuple[str, ...] = ()
    """Modules worth importing once, before jobs fork."""
    citation: str = ""
    source: Source | None = None
    broken: str = ""
    """Why a discovered class cannot run, as a probe found; it stays listed, and is never chosen."""


class TrainerSpec(Component):
    """An optimisation algorithm. The loader is called with the settings model; it returns a `Trainer`."""

    aliases: tuple[str, ...] = ()
    """Other ids of this trainer."""
    default_optimizer: str | None = None
    """The proposer used when the config names none; None when the trainer uses no proposer."""
    uses_model: bool = True
    """False when no language model is called: the trainer runs in real mode without a key."""
    searches: bool = True
    """False for a baseline that looks for nothing better."""
    given: bool = False
    """Its candidate is given: its settings have a `split` (`Split | None`) and a `limit` (`int | None`), and of the last candidate that it
    shows the engine measures the first `limit` examples of that split, each once, and nothing else: no initial candidate, no finalist."""
    sees: tuple[Split, ...] = ("train", "validation")
    cost: Ref | None = None
    """`(settings, TaskShape) -> CostEstimate`: what one job is expected to use."""
    advice: Ref | None = None
    """`(settings, TaskShape) -> list[str]`: in sentences, what it could not do, or not tell apart, on a task so large at such a budget;
    none where all is well. `plan` and `validate` show them."""
    twin: Ref | None = None
    """`(settings, parameters) -> Twin`: the program of the library that this trainer is built on, without Trace-Bench; `verify --twin`
    compares the two. It raises a TraceBenchError where there is none for these settings or parameters, or the library is missing."""
    traced_only: bool = False
    """The trainer needs a task's computation graph."""
    reads_budget: bool = False
    """What it does depends on how much budget there is, other than by being ended: a longer run does not show what a shorter would do."""
    resources: Resources = Resources()


class OptimizerSpec(Component):
    """A proposer inside a trainer. The loader is called as `loader(problem, **kwargs)`; it returns an `Optimizer`."""

    calls_per_proposal: float = Field(default=1.0, ge=0)


class GuideSpec(Component):
    """A scorer that can replace a task's own. The loader is called as `loader(task, **kwargs)`; it returns a `Guide`."""


class ExecutorSpec(Component):
    """Where jobs run. The loader takes no argument; it returns an `Executor`."""

    outlook: Ref | None = None
    """`(RunConfig, Resources) -> list[str]`: in sentences, where jobs of a config would run, which may need so much; `plan` and `validate`
    show them. It raises a TraceBenchError for what cannot be had."""
    ready: Ref | None = None
    """`(RunConfig, Resources) -> None`: quickly raises a TraceBenchError for what would keep a run from starting here now. It is asked
    before the run's directory is made."""
    places: dict[str, Ref] = {}
    """What `doctor --as NAME` looks at from the place of those that run jobs, by name: `(root: Path | None) -> Iterable[Diagnosis]`."""


class LoggerSpec(Component):
    """A per-job sink of events. The loader is called as `loader(job_dir, **kwargs)`; it returns a `JobLogger`."""


class ReporterSpec(Component):
    """A live view of a run. The loader is called as `loader(stream)`; it returns a `Reporter`."""


class PythonSpec(Component):
    """An interpreter for libraries that do not live beside Trace-Bench; `trace-bench pythons create` builds it."""

    loader: Ref = "tracebench_core.plugins.interpreters:find_python"
    requirements: tuple[str, ...]
    """What is installed, each with its bounds."""
    python: str = ">=3.11"
    """Which Pythons will do."""


class Exclusion(Spec):
    """An id that discovery must not offer, with the reason that is shown."""

    id: str
    reason: str


class TaskShape(Spec):
    """What a trainer's cost depends on."""

    parameters: int
    train: int
    validation: int
    budget: Budget = Budget()
    """Of the job; an estimate is cut by it anyway, and a trainer that reads it may have another cost."""


class Range(Spec):
    """An estimate: low, likely and high."""

    low: float
    likely: float
    high: float


class CostEstimate(Spec):
    """What one job is expected to use, before its budget cuts it."""

    evaluations: Range
    """Guide calls."""
    llm_calls: Range
    """Of the role `optimizer`."""
    steps: float | None = None
    proposals: Range | None = None
    start: float = 0.0
    """Of the evaluations, those before the first proposal."""
    to_cap: bool = False
    """These are the amounts without a cap; with one, training goes on until a cap that it spends is reached."""
