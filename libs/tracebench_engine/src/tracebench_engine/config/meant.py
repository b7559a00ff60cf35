"""What was probably meant by a value of a wrong type: `seeds: 3`, `budget: $5`, `job_timeout: 5m`, as the text that works."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Any, NamedTuple, get_args, get_origin

from tracebench_core.ids import nearest
from tracebench_core.specs.budget import AXES, Budget
from tracebench_engine.config.instead import of_models
from tracebench_engine.config.problems import Loc
from tracebench_engine.config.shape import kind_at, names_at

FEW = 30
"""A lone number up to this is taken for how many seeds, a larger one for a seed."""
LONGEST = 200
"""Letters of a value that is shown."""
MOST = 1e15
"""An amount from which on nothing is guessed; below it a number is whole to the unit."""
_AMOUNT = re.compile(r"([$]?)\s*((?:[0-9][0-9_,]*)?(?:\.[0-9]+)?)\s*([A-Za-z%$]*)(?:\s+([a-z_ ]+))?")
_DECIMAL_COMMA = re.compile(r"^(0|[0-9]+(?=,(?![0-9]{3}$))),([0-9]+)$")
"""`0,5` and `2,50`; `1,000` is a thousand."""
_TIMES = {
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "ms": 0.001,
}  # fmt: skip
_MONEY = {"$": 1, "usd": 1, "dollar": 1, "dollars": 1, "ct": 0.01, "cent": 0.01, "cents": 0.01}
_COUNTS = {"k": 1e3, "m": 1e6, "mio": 1e6, "million": 1e6, "b": 1e9}
_SIZES = {"m": 1, "mb": 1, "mib": 1, "g": 1024, "gb": 1024, "gib": 1024, "k": 1 / 1024, "kb": 1 / 1024}
_AXIS = {
    "evals": "evaluations",
    "evaluation": "evaluations",
    "steps": "evaluations",
    "calls": "llm_calls",
    "call": "llm_calls",
}
_AXIS |= {"llm calls": "llm_calls", "token": "tokens", "requests": "llm_calls"}
_SPAN = re.compile(r"(-?[0-9]{1,18})\s*(?:-|\u2013|:|\.{2,3}|to)\s*(-?[0-9]{1,18})")
_RANGE = re.compile(r"range\(\s*(?:([0-9]{1,18})\s*,)?\s*([0-9]{1,18})\s*\)")
_MANY = re.compile(r"x?\s*([0-9]{1,18})\s*(?:seeds?)?")
_CAPS = dict.fromkeys(
    ("evaluations", "max_evaluations", "max_evals", "evals", "iterations", "max_iterations", "n_iterations"),
    "evaluations",
)
_CAPS |= dict.fromkeys(("epochs", "steps", "max_steps", "trials", "n_trials"), "evaluations")
_CAPS |= dict.fromkeys(("usd", "cost", "max_cost", "max_usd", "dollars", "price"), "usd")
_CAPS |= dict.fromkeys(("llm_calls", "max_calls", "max_llm_calls", "calls", "requests"), "llm_calls")
_CAPS |= {
    "tokens": "tokens",
    "max_total_tokens": "tokens",
    "token_budget": "tokens",
    "seconds": "seconds",
    "time_limit": "seconds",
}
"""What others call a cap at the top of a config, by the axis of the budget that it is here."""
_MANY_SEEDS = frozenset({"repeats", "repeat", "n_seeds", "num_seeds", "repetitions", "n_runs", "num_runs"})
_OF_TRAINERS = frozenset({"optimizer", "guide", "logger"})
_OTHERS = dict.fromkeys(
    ("parallel", "workers", "n_workers", "num_workers", "n_jobs", "jobs", "concurrency"), "max_workers"
)
_OTHERS |= dict.fromkeys(("output", "output_dir", "out_dir", "outdir", "results_dir", "log_dir"), "runs_dir")
_OTHERS |= dict.fromkeys(("name", "run_name", "experiment", "experiment_name"), "run_id")
_OTHERS |= dict.fromkeys(("timeout", "time_out", "job_time_limit"), "job_timeout")
_LISTS = dict.fromkeys(("algorithm", "algorithms", "method", "methods", "agent", "agents"), "trainers")
_LISTS |= dict.fromkeys(("benchmark", "benchmarks", "dataset", "datasets", "problem", "problems"), "tasks")
_LISTS |= dict.fromkeys(("suite", "suites"), "tasks")
_WITHIN = {
    "budget": {
        **_CAPS,
        **dict.fromkeys(("money", "spend"), "usd"),
        **dict.fromkeys(("time", "timeout", "minutes", "hours"), "seconds"),
    },
    "llm": {
        "name": "model",
        "id": "model",
        "temp": "temperature",
        "url": "base_url",
        "endpoint": "base_url",
        "api_base": "base_url",
    },
}
"""What others call a field within one of ours."""
_OPTIONS = frozenset({"args", "kwargs", "options", "params", "settings", "task_kwargs", "config"})
"""What others call the options of a task."""
_IN_UNITS = {"minutes": 60, "hours": 3600}
_NOT_TEXT = frozenset({"true", "yes", "on", "false", "no", "off", "null"})
"""Words that YAML reads as something else."""
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "1.0": True}
_TRUTH |= {"false": False, "no": False, "off": False, "0": False, "0.0": False}


class Meant(NamedTuple):
    """A value as a config takes it, and what to say beside it."""

    text: str
    words: str = ""


def meant(loc: Loc, value: Any) -> Meant | None:
    """Return what a value at `loc` was probably meant to be, None where nothing is likely or fits into a line."""
    alone = entry(loc, value) if len(loc) == 1 else None
    found = _meant(loc, value) if alone is None else Meant(f"[{alone}]")
    return found if found is not None and len(found.text) <= LONGEST else None


def elsewhere(name: str, value: Any) -> str:
    """Return in a sentence how a field is written that others have at the top, and that is another one here; empty when none is known."""
    plain = name.strip().replace("-", "_").casefold()
    if plain in _CAPS:
        cap = _CAPS[plain]
        text = f"budget: {{{cap}: {_amount_of(value, cap)}}}"
    elif plain in _MANY_SEEDS:
        count = _amount_of(value, "evaluations")
        text = f"seeds: 1..{5 if count in {'0', '…'} else count}"
    elif plain in _OF_TRAINERS and isinstance(value, str):
        text = f"trainers: [{{id: …, {plain}: {_flow(value)}}}]"
    elif plain in _OTHERS and isinstance(value, str | int) and len(str(value)) <= LONGEST:
        text = f"{_OTHERS[plain]}: {_other(_OTHERS[plain], value)}"
    elif plain in _LISTS and isinstance(value, str | list):
        found = _meant((_LISTS[plain],), value)
        text = f"{_LISTS[plain]}: {_flow(value) if found is None else found.text}"
    else:
        return of_models(plain, value)
    return f" It is written `{text}`." if len(text) <= LONGEST else ""


def within(loc: Loc, value: Any) -> str:
    """Return in a sentence how a field of `budget`, `llm` or a task is written that others place or name differently; else nothing."""
    if len(loc) == 3 and loc[0] in {"tasks", "trainers"}:  # noqa: PLR2004 - the list, the entry and the field in it
        return _of_entry(str(loc[0]), str(loc[-1]), value)
    plain = str(loc[-1]).strip().replace("-", "_").casefold()
    known = _WITHIN.get(str(loc[0]), {}) if len(loc) == 2 else {}  # noqa: PLR2004 - the place and the field in it
    if plain not in known or known[plain] == plain:
        return ""
    field = known[plain]
    if loc[0] != "budget":
        text = f"{field}: {_flow(value)}" if isinstance(value, str | int | float) else f"{field}: …"
    else:
        text = f"{field}: {_amount_of(_in_seconds(value, _IN_UNITS[plain]) if plain in _IN_UNITS else value, field)}"
    return f" It is written `{text}`." if len(text) <= LONGEST else ""


def _of_entry(kind: str, name: str, value: Any) -> str:
    """Return where a field belongs that stands beside the id of a task or trainer: at the top, else among the task's options."""
    if name in names_at(()) or name in _CAPS:
        line = f"{name}: {_flow(value)}"
        held = (
            elsewhere(name, value) if name in _CAPS else f" Write `{line if len(line) <= LONGEST else name + ': …'}`."
        )
        return f" It holds for all {kind} and stands at the top of the config.{held}"
    if kind == "trainers" or nearest(name, names_at(("tasks", 0))):
        return ""
    text = f"eval_kwargs: {_flow(value if name in _OPTIONS and isinstance(value, dict) else {name: value})}"
    return f" Options of a task are written `{text if len(text) <= LONGEST else 'eval_kwargs: {…}'}`."


def _in_seconds(value: Any, unit: int) -> Any:
    """Return an amount of a unit in seconds, with or without its quotes; what tells its own unit as it is."""
    with suppress(ValueError, OverflowError):
        return value if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value) * unit
    return value


def _amount_of(value: Any, cap: str) -> str:
    """Return an amount as a cap takes it; an ellipsis where it takes none such."""
    amount = _number(value, cap) if isinstance(value, str) else value
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < MOST:
        return "…"
    return _figure(amount) if cap in _PARTS or amount == amount // 1 else "…"


def _other(field: str, value: str | int) -> str:
    if field == "max_workers":
        number = _number(value, field) if isinstance(value, str) else None if isinstance(value, bool) else value
        return "…" if number is None or number < 1 or number != number // 1 else _figure(number)
    if field == "job_timeout":
        seconds = _number(value, field) if isinstance(value, str) else None if isinstance(value, bool) else value
        return "…" if seconds is None or seconds < 0 else _figure(seconds)
    return "…" if field == "run_id" and not re.fullmatch(r"[\w.-]+", str(value)) else _flow(str(value))


def entry(loc: Loc, value: Any) -> str | None:
    """Return an item of `tasks` or `trainers` as it works, where a name was written as a field: `internal: code_param`."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((name, held),) = value.items()
    if name == "params_variants" and isinstance(held, list) and len(held) == 1:  # a bare setting, as it was taken for
        return entry(loc, held[0])
    if name in names_at((loc[0], 0)) or (isinstance(held, dict) and "id" in held):
        return None
    if loc[:1] == ("tasks",):
        return _task(name, held)
    if loc[:1] == ("trainers",) and isinstance(held, dict | None):
        return _flow({"id": name, **(held or {})})
    return None


def _task(name: str, held: Any) -> str | None:
    if isinstance(held, str):
        return f"{name}:{held}"
    if isinstance(held, dict) and ":" in name:
        return _flow({"id": name, "eval_kwargs": held.get("eval_kwargs", held)})
    return None


def _meant(loc: Loc, value: Any) -> Meant | None:
    kind = kind_at(loc)
    if loc == ("seeds",):
        return _seeds(value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value) and _is_mapping(kind):
        return Meant(_flow({key: held for item in value for key, held in item.items()}))
    if kind is Budget:
        return _budget(value)
    takes = str | dict if get_origin(kind_at((*loc, 0))) is not dict else dict
    if get_origin(kind) is tuple and isinstance(value, takes) and value:
        parts = re.split(r",|\s+(?=-)", value.strip("[]() ")) if isinstance(value, str) else [value]
        return Meant(
            _flow([part.strip().removeprefix("-").lstrip() if isinstance(part, str) else part for part in parts])
        )
    if get_origin(kind) is not None and isinstance(value, str) and (choices := get_args(kind)):
        near = nearest(value, [choice for choice in choices if isinstance(choice, str)])
        return Meant(_flow(near)) if near else None
    return _scalar(kind, str(loc[-1]) if loc else "", value)


def _scalar(kind: Any, name: str, value: Any) -> Meant | None:
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        return Meant(json.dumps(str(value)))
    if kind is bool:
        truth = _TRUTH.get(str(value).strip().casefold()) if isinstance(value, str | int | float) else None
        return None if truth is None else Meant(json.dumps(truth))
    if kind is int and isinstance(value, float) and value.is_integer():
        return Meant(str(int(value)))
    if kind not in {int, float} or not isinstance(value, str) or (found := _number(value, name)) is None:
        return None
    return Meant(_figure(found)) if kind is float or found.is_integer() else None


def _number(text: str, name: str) -> float | None:
    """Return the number in `5m`, `$5`, `10k`, `4GB`, `50%`, in the unit of the field; None where the unit is of another kind."""
    parts = _AMOUNT.fullmatch(text.strip())
    if parts is None or not any(sign.isdigit() for sign in parts[2]) or parts[4]:
        return None
    digits = _DECIMAL_COMMA.sub(r"\1.\2", parts[2]).replace(",", "").replace("_", "")
    number, unit = float(digits), (parts[1] or parts[3]).casefold()
    if unit == "":
        return number if math.isfinite(number) else None
    if name == "seconds" or name.endswith(("timeout", "_s", "seconds")):
        units: dict[str, float] = dict(_TIMES)
    else:
        units = dict(_MONEY if name == "usd" else _SIZES if name.endswith("_mb") else _COUNTS)
    units |= {"%": 0.01} if name.startswith("fail") else {}
    factor = units.get(unit)
    return None if factor is None or not math.isfinite(number * factor) else round(number * factor, 9)


def _seeds(value: Any) -> Meant | None:
    text = str(value).strip().casefold()
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if (many := _MANY.fullmatch(text)) is not None:
        count = int(many[1])
        if 1 < count <= FEW:
            return Meant(f"1..{count}", f"is {count} seeds, and `seeds: [{count}]` is the seed {count} alone")
        return Meant(f"[{count}]")
    if (span := _SPAN.fullmatch(text)) is not None and int(span[1]) <= int(span[2]):
        return Meant(f"{span[1]}..{span[2]}")
    if (counted := _RANGE.fullmatch(text)) is not None and int(counted[2]) > int(counted[1] or 0):
        return Meant(f"{counted[1] or 0}..{int(counted[2]) - 1}")
    numbers = [part for part in re.split(r"[,;\s]+", text) if part]
    return Meant(f"[{', '.join(numbers)}]") if numbers and all(re.fullmatch("-?[0-9]+", n) for n in numbers) else None


def _budget(value: Any) -> Meant | None:
    """Return a budget of one axis for a lone amount. The axis is told by the unit; a plain number counts evaluations."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    axes = ", ".join(f"`{axis.name}`" for axis in AXES)
    words = f"sets that cap; a budget names what it counts: {axes}"
    if not isinstance(value, str):
        axis = "evaluations" if value == value // 1 else "usd"
        return Meant(f"{{{axis}: {_figure(value)}}}", words) if 0 <= value < MOST else None
    parts = _AMOUNT.fullmatch(value.strip())
    if parts is None:
        return None
    unit, named = parts[1] or parts[3], (parts[4] or "").strip()
    axis = _axis(unit, named)
    count = value.removesuffix(named) if named else value
    count = parts[2] if unit.casefold() in _AXIS or unit.casefold() in _NAMES else count
    found = _number(count, axis) if axis else None
    if found is not None and axis not in _PARTS and not found.is_integer():
        axis, found = "usd", None if unit or named else found  # as of a number without quotes
    return None if found is None or found >= MOST else Meant(f"{{{axis}: {_figure(found)}}}", words)


_NAMES = frozenset(axis.name for axis in AXES)
_PARTS = frozenset({"usd", "seconds"})
"""Axes that take parts of a unit."""


def _axis(unit: str, named: str) -> str:
    small = unit.casefold()
    for each in (named, small):
        if each in _AXIS or each in _NAMES:
            return _AXIS.get(each, each)
    if named:
        return ""
    if small in _MONEY:
        return "usd"
    if unit == "M":
        return "tokens"
    return "seconds" if small in _TIMES else "evaluations"


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is dict or hasattr(kind, "model_fields")


def _figure(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _flow(value: Any) -> str:
    """Write a value on one line, as YAML takes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(held) for held in value) + "]"
    if (
        isinstance(value, str)
        and value.casefold() not in _NOT_TEXT
        and re.fullmatch(r"[A-Za-z_]([\w./:-]*[\w/])?", value)
    ):
        return value
    return json.dumps(value)
