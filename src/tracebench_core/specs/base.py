"""The common ground of all specs: frozen, closed pydantic models that hold data and do no I/O."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints

Split = Literal["train", "validation", "test"]
Role = Literal["optimizer", "agent", "judge"]
Mode = Literal["stub", "real", "replay"]
Values = dict[str, JsonValue]
"""One value for every parameter, by parameter name: a full assignment, or a partial one where that is said."""

Ref = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
"""A lazily imported object, written `package.module:attribute`."""


class Spec(BaseModel):
    """Base of every spec: immutable, and an unknown field is an error.

    In JSON, numbers that JSON lacks are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`; a float field reads them back.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", defer_build=True)


class ManySpec(Spec):
    """A spec of which one job may have hundreds of thousands. All share one set of the fields that were given, which counts every
    field as given: that set is three quarters of what a small model takes."""

    def model_post_init(self, _context: Any, /) -> None:
        """Let go of the set of its own."""
        object.__setattr__(self, "__pydantic_fields_set__", _fields_of(type(self)))


@cache
def _fields_of(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)
