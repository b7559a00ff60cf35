"""The many spellings of a config brought to one: aliases, short forms and knobs, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tracebench_core.ids import nearest
from tracebench_core.specs.seeds import expand_range
from tracebench_engine.config.problems import Loc, Problem, dotted
from tracebench_engine.config.secrets import secrets_in, without_secrets
from tracebench_engine.config.shape import names_at

Level: TypeAlias = Literal["run", "task", "trainer", "model"]

ALIASES: Mapping[Level, Mapping[str, str]] = MappingProxyType(
    {
        "run": {"runs_root": "runs_dir", "n_concurrent": "max_workers", "seed": "seeds", "models": "llm_variants"},
        "task": {"key": "id", "task": "id"},
        "trainer": {
            "name": "id",
            "trainer": "id",
            "key": "id",
            "params": "params_variants",
            "trainer_kwargs": "params_variants",
        },
        "model": {"api_base": "base_url"},
    }
)
"""Other spellings of fields. Dashes count as underscores everywhere."""

ONE_OF_A_LIST = frozenset({"seed", "params", "trainer_kwargs"})
"""Aliases that give the one item of the list that they stand for."""

KNOBS = frozenset({"threads", "num_threads", "verbose"})
KNOB_GROUP = "tracebench.knobs"
"""Entry-point group in which a plugin names the prefixes of its trainers' settings, each with the plugin's name as its value."""

OF_THE_MODEL = ("model", "base_url", "api_base", "api_key_env")
"""Fields of `llm` that may stand at the top, as most people write them first."""


@cache
def knob_prefixes() -> tuple[str, ...]:
    """Return the prefixes of trainer settings that installed plugins let stand outside of `trainer_kwargs`."""
    return tuple(sorted({point.name for point in entry_points(group=KNOB_GROUP)}))


def is_knob(name: str) -> bool:
    """Tell whether a field is a trainer setting written a level too high."""
    return name in KNOBS or name.startswith(knob_prefixes())


def is_bare_setting(name: str, loc: Loc) -> bool:
    """Tell whether a name that no field at `loc` has, nor one that is much like it, is to be taken for a trainer's setting.

    Whether a trainer knows it is told when trainers are chosen.
    """
    if level_of(loc) not in {"run", "trainer"}:
        return False
    known = spellings(loc)
    return is_knob(name) or (name not in known and name.isidentifier() and nearest(name, known) is None)


def level_of(loc: Loc) -> Level | None:
    """Return which aliases hold for the fields of the mapping at `loc`; None where there are none."""
    match loc:
        case ():
            return "run"
        case ("tasks", int()):
            return "task"
        case ("trainers", int()):
            return "trainer"
        case ("llm",) | ("llm", "roles", str()) | ("llm_variants", int()) | ("llm_variants", int(), "roles", str()):
            return "model"
    return None


def spellings(loc: Loc) -> list[str]:
    """Return every name that may be written in the mapping at `loc`."""
    level = level_of(loc)
    return [*names_at(loc), *(ALIASES[level] if level else ()), *(OF_THE_MODEL if level == "run" else ())]


class Canonical:
    """A config with one spelling for everything. Bringing a canonical config to this form changes nothing.

    Attributes:
        data: what `RunConfig` validates.
        written: for each field that moved, where the user wrote it.
        problems: what stands in the way.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.written: dict[Loc, Loc] = {}
        found = [*secrets_in(raw)]
        self.problems: list[Problem] = [Problem(secret.shown, secret.words) for secret in found]
        self.data = self._run(self._of_the_model(without_secrets(raw, [secret.loc for secret in found])))

    def origin_of(self, loc: Loc) -> Loc:
        """Return where the user wrote the field that is now at `loc`."""
        for length in range(len(loc), 0, -1):
            if (source := self.written.get(loc[:length])) is not None:
                return source + loc[length:]
        return loc

    def _of_the_model(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put `model` and its like, written at the top, into `llm`."""
        lifted = {key: raw[key] for key in raw if key.replace("-", "_") in OF_THE_MODEL and raw[key] is not None}
        rest = {key: value for key, value in raw.items() if key not in lifted}
        llm = raw.get("llm")
        if isinstance(llm, str):
            llm = {"model": llm}
            self.written["llm", "model"] = ("llm",)
        elif llm is None:
            llm = {}
        if not isinstance(llm, dict) or not (lifted or llm):
            return rest  # what `llm` holds is told as it is
        names = {key: _in_the_model(key) for key in (*lifted, *llm)}
        said = {names[key]: key for key, value in llm.items() if value is not None}
        for key, value in lifted.items():
            if (same := said.get(names[key])) is None:
                self.written["llm", names[key]] = (key,)
            elif llm[same] != value:
                self.problems.append(Problem((key,), f"and `llm.{same}` say different things."))
        new = {key: value for key, value in lifted.items() if names[key] not in said}
        empty = {names[key] for key in new}
        return rest | {"llm": {**new, **{key: value for key, value in llm.items() if names[key] not in empty}}}

    def _run(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        data = self._fields(raw, loc=())
        knobs = self._bare_settings(data, ())
        shared = data.get("trainer_kwargs", {})
        if knobs and isinstance(shared, dict):
            self._move({("trainer_kwargs", name): (name,) for name in knobs})
            data["trainer_kwargs"] = {**shared, **knobs}
        self._lower_shared(data)
        if data.get("max_workers") == 0 and data["max_workers"] is not False:
            data["max_workers"] = 1
        if isinstance(data.get("seeds"), str | list):
            data["seeds"] = self._seeds(data["seeds"])
        if data.get("trainers") == []:
            del data["trainers"]
        if isinstance(data.get("tags"), list):
            data["tags"] = [_as_text(tag) for tag in data["tags"]]
        if isinstance(data.get("llm"), dict):
            data["llm"] = self._llm(data["llm"], ("llm",))
        for name, entry in (("tasks", self._task), ("trainers", self._trainer), ("llm_variants", self._llm)):
            if isinstance(data.get(name), list):
                data[name] = [entry(item, (name, i)) for i, item in enumerate(data[name])]
        return data

    @staticmethod
    def _bare_settings(data: dict[str, Any], loc: Loc) -> dict[str, Any]:
        """Take the settings of trainers out of the fields of a mapping."""
        return {name: data.pop(name) for name in [*data] if data[name] is not None and is_bare_setting(name, loc)}

    def _lower_shared(self, data: dict[str, Any]) -> None:
        """Take `optimizer_kwargs` and `eval_kwargs` out of `trainer_kwargs`: they are fields of their own."""
        shared = data.get("trainer_kwargs")
        for name in ("optimizer_kwargs", "eval_kwargs"):
            if isinstance(shared, dict) and isinstance(shared.get(name), dict):
                inner = shared[name]
                shared = {k: v for k, v in shared.items() if k != name}
                own = data.get(name, {})
                self._move({(name, key): ("trainer_kwargs", name, key) for key in inner if key not in own})
                data |= {"trainer_kwargs": shared, name: {**inner, **own}}

    def _seeds(self, raw: str | list[Any]) -> Any:
        """Write ranges out; what is neither a range nor a number stays, and is told when the config is validated."""
        at: list[tuple[Any, Loc]] = [(raw, ("seeds",))] if isinstance(raw, str) else []
        at += [(item, ("seeds", i)) for i, item in enumerate(raw)] if isinstance(raw, list) else []
        found: list[tuple[Any, Loc]] = []
        is_ranged = False
        for item, loc in at:
            try:
                seeds = expand_range(item) if isinstance(item, str) else None
            except ValueError as err:
                self.problems.append(Problem(self.origin_of(loc), str(err)))
                seeds = range(0)
            is_ranged = is_ranged or seeds is not None
            found += [(item, loc)] if seeds is None else [(seed, loc) for seed in seeds]
        if not is_ranged:
            return raw
        first: dict[int, Loc] = {}
        kept: list[tuple[Any, Loc]] = []
        for seed, loc in found:
            if type(seed) is int and first.setdefault(seed, loc) is not loc:
                words = f"holds seed {seed}, which `{dotted(self.origin_of(first[seed]))}` holds, too."
                self.problems.append(Problem(self.origin_of(loc), words))
            else:
                kept.append((seed, loc))
        self._move({("seeds", i): loc for i, (_, loc) in enumerate(kept)})
        return [seed for seed, _ in kept]

    def _llm(self, raw: Any, loc: Loc) -> Any:
        if isinstance(raw, str) and loc[0] == "llm_variants":
            self.written[*loc, "model"] = self.origin_of(loc)
            return {"model": raw}
        if not isinstance(raw, dict):
            return raw
        data = self._fields(raw, loc=loc)
        roles = data.get("roles")
        if isinstance(roles, dict):
            data["roles"] = {
                role: self._fields(model, loc=(*loc, "roles", role)) if isinstance(model, dict) else model
                for role, model in roles.items()
            }
        return data

    def _task(self, raw: Any, loc: Loc) -> Any:
        if isinstance(raw, str):
            self.written[*loc, "id"] = self.origin_of(loc)
            return {"id": raw}
        return self._fields(raw, loc=loc) if isinstance(raw, dict) else raw

    def _trainer(self, raw: Any, loc: Loc) -> Any:
        if not isinstance(raw, dict):
            return self._task(raw, loc)
        data = self._fields(raw, loc=loc)
        knobs = self._bare_settings(data, loc)
        variants = data.get("params_variants")
        if isinstance(variants, list) or (variants is None and knobs):
            variants = [_variant(variant) for variant in variants or [{}]]
            data["params_variants"] = [{**knobs, **v} if isinstance(v, dict) else v for v in variants]
            self._move(
                {
                    (*loc, "params_variants", i, name): (*loc, name)
                    for i, variant in enumerate(variants)
                    for name in knobs
                    if not isinstance(variant, dict) or name not in variant
                }
            )
        return data

    def _fields(self, raw: Mapping[str, Any], *, loc: Loc) -> dict[str, Any]:
        """Rename the fields of one mapping; `null` means the default, and two spellings of one field must agree."""
        level = level_of(loc)
        aliases = ALIASES[level] if level else {}
        data: dict[str, Any] = {}
        source: dict[str, str] = {}
        for key, value in raw.items():
            if value is None:
                if (plain := key.replace("-", "_")) not in spellings(loc) and not is_knob(plain):
                    data[key] = value  # unknown, and told as such
                continue
            spelling = key.replace("-", "_")
            name = aliases.get(spelling, spelling)
            listed = spelling in ONE_OF_A_LIST and name != spelling
            if name in source and data[name] != ([value] if listed else value):
                other = "" if spelling != "name" else " What tables are to call it is its `label`."
                self.problems.append(
                    Problem((*loc, key), f"and `{dotted((*loc, source[name]))}` say different things.{other}")
                )
                continue
            data[name], source[name] = [value] if listed else value, key
            if listed:
                self.written[*loc, name, 0] = (*loc, key)
            if name != key:
                self.written[*loc, name] = (*loc, key)
        return data

    def _move(self, moves: Mapping[Loc, Loc]) -> None:
        self.written |= {now: self.origin_of(source) for now, source in moves.items()}


def _in_the_model(key: str) -> str:
    spelling = key.replace("-", "_")
    return ALIASES["model"].get(spelling, spelling)


def _variant(raw: Any) -> Any:
    """Return a trainer's settings without the empty keywords for others that may stand among them."""
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        return raw
    return {k: v for k, v in raw.items() if k not in {"optimizer_kwargs", "eval_kwargs"} or v not in (None, {})}


def _as_text(tag: Any) -> Any:
    return str(tag) if isinstance(tag, int | float) and not isinstance(tag, bool) else tag
