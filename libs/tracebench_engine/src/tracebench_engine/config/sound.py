"""What is left of a config without its wrong fields, so that the names in the rest can be looked up in the same go."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from tracebench_core.specs import RunConfig
from tracebench_core.specs.run import OF_RANGE, OF_VALUES
from tracebench_engine.config.problems import Loc
from tracebench_engine.config.shape import kind_at

MATRIX = ("tasks", "trainers")
"""Lists whose items keep their places, as messages count them."""
ROUNDS = 5
"""A mistake can hide another; so often is looked again."""
_GAP = {"id": "-"}


def place_of(error: Mapping[str, Any]) -> Loc:
    """Return the field that a pydantic error is about; of an error about the whole, the field that it names first."""
    loc: Loc = tuple(step for step in error["loc"] if step not in {OF_VALUES, OF_RANGE})
    if not loc and (named := re.match(r".*?`(\w+)", str(error["msg"]))) and kind_at((named[1],)) is not None:
        return (named[1],)
    return loc


def sound_part(data: Mapping[str, Any], wrong: Iterable[Loc]) -> RunConfig | None:
    """Return a config without some fields; None when nothing holds without them.

    A task or trainer that cannot do without such a field stays in its place, with an empty id.
    """
    left = copy.deepcopy(dict(data))
    gaps: set[Loc] = set()
    for _ in range(ROUNDS):
        for loc in wrong:
            _take_out(left, loc, gaps)
        try:
            return _with_gaps(RunConfig.model_validate_json(json.dumps(left), strict=True), gaps)
        except ValidationError as err:
            wrong = [place_of(dict(error)) for error in err.errors()]
    return None


def _take_out(left: dict[str, Any], loc: Loc, gaps: set[Loc]) -> None:
    """Take a field out; where it is missing, what cannot do without it."""
    while loc:
        above, last = loc[:-1], loc[-1]
        at = _at(left, above)
        if len(above) == 1 and above[0] in MATRIX and isinstance(at, list) and isinstance(last, int) and last < len(at):
            at[last] = _GAP
            gaps.add(loc)
            return
        if isinstance(at, dict) and last in at:
            del at[last]
            if not above and last in MATRIX:
                left[last] = [_GAP]
                gaps.add((last, 0))
            return
        loc = above


def _at(left: Any, loc: Loc) -> Any:
    for step in loc:
        try:
            left = left[step]
        except (KeyError, IndexError, TypeError):
            return None
    return left


def _with_gaps(config: RunConfig, gaps: Iterable[Loc]) -> RunConfig:
    lists: dict[str, list[Any]] = {name: [*getattr(config, name)] for name in MATRIX}
    for name, i in gaps:
        lists[str(name)][int(i)] = lists[str(name)][int(i)].model_copy(update={"id": ""})
    return config.model_copy(update={name: tuple(items) for name, items in lists.items()})
