"""From the text of a config to a `RunConfig`, or to one error that tells everything that is wrong with it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tracebench_core.errors import ConfigError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Price, RunConfig
from tracebench_core.specs.run import OF_RANGE, OF_VALUES
from tracebench_engine.config import document
from tracebench_engine.config.canonical import Canonical, spellings
from tracebench_engine.config.document import Document
from tracebench_engine.config.instead import place_instead, value_instead
from tracebench_engine.config.meant import Meant, elsewhere, entry, meant, within
from tracebench_engine.config.overrides import Override, apply, parse_override
from tracebench_engine.config.problems import LONGEST, Loc, Problem, describe, dotted, render, report
from tracebench_engine.config.secrets import cut
from tracebench_engine.config.shape import kind_at, names_at

MISTYPED = ("_type", "_parsing", "_error")
"""Kinds of pydantic's errors that are about what was written, not about its bounds."""


class FlawedConfigError(ConfigError):
    """A config with problems, and what is sound of it."""

    def __init__(self, message: str, *, hint: str, sound: RunConfig | None) -> None:
        super().__init__(message, hint=hint)
        self.sound = sound


def load_config(path: str | Path, *, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a YAML or JSON config; `overrides` are `key=value` texts, applied in order.

    Raises:
        ConfigError: naming file, line and field of every problem.
    """
    return _build(document.read(Path(path)), overrides)


def parse_config(mapping: Mapping[str, Any], *, overrides: Sequence[str] = (), origin: str = "<config>") -> RunConfig:
    """Build a config from a mapping, with everything that a file may say.

    Raises:
        ConfigError: naming every field with a problem.
    """
    source = Document(origin, dict(mapping))
    report(document.unfit_for_json(source.data), source)
    return _build(source, overrides)


def _build(source: Document, overrides: Sequence[str]) -> RunConfig:
    form = Canonical(source.data)
    changes = [parse_override(text) for text in overrides]
    data = form.data
    for change in changes:
        data = apply(data, change)
    changed = Canonical(data) if changes else form
    problems = [*form.problems, *_from(changed.problems, form, changes), *_wrong(changed.data, form, changes)]
    try:
        config = RunConfig.model_validate_json(json.dumps(changed.data), strict=True)
    except ValidationError as err:
        told: list[dict[str, Any]] = [dict(error) for error in err.errors()]
        named = {e["loc"][:2] for e in told if e["type"] == "missing" and entry(e["loc"], e.get("input")) is not None}
        problems += [
            _problem(error, form, changes, source)
            for error in told
            if error["type"] != "extra_forbidden" or error["loc"][:2] not in named
        ]
    try:
        report(problems, source)
    except ConfigError as err:
        sound = sound_part(changed.data, [problem.loc for problem in problems])
        raise FlawedConfigError(str(err), hint=err.hint, sound=sound) from None
    return config


def _wrong(data: Mapping[str, Any], form: Canonical, changes: Sequence[Override]) -> list[Problem]:
    return _from([*_misplaced(data), *_repeats(data)], form, changes)


def _misplaced(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what stands among a trainer's settings and is none."""
    for loc, variant in _variants(data):
        if "eval_kwargs" in variant:
            yield Problem(
                (*loc, "eval_kwargs"),
                "belongs to tasks: all trainers are evaluated alike. Move it to `eval_kwargs` or `tasks[…].eval_kwargs`.",
            )
        if not isinstance(variant.get("optimizer_kwargs", {}), dict):
            yield Problem((*loc, "optimizer_kwargs"), f"must be a mapping, not {render(variant['optimizer_kwargs'])}.")


def _repeats(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield every item of the matrix that is there twice: its jobs would be the same jobs."""
    lists: list[tuple[Loc, Any]] = [
        ((name,), data.get(name)) for name in ("tasks", "trainers", "seeds", "llm_variants")
    ]
    trainers = data.get("trainers")
    for i, trainer in enumerate(trainers if isinstance(trainers, list) else ()):
        if isinstance(trainer, dict):
            lists.append((("trainers", i, "params_variants"), trainer.get("params_variants")))
    for loc, items in lists:
        first: dict[bytes, int] = {}
        for i, item in enumerate(items if isinstance(items, list) else ()):
            same = first.setdefault(canonical_json(_without_defaults(item)), i)
            if same != i:
                yield Problem((*loc, i), f"is the same as `{dotted((*loc, same))}`.")


def _without_defaults(entry: Any) -> Any:
    """Return an entry without its empty fields, so that `x` and `{id: x, eval_kwargs: {}}` compare equal."""
    return {k: v for k, v in entry.items() if v not in ({}, [{}], [])} if isinstance(entry, dict) else entry


def _variants(data: Mapping[str, Any]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    trainers = data.get("trainers")
    for i, trainer in enumerate(trainers if isinstance(trainers, list) else ()):
        variants = trainer.get("params_variants") if isinstance(trainer, dict) else None
        for j, variant in enumerate(variants if isinstance(variants, list) else ()):
            if isinstance(variant, dict):
                yield ("trainers", i, "params_variants", j), variant


def _problem(error: Mapping[str, Any], form: Canonical, changes: Sequence[Override], source: Document) -> Problem:
    """Put a pydantic error into words, at the place where the user wrote the field."""
    loc = place_of(error)
    if loc and loc[-1] == "[key]":
        text = describe({**error, "type": "extra_forbidden", "loc": loc[:-1]}, names_at(loc[:-2]))
        return placed(Problem(loc[:-1], text), form, changes)
    found = placed(Problem(loc, ""), form, changes)
    value = error.get("input")
    if isinstance(value, str) and (shown := cut(value)) != value:
        return replace(found, text=describe({**error, "input": shown}, spellings(loc[:-1])))
    guess = _guess(loc, error)
    if error["type"] == "string_type" and (spelt := _number_as_written(value, found, source)):
        guess = Meant(json.dumps(spelt), f"is the text; without quotes it is the number `{value}`")
    if error["type"] == "extra_forbidden":
        written = elsewhere(str(loc[0]), value) if len(loc) == 1 else place_instead(loc, value) or within(loc, value)
        return replace(found, text=describe(error, spellings(loc[:-1]), guess=written))
    if error["type"] == "missing" and (works := entry(loc, value)) is not None:
        return replace(found, text=describe(error, (), guess=f" Write `{works}`."))
    if guess is None:
        return replace(found, text=describe(error, spellings(loc[:-1]), guess=place_instead(loc, value)))
    key = found.loc[-1]
    line = f"{key}: {guess.text}" if isinstance(key, str) else guess.text
    said = f" `{line}` {guess.words}." if guess.words else f" Write `{line}`."
    return replace(found, text=describe(error, spellings(loc[:-1]), guess=said), mend=f"{dotted(loc)}={guess.text}")


def _number_as_written(value: Any, found: Problem, source: Document) -> str | None:
    """Return the text of which YAML or JSON made a number that is spelt otherwise, as of `1e3`; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    text = source.spelling(found.loc) if found.override is None else found.override.partition("=")[2].strip()
    return text if text and len(text) <= LONGEST and text != str(value) and document.value(text) == value else None


def _guess(loc: Loc, error: Mapping[str, Any]) -> Meant | None:
    """Return what was probably meant by a value of a wrong type, or by one that this place has another word for."""
    if not loc or error["type"] in {"extra_forbidden", "missing"}:
        return None
    if (found := value_instead(loc, error.get("input"))) is not None:
        return Meant(*found)
    return meant(loc, error.get("input")) if str(error["type"]).endswith(MISTYPED) else None


def _from(problems: Iterable[Problem], form: Canonical, changes: Sequence[Override]) -> list[Problem]:
    return [placed(problem, form, changes) for problem in problems]


def placed(problem: Problem, form: Canonical, changes: Sequence[Override]) -> Problem:
    """Return a problem where the user wrote its field: under the name in the file, or in an override."""
    for change in reversed(changes):
        if problem.loc[: len(change.loc)] == change.loc:
            return replace(problem, override=change.text)
    return replace(problem, loc=form.origin_of(problem.loc))


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


def load_prices(path: Path) -> dict[str, Price]:
    """Read a price file, such as `{gpt-4o-mini: {prompt: 0.15, completion: 0.60, cached: 0.075}}`.

    Raises:
        ConfigError: naming file, line and field of every problem, with the nearest valid name for a typo.
    """
    source = document.read(path)
    prices: dict[str, Price] = {}
    problems: list[Problem] = []
    for model, given in source.data.items():
        try:
            prices[str(model)] = Price.model_validate(given, strict=True)
        except ValidationError as err:
            for error in err.errors():
                loc: Loc = (str(model), *error["loc"])
                problems.append(Problem(loc, describe({**error, "loc": loc}, Price.model_fields)))
    report(problems, source)
    return prices
