"""A config of an earlier bench, or of promptfoo, as one of today, and for each field what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tracebench_core.errors import ConfigError, TraceBenchError, typed
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Kind, PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Component
from tracebench_engine.api.installed.formerly import Subject, former_names
from tracebench_engine.api.installed.promptfoo import from_promptfoo, is_promptfoo
from tracebench_engine.config import document, parse_config
from tracebench_engine.config.canonical import Canonical, level_of
from tracebench_engine.config.problems import Loc, dotted, hide_keys
from tracebench_engine.config.secrets import cut
from tracebench_engine.matrix.settings import known_names

PARTS: tuple[Kind, ...] = ("optimizer", "guide", "logger")


class Became(NamedTuple):
    """What became of a field."""

    line: int | None
    """From 1, in the file that was read."""
    field: str
    words: str
    """Follows the field's name; empty where it is as it was."""
    is_open: bool = False
    """It is for the user to mend."""


class Upgraded(NamedTuple):
    """A config of today."""

    text: str
    rows: list[Became]
    """In the order of the file; what the whole lacks comes last."""


def upgrade(path: Path, host: PluginHost) -> Upgraded:
    """Read a config as earlier benches, or promptfoo, wrote it, and return it as one of today.

    Raises:
        ConfigError: when the file cannot be read, or is neither YAML nor JSON.
    """
    source = document.read(path)
    if is_promptfoo(source.data):
        data, told = from_promptfoo(source.data)
    else:
        work = _Upgrade(source.data, host)
        data, told = work.data, work.told
    rows = [
        Became(source.line(loc), cut(dotted(loc)), hide_keys(words), is_open) for loc, (words, is_open) in told.items()
    ]
    rows += [Became(source.line(loc), cut(dotted(loc)), "") for loc in _leaves(source.data) if not _is_told(loc, told)]
    rows.sort(key=lambda row: row.line or 0)
    try:
        parse_config(data, origin=path.name)
    except ConfigError as err:
        rows += [Became(None, "", line, is_open=True) for line in str(err).splitlines()]
    text = yaml.dump(data, Dumper=document.Dumper, sort_keys=False, allow_unicode=True, width=120)
    return Upgraded(text, rows)


def _leaves(raw: Any, loc: Loc = ()) -> Iterator[Loc]:
    inner = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    if not raw or not isinstance(raw, dict | list):
        yield loc
    for step, value in inner:
        yield from _leaves(value, (*loc, step))


def _is_told(loc: Loc, told: dict[Loc, tuple[str, bool]]) -> bool:
    return any(loc[:length] in told for length in range(1, len(loc) + 1))


class _Upgrade:
    """The work on one config.

    Attributes:
        data: the config as it is now.
        told: by the field as it was written: what became of it, and whether that is for the user to mend.
    """

    def __init__(self, raw: dict[str, Any], host: PluginHost) -> None:
        self._form = Canonical(raw)
        self._host = host
        self._former = former_names(host)
        self.data = self._form.data
        self.told: dict[Loc, tuple[str, bool]] = {}
        for problem in self._form.problems:
            self.told[problem.loc] = (problem.text, True)
        for loc in _leaves(raw):
            if loc and level_of(loc[:-1]) is not None and _at(raw, loc) is None:
                self.told[loc] = ("is empty, which is the default, and left out.", False)
        for now, origin in sorted(self._form.written.items(), key=lambda pair: len(pair[0])):
            is_moved = isinstance(origin[-1], str) and now not in {origin, (*origin, "id")}
            if is_moved and origin not in self.told:
                self.told[origin] = (f"is `{dotted(now)}` now.", False)
        for i, task in _dicts(self.data.get("tasks")):
            self._task(task, ("tasks", i, "id"))
        for i, trainer in _dicts(self.data.get("trainers")):
            self._trainer(trainer, ("trainers", i))

    def _tell(self, loc: Loc, words: str, *, is_open: bool = False) -> None:
        origin = self._form.origin_of(loc)
        before = self.told.get(origin, ("", False))
        self.told[origin] = (f"{before[0]} {words}".strip(), before[1] or is_open)

    def _task(self, task: dict[str, Any], loc: Loc) -> None:
        name = str(task.get("id", ""))
        try:
            ids = resolve_task_ids(self._host, name)
        except TraceBenchError as err:
            self._replaced("task", task, "id", loc, str(err), lacking=self._lacking(name))
            return
        if len(ids) == 1 and ids[0] != name and not name.endswith((":all", "*")):
            task["id"] = ids[0]
            self._tell(loc, f"`{name}` is called `{ids[0]}` now.")

    def _lacking(self, task: str) -> str:
        """Say what the suite of a task lacks, where it lists none that can run here; its tasks come with it."""
        suite = task.partition(":")[0]
        lacking = self._host.catalog().lacking(suite)
        return f"cannot be looked up here: `{suite}` {lacking}." if lacking else ""

    def _replaced(
        self, kind: Subject, entry: dict[str, Any], field: str, loc: Loc, error: str, *, lacking: str = ""
    ) -> dict[str, Any] | None:
        """Put the name of today in place of one that nobody offers; return the settings that the old one meant."""
        name = str(entry.get(field, ""))
        former = self._former.get((kind, "", name))
        if former is None or former.now is None:
            self._tell(loc, lacking or (former.why if former else error), is_open=True)
            return None
        if missing := self._missing(kind, former.now):
            self._tell(loc, f"`{name}` is `{former.now}` now, which cannot be used here: {missing}", is_open=True)
            return None
        entry[field] = former.now
        self._tell(loc, f"`{name}` is `{former.now}` now: {former.why}")
        return former.settings

    def _missing(self, kind: Subject, name: str) -> str:
        """Return why a name of today is not to be had here; what a plugin says of earlier names is not taken on trust."""
        try:
            if kind == "task":
                resolve_task_ids(self._host, name)
            else:
                self._host.component(kind, name)  # type: ignore[arg-type]  # a subject that is a kind of part
        except TraceBenchError as err:
            return str(err)
        return ""

    def _parts(self, trainer: dict[str, Any], loc: Loc) -> None:
        for kind in PARTS:
            if isinstance(name := trainer.get(kind), str):
                try:
                    self._host.component(kind, name)
                except TraceBenchError as err:
                    self._replaced(kind, trainer, kind, (*loc, kind), str(err))  # type: ignore[arg-type]  # a subject

    def _trainer(self, trainer: dict[str, Any], loc: Loc) -> None:
        self._parts(trainer, loc)
        name = str(trainer.get("id", ""))
        meant: dict[str, Any] = {}
        try:
            spec = self._host.component("trainer", name)
        except TraceBenchError as err:
            found = self._replaced("trainer", trainer, "id", (*loc, "id"), str(err))
            if found is None:
                return
            meant, spec = found, self._host.component("trainer", trainer["id"])
        if spec.name != trainer["id"]:
            trainer["id"] = spec.name
            self._tell((*loc, "id"), f"`{name}` is called `{spec.name}` now.")
        if meant and not trainer.get("params_variants"):
            trainer["params_variants"] = [{}]
        for i, variant in _dicts(trainer.get("params_variants")):
            at = (*loc, "params_variants", i)
            trainer["params_variants"][i] = self._settings(spec, meant | variant, at)

    def _settings(self, spec: Component, variant: dict[str, Any], loc: Loc) -> dict[str, Any]:
        """Return a trainer's settings by their names of today."""
        known = known_names(spec)
        kept = dict(variant)
        for name in variant:
            now = spec.setting_aliases.get(name)
            if now is not None and now not in kept:
                kept = {now if k == name else k: v for k, v in kept.items()}
                self._tell((*loc, name), f"is `{now}` now.")
            elif known is not None and name not in known and name != "optimizer_kwargs":
                self._setting(spec.name, kept, name, (*loc, name), known)
        return kept

    def _setting(self, owner: str, variant: dict[str, Any], name: str, loc: Loc, known: set[str]) -> None:
        former = self._former.get(("setting", owner, name))
        if former is None:
            self._tell(loc, f"`{owner}` has no such setting.{did_you_mean(name, known)}", is_open=True)
            return
        if former.now is not None and former.now not in known:
            words = f"`{name}` is `{former.now}` now, which `{owner}` does not have here."
            self._tell(loc, words, is_open=True)
            return
        value = variant.pop(name)
        if former.now is not None:
            variant[former.now] = value
        self._tell(loc, f"is {f'`{former.now}` now' if former.now else 'left out'}: {typed(former.why)}")


def _at(raw: Any, loc: Loc) -> Any:
    for step in loc:
        raw = raw[step]
    return raw


def _dicts(items: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the mappings of a list with their places; what else stands there is told when the whole is checked."""
    return [(i, item) for i, item in enumerate(items) if isinstance(item, dict)] if isinstance(items, list) else []
