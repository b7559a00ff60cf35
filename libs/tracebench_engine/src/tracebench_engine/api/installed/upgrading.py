"""A config of an earlier bench, or of promptfoo, as one of today, and for each field what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import yaml

from tracebench_core.errors import ConfigError, TraceBenchError, typed
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Kind, PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Component
from tracebench_engine.config import document, parse_config
from tracebench_engine.config.canonical import Canonical, level_of
from tracebench_engine.config.problems import Loc, dotted, hide_keys
from tracebench_engine.config.secrets import cut, secrets_in
from tracebench_engine.matrix.plan import NO_LOGGER
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
            name = trainer.get(kind)
            if not isinstance(name, str) or (kind == "logger" and name.casefold() in NO_LOGGER):
                continue
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


Subject: TypeAlias = Literal["task", "trainer", "optimizer", "guide", "logger", "setting"]
FILE = "formerly.json"


class Former(NamedTuple):
    """What a name of earlier configs stands for now."""

    now: str | None
    """The name of today; None where there is none, and what stands there goes."""
    settings: dict[str, Any]
    """Of a trainer: the settings that its old name meant."""
    why: str
    """A sentence for the user."""


def former_names(host: PluginHost) -> dict[tuple[Subject, str, str], Former]:
    """Return what installed plugins say of earlier names: by kind, owner (of a setting, else empty) and name."""
    found: dict[tuple[Subject, str, str], Former] = {}
    for record in host.records.values():
        if record.entry_point is None:
            continue
        try:
            told = json.loads((files(record.entry_point.module.partition(".")[0]) / FILE).read_text("utf-8"))
            for row in told:
                former = Former(row.get("now"), dict(row.get("settings", {})), str(row["why"]))
                found.setdefault((row["kind"], str(row.get("of", "")), str(row["name"])), former)
        except (ImportError, OSError, ValueError, TypeError, KeyError, AttributeError):
            continue
    return found


Told = dict[Loc, tuple[str, bool]]
OF_MODELS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "top_p": "top_p",
    "seed": "seed",
    "apiBaseUrl": "base_url",
    "apiKeyEnvar": "api_key_env",
}
"""Settings of a provider there, and the fields of a model here."""
MODES = frozenset({"chat", "completion", "messages", "responses"})
MOST = 1000
"""Repetitions, and jobs at a time, that are taken over."""
OF_A_TASK = "belongs to a task, which is a program here: trace-bench init suite NAME"
GONE = "has no counterpart, and is left out."


def is_promptfoo(raw: dict[str, Any]) -> bool:
    """Tell whether a config is promptfoo's."""
    return "providers" in raw and bool(raw.keys() & {"prompts", "tests"})


def from_promptfoo(raw: dict[str, Any]) -> tuple[dict[str, Any], Told]:
    """Return what can be said of it in a config of ours, and what became of each field."""
    told: Told = {}
    variants: list[dict[str, Any]] = []
    providers = raw["providers"] if isinstance(raw["providers"], list) else [raw["providers"]]
    for i, provider in enumerate(providers):
        loc: Loc = ("providers", i) if isinstance(raw["providers"], list) else ("providers",)
        variants += _model(provider, loc, told)
    config: dict[str, Any] = {"tasks": [], "mode": "real", "llm_variants": variants}
    for name, value in raw.items():
        if name == "evaluateOptions" and isinstance(value, dict):
            _options(value, config, told)
        elif name in {"prompts", "tests", "defaultTest", "scenarios"}:
            told[name,] = (OF_A_TASK, True)
        elif name != "providers":
            told[name,] = (GONE, False)
    return config, told


def _model(provider: Any, loc: Loc, told: Told) -> list[dict[str, Any]]:
    """Return a provider as a model of ours; none when it is no model."""
    named = provider.get("id") if isinstance(provider, dict) else provider
    if named is None and isinstance(provider, dict) and len(provider) == 1:
        ((named, provider),) = provider.items()
    kind, colon, rest = str(named).partition(":")
    if not colon or kind in {"exec", "python", "file", "http", "https", "webhook"}:
        told[loc] = ("is a program or an address, no model; a trainer of your own may call it.", True)
        return []
    mode, _, name = rest.partition(":")
    model = {"model": f"{kind}/{name if mode in MODES and name else rest}"}
    settings = provider.get("config") if isinstance(provider, dict) else None
    lost, secret = [], []
    for field, value in settings.items() if isinstance(settings, dict) else ():
        if [*secrets_in({OF_MODELS.get(field, field): value})]:
            secret.append(f"`{field}`")
        elif field in OF_MODELS:
            model[OF_MODELS[field]] = value
        else:
            lost.append(f"`{field}`")
    words = f"is the model `{model['model']}` of `llm_variants` now."
    words += f" Without counterpart, and left out: {', '.join(lost)}." if lost else ""
    if secret:
        held = f"{', '.join(secret)} {'holds what looks' if len(secret) == 1 else 'hold what look'} like a secret"
        words += f" {held}: left out; export it as a variable, and name that one by `api_key_env`."
    told[loc] = (words, bool(secret))
    return [model]


def _options(options: dict[str, Any], config: dict[str, Any], told: Told) -> None:
    for name, value in options.items():
        if name == "maxConcurrency" and _counts(value):
            config["max_workers"] = value
            told["evaluateOptions", name] = ("is `max_workers` now.", False)
        elif name == "repeat" and _counts(value):
            config["seeds"] = [*range(1, value + 1)]
            told["evaluateOptions", name] = (f"is `seeds: 1..{value}` now.", False)
        elif name in {"maxConcurrency", "repeat"}:
            told["evaluateOptions", name] = (f"is left out: it is no number from 1 to {MOST:,}.", True)
        else:
            told["evaluateOptions", name] = (GONE, False)


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST
