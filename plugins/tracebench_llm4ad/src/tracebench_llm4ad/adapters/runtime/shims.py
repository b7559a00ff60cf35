"""Stand-ins for what foreign task modules import and do not need: opto, plotting, the old gym, names that numpy 2 dropped."""

from __future__ import annotations

import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DRAWING = ("matplotlib", "seaborn")
"""Always replaced: evaluators import them for pictures that nobody looks at."""
LOGGING = ("wandb", "tensorboardX", "ttkbootstrap")
"""Replaced where they are not installed."""
HUBS = ("datasets", "huggingface_hub")
"""Replaced, where they are not installed, by modules whose functions refuse when they are called."""
NUMPY_NAMES = {
    "float_": "float64",
    "complex_": "complex128",
    "Inf": "inf",
    "Infinity": "inf",
    "infty": "inf",
    "NaN": "nan",
    "product": "prod",
    "cumproduct": "cumprod",
    "trapz": "trapezoid",
    "in1d": "isin",
}
NEWER_ENVIRONMENTS = {"LunarLander-v2": "LunarLander-v3", "LunarLanderContinuous-v2": "LunarLanderContinuous-v3"}

_resets: dict[str, Iterator[int]] = {"seeds": itertools.count()}


def seed_resets(seed: int) -> None:
    """Number the resets of all environments from `seed` on."""
    _resets["seeds"] = itertools.count(seed % 2**31)


class Nothing:
    """Takes every call, attribute and item, and is nothing."""

    def __call__(self, *args: Any, **kwargs: Any) -> Nothing:
        """Return nothing."""
        return self

    def __getattr__(self, name: str) -> Nothing:
        """Have every public attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Nothing:
        """Hold every item."""
        return self

    def __iter__(self) -> Iterator[Nothing]:
        """Unpack into a figure and its axes."""
        return iter((self, self))


class _EmptyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _EmptyModules(MetaPathFinder, Loader):
    """Finds an empty module for every name below the given ones."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Answer for the given names and all below them."""
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] in self._names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module that has every attribute."""
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""


class Evaluation(ABC):
    """LLM4AD's base class: keeps the settings under their names."""

    def __init__(
        self,
        template_program: Any = "",
        task_description: str = "",
        *args: Any,
        timeout_seconds: Any = 30,
        **kwargs: Any,
    ) -> None:
        self.template_program = template_program
        self.task_description = task_description
        self.timeout_seconds = timeout_seconds
        self.kwargs = kwargs

    @abstractmethod
    def evaluate_program(self, program_str: str, callable_func: Callable[..., Any], **kwargs: Any) -> Any:
        """Return the score of a program, or None."""


class Guide:
    """Trace's base class of guides, as far as a task's own guide needs it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.options = kwargs


class EvaluatorGuide(Guide):
    """Stands for the tree's `AutonomousEvaluatorGuide`: it only holds the evaluator, which is then called without it."""

    def __init__(self, evaluator: Any, entry_name: str, import_header: str = "", timeout: float | None = None) -> None:
        super().__init__()
        self.evaluator = evaluator
        self.entry = entry_name
        self.import_header = import_header
        self.timeout = timeout


class ParameterNode:
    """A trainable value of Trace, with its name and description."""

    def __init__(self, data: Any, *, name: str = "", description: str = "", trainable: bool = True, **_: Any) -> None:
        self.data = data
        self.name = name
        self.description = description
        self.trainable = trainable


def node(data: Any, name: str = "", description: str = "", trainable: bool = False, **_: Any) -> ParameterNode:  # noqa: FBT001, FBT002 - Trace's signature
    """Return a node as `opto.trace.node` does."""
    return ParameterNode(data, name=name, description=description, trainable=trainable)


def install(*, read_rows: Callable[..., Any], read_graphs: Callable[..., Any]) -> None:
    """Put every stand-in in its place; `read_rows` and `read_graphs` replace what would fetch data from a hub."""
    absent = [name for name in LOGGING if find_spec(name) is None]
    sys.meta_path.insert(0, _EmptyModules([*DRAWING, *absent]))
    _module("opto")
    trace = _module("opto.trace", node=node, ParameterNode=ParameterNode, Node=ParameterNode, bundle=_bundle)
    trace.nodes = _module("opto.trace.nodes", ParameterNode=ParameterNode, Node=ParameterNode, node=node)  # type: ignore[attr-defined]
    _module("opto.trainer")
    _module("opto.trainer.guide", Guide=Guide, AutoGuide=Guide)
    sys.modules["opto"].trace = trace  # type: ignore[attr-defined]
    _module(
        "llm4ad_loader",
        Evaluation=Evaluation,
        AutonomousEvaluatorGuide=EvaluatorGuide,
        load_subdir_as_text=read_rows,
        load_subdir_as_pickle=read_graphs,
    )
    if find_spec("tqdm") is None:
        _module("tqdm", tqdm=_same, trange=range)
    for name in HUBS:
        if find_spec(name) is None:
            _module(name, __getattr__=lambda _: _no_hub)
    _mend_numpy()
    _mend_gym()


def _module(name: str, **attributes: Any) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    for attribute, value in attributes.items():
        setattr(module, attribute, value)
    sys.modules[name] = module
    return module


def _bundle(*_args: Any, **_kwargs: Any) -> Callable[[Any], Any]:
    return lambda function: function


def _same(items: Any, *_args: Any, **_kwargs: Any) -> Any:
    return items


def _no_hub(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError("this task would fetch its data from a hub; give their folder as TRACEBENCH_COBENCH_DATA")


def _mend_numpy() -> None:
    with suppress(ImportError):
        import numpy as np  # noqa: PLC0415 - a tree may do without

        for old, new in NUMPY_NAMES.items():
            if old not in vars(np):
                setattr(np, old, getattr(np, new))


def _mend_gym() -> None:
    if find_spec("gymnasium") is None:
        return
    sys.meta_path.insert(0, _GymFinder())


class _GymFinder(MetaPathFinder, Loader):
    """Answers `import gym` with a gymnasium that seeds resets and knows the old names."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Answer for `gym` only."""
        if fullname != "gym":
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return gymnasium itself."""
        return mended_gymnasium()

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: gymnasium is loaded."""


def mend_loaded_gymnasium() -> None:
    """Mend gymnasium where a task has imported it under its own name."""
    if "gymnasium" in sys.modules:
        mended_gymnasium()


def mended_gymnasium() -> ModuleType:
    """Return gymnasium, its `make` taking old names and giving environments whose unseeded resets are numbered."""
    import gymnasium  # noqa: PLC0415 - heavy, and few tasks need it

    if getattr(gymnasium.make, "seeded", False):
        return gymnasium
    original = gymnasium.make

    def make(id: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - gymnasium's name
        environment = original(NEWER_ENVIRONMENTS.get(id, id), *args, **kwargs)
        reset = environment.reset

        def numbered(*, seed: int | None = None, options: Any = None) -> Any:
            return reset(seed=next(_resets["seeds"]) if seed is None else seed, options=options)

        environment.reset = numbered  # type: ignore[method-assign]
        return environment

    make.seeded = True  # type: ignore[attr-defined]
    gymnasium.make = make
    return gymnasium
