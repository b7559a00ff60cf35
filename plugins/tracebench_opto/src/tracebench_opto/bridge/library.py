"""Import opto without what importing it costs: no model libraries, no words on stdout, no warnings, no network."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tracebench_core.errors import MissingRequirementError
from tracebench_opto.bridge.frames import quick_frames

DEFERRED = ("litellm", "openai", "black")
"""Modules that opto imports at its top, and that this plugin never lets it use: 1.5 s and more saved."""
INSTALL = 'pip install "tracebench-engine[opto]"'


def load(module: str) -> Any:
    """Import a module of opto.

    Modules in `DEFERRED` that are not imported yet are stood in for while opto is imported; whoever uses one later gets the real one.

    Raises:
        MissingRequirementError: when opto, or something that it needs, is not installed.
    """
    if module in sys.modules:
        return sys.modules[module]
    before = {*sys.modules}
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with _stand_ins(), quick_frames():
                    return importlib.import_module(module)
            except ImportError:
                _forget({*sys.modules} - before)
                return importlib.import_module(module)
    except ModuleNotFoundError as err:
        raise MissingRequirementError(f"`{module}` needs the module `{err.name}`.", hint=INSTALL) from err


@contextlib.contextmanager
def _stand_ins() -> Iterator[None]:
    placed = {name: _StandIn(name) for name in DEFERRED if name not in sys.modules}
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, stand_in in placed.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


def _forget(modules: set[str]) -> None:
    for name in modules:
        if name.partition(".")[0] == "opto":
            del sys.modules[name]


class _StandIn(ModuleType):
    """A module whose attributes import the real module when they are used."""

    def __getattr__(self, name: str) -> _Deferred:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Deferred(self.__name__, name)


class _Deferred:
    """An attribute of a module that is imported on first use."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _real(self) -> Any:
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[Any, ...]:
        return (self._real(),)
