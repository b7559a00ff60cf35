"""What the open bench runs at each size: its parts, their configs, and who takes part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracebench_core.errors import UsageError, quoted
from tracebench_engine import api
from tracebench_engine.api.console.writing import put
from tracebench_engine.api.installed.catalogue import describe_catalogue, unavailable
from tracebench_fields.releases import known

BASELINES = ("NoOp", "RandomSearch", "BestOfN", "SequentialRefine")
REFERENCE = "BestOfN"
FOREIGN = (
    "gepa-optimize", "gepa-anything", "DSPy-COPRO", "DSPy-MIPROv2", "DSPy-SIMBA", "DSPy-GEPA", "TextGrad", "AdalFlow", "OpenEvolve",
    "SkyDiscover-BestOfN", "SkyDiscover-AdaEvolve", "ShinkaEvolve", "Optuna", "Nevergrad",
)  # fmt: skip
OWN = (
    "Adaptive", "AggregatedUpdate", "Anneal", "BasicSearch", "BeamSearch", "BeamSearchHistory", "Curriculum", "GEPA-Base", "GEPA-Beam",
    "GEPA-Merge", "GEPA-UCB", "MapElites", "Minibatch", "Novelty", "OPRO", "POLCA", "ParetoSearch", "Portfolio", "PrioritySearch",
    "Sequence", "SequentialSearch", "SequentialUpdate", "StreamingPrioritySearch", "TextualGradients", "UCBSearch",
)  # fmt: skip
PRICE = {"prompt": 0.15, "completion": 0.6}
"""USD per million tokens that the scripted models are said to cost, so that equal USD means something."""
FIELD_MODEL, LADDER_MODEL = "p35-h45-r5", "p20-h45-r5"
PER_CALL = 40
"""Evaluations of a field that go with each call: each proposal can be measured once on all of validation."""
REAL: dict[str, dict[str, Any]] = {
    "tsp_construct": {"n_instance": 2},
    "cvrp_construct": {"n_instance": 2},
    "set_cover_construct": {"n_instance": 2},
    "knapsack_construct": {"n_instance": 2},
    "online_bin_packing": {"size": "small", "n_instance": 2},
}


Caps = dict[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run."""

    families: tuple[str, ...]
    fields: int
    """Of each family, each drawn anew."""
    calls: int
    usd: float
    """About what `BestOfN` pays for as many calls."""
    real: tuple[str, ...]
    real_options: dict[str, int]
    seeds: int
    real_calls: int
    real_usd: float | None
    """None where the real tasks are run at equal calls alone."""
    trainers: tuple[str, ...] = (*BASELINES, *OWN, *FOREIGN)
    suites: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further tasks of any suite, with their options."""


_FEW = {"n_train": 1, "n_validation": 1, "n_test": 2}
SUITES: dict[str, dict[str, Any]] = {
    "llm4ad:optimization/tsp_construct": {"n_instance": 2, **_FEW},
    "llm4ad:optimization/cvrp_construct": {"n_instance": 2, **_FEW},
    "veribench_coq:file/list_sum": {},
    "veribench_coq:file/append_one": {},
    "autoresearch:tokenizer": {},
    "opto:opentrace_greeting": {},
}
"""Of size `suites`: tasks that draw nothing and time nothing while they score, and whose cases order a candidate above their start."""
_ALL = ("prompt", "code", "numbers", "routes", "agents", "judged", "order", "valley", "conflict", "costs")
SIZES = {
    "tiny": Size(
        ("numbers",), 2, 3, 0.00015, ("knapsack_construct",), _FEW, 2, 3, None, ("NoOp", "RandomSearch", "BestOfN"),
    ),
    "small": Size(
        ("prompt", "code", "numbers"), 3, 12, 0.0006, ("tsp_construct", "cvrp_construct", "knapsack_construct"), _FEW, 3, 6, None,
    ),
    "medium": Size(("prompt", "numbers", "order"), 5, 20, 0.001, ("tsp_construct", "cvrp_construct"), _FEW, 5, 10, 0.0014),
    "full": Size(_ALL, 20, 60, 0.003, tuple(REAL), {"n_train": 2, "n_validation": 2, "n_test": 4}, 10, 40, 0.0055),
    "suites": Size(
        (), 0, 0, 0.0, (), _FEW, 3, 8, None,
        (*BASELINES, "Adaptive", "Anneal", "BasicSearch", "GEPA-Base", "MapElites", "OPRO", "PrioritySearch", "Sequence"), SUITES,
    ),
}  # fmt: skip
"""`tiny` is for tests; `suites` takes a quarter of an hour of a processor, `small` half an hour of two, `medium` hours, `full` days."""


def who(size: Size) -> tuple[list[str], dict[str, str]]:
    """Return who takes part here, and why the others do not."""
    rows = {row["id"]: row for row in describe_catalogue(api.open_host().find_trainers())["trainer"]}
    why = {name: unavailable(rows[name]) if name in rows else "no plugin offers it" for name in size.trainers}
    return [name for name, reason in why.items() if not reason], {n: reason for n, reason in why.items() if reason}


def tasks_of(size: Size) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the tasks of the suites that can run here, as a config names them, and why the others cannot."""
    rows = {row["id"]: row for row in describe_catalogue(api.open_host().catalog())["tasks"]} if size.suites else {}
    why = {id_: unavailable(rows[id_]) if id_ in rows else "no plugin offers it" for id_ in size.suites}
    there = [{"id": id_, "eval_kwargs": {**size.suites[id_]}} for id_, reason in why.items() if not reason]
    return there, {id_: reason for id_, reason in why.items() if reason}


def parts_of(name: str, release: str | None) -> list[dict[str, Any]]:
    """Return the parts of a size: name, title, budget, config.

    Raises:
        UsageError: there is no such release, the size has fields and none is given or none and one is, or nothing of it can run here.
    """
    size = SIZES[name]
    if release and not size.families:
        raise UsageError(f"Size `{name}` has no fields, and so no release.", hint=f"--size {name} without --release")
    if size.families and release not in known():
        raise UsageError(
            f"Release `{release}` of the fields was not committed to." if release else f"Size `{name}` has fields.",
            hint="trace-bench fields commit RELEASE --to FOLDER" if release else "--release NAME",
        )
    trainers, _ = who(size)
    seeds = [*range(1, size.seeds + 1)]
    per = 2 * size.real_calls * (size.real_options["n_validation"] + size.real_options["n_train"])
    real_calls: Caps = {"llm_calls": size.real_calls, "evaluations": per}
    if size.suites:
        tasks, away = tasks_of(size)
        if not tasks:
            raise UsageError(f"No task of size `{name}` can run here: {next(iter(away.values()))}.")
        return [_part("suites-calls", "Real suites, equal calls", tasks, seeds, real_calls, trainers)]
    fields = [
        {"id": f"fields:{family}", "eval_kwargs": {"release": release, "instance": i}}
        for family in size.families
        for i in range(size.fields)
    ]
    real = [
        {"id": f"llm4ad:optimization/{task}", "eval_kwargs": {**REAL[task], **size.real_options}} for task in size.real
    ]
    evaluations = PER_CALL * size.calls
    by_calls: Caps = {"llm_calls": size.calls, "evaluations": evaluations}
    by_usd: Caps = {"usd": size.usd, "evaluations": evaluations}
    made = [
        _part("fields-calls", "Fields, equal calls", fields, [1], by_calls, trainers),
        _part("fields-usd", "Fields, equal USD", fields, [1], by_usd, trainers),
        _part("tasks-calls", "Real tasks, equal calls", real, seeds, real_calls, trainers),
    ]
    if size.real_usd is not None:
        caps: Caps = {"usd": size.real_usd, "evaluations": per}
        made.append(_part("tasks-usd", "Real tasks, equal USD", real, seeds, caps, trainers))
    return made


def _part(  # noqa: PLR0917 - a row of a table
    name: str, title: str, tasks: Sequence[Any], seeds: Sequence[int], budget: Caps, trainers: Sequence[str]
) -> dict[str, Any]:
    """Return a part: its name, title, budget and config."""
    on_fields = name.startswith("fields")
    model = f"fields/{FIELD_MODEL}" if on_fields else f"ladders/{LADDER_MODEL}"
    config = {
        "run_id": f"open-bench-{name}",
        "mode": "real",
        "salt": "public",
        "seeds": [*seeds],
        "max_workers": 2,
        "budget": budget,
        "llm": {"model": model, "prices": {model.partition("/")[2]: PRICE}},
        "tasks": [*tasks],
        "trainers": [*trainers],
    }
    return {"name": name, "title": title, "one_scale": on_fields, "budget": budget, "config": config}


def write_configs(parts: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Write each part's config; one that is there already has to be the same."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part in parts:
        path, text = folder / f"{part['name']}.json", json.dumps(part["config"], indent=1) + "\n"
        if path.exists() and path.read_text(encoding="utf-8") != text:
            raise UsageError(f"`{path}` is of another size, release or version.", hint="--keep ANOTHER-FOLDER")
        put(path, text.encode())
        paths.append(path)
    return paths


def as_promised(parts: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the parts with the configs that were written: by now other tasks or trainers may be there.

    Raises:
        UsageError: one of them is no config any more.
    """
    found = []
    for part in parts:
        path = folder / f"{part['name']}.json"
        try:
            found.append({**part, "config": json.loads(path.read_bytes())} if path.exists() else part)
        except ValueError as err:
            raise UsageError(
                f"`{path}` is not the config that was promised: {err}.", hint=f"ls -l {quoted(path)}"
            ) from err
    return found
