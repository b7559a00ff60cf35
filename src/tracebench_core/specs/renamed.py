"""What a plugin that was written for an earlier core is told: in one line, with the names of today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from tracebench_core.errors import PluginError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs.base import Spec


class Renamed(NamedTuple):
    """What a field is called now."""

    now: str
    since: str
    """The minor version of the core that brought the new name."""


RENAMED: Mapping[tuple[str, str], Renamed] = {
    ("TaskSpec", "failure_score"): Renamed("worst_score", "0.2"),
    ("Component", "aliases"): Renamed("setting_aliases", "0.2"),
}
"""By class, which stands for its subclasses, too, and the field's name of before."""


def told(err: BaseException) -> str:
    """Return an error of a plugin in one line; what pydantic says of a spec is said in our words."""
    if isinstance(err, ValidationError):
        return " ".join(dict.fromkeys(told_fields(err)))
    words = " ".join(str(err).split())
    return words if isinstance(err, PluginError) else f"{type(err).__name__}: {words}"


def told_fields(err: ValidationError) -> Iterator[str]:
    """Yield a sentence for each field that a model does not take, with its name of today where it was renamed."""
    kind = next((spec for spec in _below(Spec) if spec.__name__ == err.title), None)
    for error in err.errors(include_url=False, include_context=False):
        field = ".".join(map(str, error["loc"]))
        is_unknown = error["type"] == "extra_forbidden"
        renamed = _renamed(kind, field) if is_unknown or isinstance(error["input"], Mapping) else None
        if renamed is not None:
            yield f"`{err.title}.{field}` is `{renamed.now}` since {renamed.since}."
        elif is_unknown and kind is not None and len(error["loc"]) == 1:
            yield f"`{err.title}` has no field `{field}`.{did_you_mean(field, kind.model_fields)}"
        else:
            yield f"`{'.'.join(filter(None, (err.title, field)))}`: {' '.join(error['msg'].split())}."


def _renamed(kind: type[BaseModel] | None, field: str) -> Renamed | None:
    owners = kind.__mro__ if kind is not None else ()
    return next((row for owner in owners if (row := RENAMED.get((owner.__name__, field)))), None)


def _below(kind: type[Any]) -> Iterator[type[BaseModel]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)
