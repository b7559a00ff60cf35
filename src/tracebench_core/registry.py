"""What a plugin offers, typed: the registry that `tracebench_register` fills, and `@task`, `@trainer`, `@guide`.

A decorator says of a factory what a spec says, and leaves the factory as it is. The loader is the factory itself, so that a type checker
sees a trainer without `train`, a guide of another signature, and a factory that is not there; in a spec it is text, which says nothing.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, Unpack

from pydantic import BaseModel, JsonValue, ValidationError

from tracebench_core.errors import PluginError
from tracebench_core.specs import (
    Bounds,
    Component,
    CostEstimate,
    Exclusion,
    GuideSpec,
    Objective,
    Parameter,
    Requirement,
    Resources,
    Split,
    SuiteSpec,
    TaskShape,
    TaskSizes,
    TaskSpec,
    TaskVersion,
    TrainerSpec,
    Values,
)
from tracebench_core.specs.renamed import told

if TYPE_CHECKING:
    from tracebench_core.contracts import Guide, Task, Trainer
    from tracebench_core.contracts.trainer import Twin

Part = TaskSpec | SuiteSpec | Component | Exclusion
"""What a plugin offers, as data."""
MARK = "__tracebench_spec__"
"""Attribute of a factory that holds what its decorator said."""
S = TypeVar("S", TaskSpec, TrainerSpec, GuideSpec)
AnyTask = TypeVar("AnyTask", bound="Callable[..., Task]")
AnyTrainer = TypeVar("AnyTrainer", bound="Callable[..., Trainer]")
AnyGuide = TypeVar("AnyGuide", bound="Callable[..., Guide]")


class Registry:
    """What one plugin offers, in the order in which it was added."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def add(self, *parts: Part | Callable[..., Task | Trainer | Guide]) -> None:
        """Offer parts: specs, or factories under `@task`, `@trainer` or `@guide`.

        Raises:
            PluginError: one is neither.
        """
        for part in parts:
            spec = part if isinstance(part, Part) else spec_of(part)
            if spec is None:
                name = getattr(part, "__qualname__", None) or repr(part)
                raise PluginError(
                    f"`registry.add` was given `{name}`, which is no spec and stands under no `@task()`, `@trainer()` or `@guide()`."
                )
            self.parts.append(spec)


class PartFields(TypedDict, total=False):
    """What may be said of a factory of any kind; each is the field of this name of the part's spec, where it is documented."""

    title: str
    """The first line of the factory's docstring where it is left out."""
    description: str
    requires: tuple[Requirement, ...]
    preload: tuple[str, ...]
    citation: str


class TaskFields(PartFields, total=False):
    """What may be said of a task. Functions stand here themselves, where `TaskSpec` names them."""

    answers: Callable[[dict[str, Any]], Sequence[Values]]
    options: type[BaseModel]
    sizes_of: Callable[[dict[str, Any]], TaskSizes]
    stands_on: Callable[[dict[str, Any]], Mapping[str, str]]
    aggregate: str
    aliases: tuple[str, ...]
    broken: str
    concurrency: int | None
    content: str
    dataset: str | None
    deterministic: bool
    direction: Literal["maximize", "minimize"]
    environments: tuple[str, ...]
    evaluation_timeout: float | None
    groups: tuple[str, ...]
    licence: str
    metric: str
    metric_bounds: dict[str, Bounds]
    modelless: dict[str, tuple[JsonValue, ...]]
    objectives: tuple[Objective, ...]
    readable: tuple[str, ...]
    resources: Resources
    salted: bool
    sandbox: tuple[str, ...] | None
    score_bounds: Bounds
    self_reported: tuple[str, ...]
    size_options: dict[Split, str]
    sizes: TaskSizes | None
    source: str
    tags: tuple[str, ...]
    target: float | None
    timed: bool
    traced: bool
    trainable: bool
    unconfined: bool
    uses_model: bool
    version: TaskVersion
    worst_score: float | None


class TrainerFields(PartFields, total=False):
    """What may be said of a trainer. Its settings are the model that annotates the factory's first parameter."""

    cost: Callable[[Any, TaskShape], CostEstimate]
    """Called with the settings."""
    advice: Callable[[Any, TaskShape], list[str]]
    """Likewise."""
    aliases: tuple[str, ...]
    broken: str
    default_optimizer: str | None
    given: bool
    reads_budget: bool
    resources: Resources
    searches: bool
    sees: tuple[Split, ...]
    setting_aliases: dict[str, str]
    traced_only: bool
    twin: Callable[[Any, Sequence[Parameter]], Twin]
    """Called with the settings and the task's parameters."""
    uses_model: bool


class GuideFields(PartFields, total=False):
    """What may be said of a guide."""

    broken: str
    setting_aliases: dict[str, str]


class _OfTasks(Protocol):
    def __call__(self, factory: AnyTask, /) -> AnyTask: ...


class _OfTrainers(Protocol):
    def __call__(self, factory: AnyTrainer, /) -> AnyTrainer: ...


class _OfGuides(Protocol):
    def __call__(self, factory: AnyGuide, /) -> AnyGuide: ...


def task(name: str = "", **fields: Unpack[TaskFields]) -> _OfTasks:
    """Offer the task that a function or class builds, called with its options as keywords; its own name where none is given.

    Raises:
        PluginError: when it is decorated, and is not to be found by its name in its module, or what is said makes no `TaskSpec`.
    """

    def decorate(factory: AnyTask, /) -> AnyTask:
        _mark(factory, TaskSpec, name, fields)
        return factory

    return decorate


def trainer(name: str = "", **fields: Unpack[TrainerFields]) -> _OfTrainers:
    """Offer the trainer that a class or function builds, called with its settings; its own name where none is given.

    Raises:
        PluginError: as `task` does.
    """

    def decorate(factory: AnyTrainer, /) -> AnyTrainer:
        _mark(factory, TrainerSpec, name, fields, settings=settings_of(factory))
        return factory

    return decorate


def guide(name: str = "", **fields: Unpack[GuideFields]) -> _OfGuides:
    """Offer the guide that a function or class builds, called with the task and keywords; its own name where none is given.

    Raises:
        PluginError: as `task` does.
    """

    def decorate(factory: AnyGuide, /) -> AnyGuide:
        _mark(factory, GuideSpec, name, fields)
        return factory

    return decorate


def spec_of(factory: object) -> TaskSpec | Component | None:
    """Return what a factory's decorator said; None of anything else, a subclass of a decorated class included."""
    found: TaskSpec | Component | None = getattr(factory, "__dict__", {}).get(MARK)
    return found


def settings_of(factory: Callable[..., Any]) -> str | None:
    """Return where the model is that annotates the first parameter of a factory; None where no model does.

    A class may take its `__init__` from another module: names are looked up where the function that is annotated was written.

    Raises:
        PluginError: its name is not there, as where it is imported for type checkers alone.
    """
    first = next(iter(inspect.signature(factory).parameters.values()), None)
    model = first.annotation if first is not None else None
    factory = _unbound(factory)
    names = getattr(_annotated(factory), "__globals__", None) or vars(sys.modules[factory.__module__])
    if isinstance(model, str):
        head, *below = model.strip("\"' ").split(".")
        if not all(name.isidentifier() for name in (head, *below)):
            return None
        if head not in names and not hasattr(builtins, head):
            called = getattr(factory, "__qualname__", type(factory).__qualname__)
            raise PluginError(
                f"`{called}` takes `{model}`, and its module `{names['__name__']}` holds no `{head}`: import it outside of "
                "`if TYPE_CHECKING`."
            )
        model = names.get(head)
        for name in below:
            model = getattr(model, name, None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return None
    found = next((name for name, value in names.items() if value is model), None)
    return _ref(model) if found is None else f"{names['__name__']}:{found}"


def _unbound(factory: Any) -> Any:
    """Return what `functools.partial` calls, which has the name, the words and the module that a partial lacks."""
    while isinstance(factory, partial):
        factory = factory.func
    return factory


def _annotated(factory: Callable[..., Any]) -> object:
    """Return the function whose annotations the signature of a factory shows."""
    if isinstance(factory, type):
        own: Mapping[str, Any] = next(
            (vars(cls) for cls in factory.__mro__[:-1] if {"__init__", "__new__"} & vars(cls).keys()), {}
        )
        return inspect.unwrap(own.get("__new__") or own.get("__init__") or factory)
    return inspect.unwrap(factory)


_SAID: Mapping[type[TaskSpec | Component], Any] = {
    TaskSpec: TaskFields,
    TrainerSpec: TrainerFields,
    GuideSpec: GuideFields,
}
"""What a decorator takes, by what it makes."""


def title_of(factory: object) -> str:
    """Return the first line of a docstring; nothing where there is none."""
    return (inspect.getdoc(_unbound(factory)) or "").partition("\n")[0]


def _mark(factory: Any, kind: type[S], name: str, fields: Mapping[str, Any], **more: str | None) -> None:
    """Leave what is said of a factory with it."""
    if spec_of(factory) is not None:
        raise PluginError(f"`{factory.__qualname__}` stands under two decorators: a factory is one part.")
    loader = _ref(factory)
    if derived := sorted((fields.keys() & kind.model_fields.keys()) - _SAID[kind].__optional_keys__):
        raise PluginError(
            f"`{factory.__qualname__}` stands under a decorator that is given `{derived[0]}`, which follows from the factory: leave it out."
        )
    said: dict[str, Any] = {field: _ref(value) if callable(value) else value for field, value in fields.items()} | more
    said.setdefault("title", title_of(factory) or factory.__name__)
    try:
        spec = kind(name=name or factory.__name__, loader=loader, **said)
    except ValidationError as err:
        raise PluginError(f"What is said of `{factory.__qualname__}` makes no `{kind.__name__}`: {told(err)}") from err
    setattr(factory, MARK, spec)


def _ref(named: Any) -> str:
    """Return where a function or class is found.

    Raises:
        PluginError: nowhere: it is nested in another one, or has no name.
    """
    name = getattr(named, "__qualname__", "")
    if not name.isidentifier():
        raise PluginError(
            f"`{name or named}` must stand at the top of a module under a name of its own: the process of a job looks for it there."
        )
    return f"{named.__module__}:{name}"


__all__ = [
    "GuideFields",
    "Part",
    "PartFields",
    "Registry",
    "TaskFields",
    "TrainerFields",
    "guide",
    "spec_of",
    "task",
    "trainer",
]
