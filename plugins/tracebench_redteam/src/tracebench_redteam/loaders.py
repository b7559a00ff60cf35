"""A loader for each task, by its name: `place_kind`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tracebench_redteam.attacks import offered
from tracebench_redteam.task import Gain, build

LOADERS: dict[str, Callable[[], Gain]] = {
    name.replace("/", "_").replace("-", "_"): partial(build, place, kind) for name, (place, kind) in offered().items()
}


def __getattr__(name: str) -> Callable[[], Gain]:
    if name in LOADERS:
        return LOADERS[name]
    raise AttributeError(name)
