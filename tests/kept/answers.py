"""What a design task says of answers: what its starting program is worth, and what becomes of that answer with one thing changed.

Programs are run in this process: they are those that ship, and no candidate's.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.kept.text import digest_of, text_of
from tracebench_core.contracts import EvaluationFailed
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench import folder
from tracebench_llm4ad.cobench.__main__ import write_folder
from tracebench_llm4ad.cobench.catalog import SPECS
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.heuristic import load_trusted

Edit = Callable[[Any], Any]
ONE = {"n_train": 1, "n_validation": 1, "n_test": 1, "n_instance": 2}
SMALL: Mapping[str, Mapping[str, Any]] = {
    "circle_packing": {},
    "online_bin_packing_local": {**ONE, "n_items": 60},
    "optimization/admissible_set": {"train": [[9, 6]], "validation": [[12, 9]], "test": [[12, 8]]},
    "optimization/online_bin_packing": {**ONE, "n_items": 60},
    "optimization/online_bin_packing_2O": {**ONE, "n_items": 60},
    "optimization/tsp_gls_2O": {**ONE, "problem_size": 12, "perturbations": 5},
    "optimization/tsp_construct": {**ONE, "problem_size": 12},
    "optimization/cvrp_construct": {**ONE, "problem_size": 12},
    "optimization/ovrp_construct": {**ONE, "problem_size": 12},
    "optimization/vrptw_construct": {**ONE, "problem_size": 12},
    "optimization/jssp_construct": {**ONE, "n_jobs": 4, "n_machines": 3},
    "optimization/bp_1d_construct": {**ONE, "n_items": 20},
    "optimization/bp_2d_construct": {**ONE, "n_items": 12},
    "optimization/set_cover_construct": {**ONE},
    "optimization/cflp_construct": {**ONE, "n_customers": 25},
    "optimization/qap_construct": {**ONE, "n_facilities": 6},
    "optimization/knapsack_construct": {**ONE, "n_items": 15},
    **{
        f"machine_learning/{name}": {}
        for name in ("acrobot", "car_mountain", "car_mountain_continue", "moon_lander", "pendulum")
    },
}
"""Tasks with generators of their own, each at a small size; CO-Bench's are read from a folder that is written for it."""
OF_COBENCH = tuple(spec.name for spec in SPECS)
PARTS = 6
"""Places of an answer that are changed: the first ones and the last of each list."""
OTHERS: Mapping[str, Edit] = {
    "one more": lambda x: x + 1,
    "one less": lambda x: x - 1,
    "half": lambda x: x / 2,
    "tenfold": lambda x: 10 * x,
    "below nothing": lambda x: -x - 1,
    "no number": lambda _: float("nan"),
    "a text": lambda _: "1",
}


def answers() -> dict[str, list[str]]:
    """Return what is said now, by task."""
    with tempfile.TemporaryDirectory() as temporary:
        write_folder(Path(temporary))
        return {name: answers_of(name, Path(temporary)) for name in (*SMALL, *OF_COBENCH)}


def answers_of(name: str, data: Path) -> list[str]:
    """Return what is said of one task; `data` is the folder that CO-Bench's are read from."""
    task = _task(name, data)
    rules, case = task.evaluator, task.splits["train"][0].input[0].instance
    program = load_trusted(rules.program, rules.entry, prelude=task._prelude)
    answer = rules.solve(case, program)
    said = [
        f"bound {text_of(rules.bound(case))} {rules.told_bound(case)} scaled {rules.is_scaled(case)}",
        f"start: {_said(task, case, answer)} drawn {digest_of(rules.draw(case, answer))}",
    ]
    return [*said, *(f"{what}: {_said(task, case, edited)}" for what, edited in _edits(answer))]


def _task(name: str, data: Path) -> CodeTask:
    if name in OF_COBENCH:
        folder.configure({"root": str(data), "options": {}})
    try:
        module, _, builder = BY_NAME[name].loader.partition(":")
        task: CodeTask = getattr(import_module(module), builder)(**SMALL.get(name, {}))
    finally:
        if name in OF_COBENCH:
            folder.configure({})
    return task


def _said(task: CodeTask, case: Any, answer: Any) -> str:
    try:
        verdict = task.evaluator.judge(case, answer)
    except EvaluationFailed as refused:
        return f"{refused.feedback.status} {refused.feedback.text}"
    except (ValueError, IndexError, TypeError) as err:  # of answers that our own simulations never build
        return type(err).__name__
    metrics = {name: value for name, value in verdict.metrics.items() if name != "seconds"}
    return f"{text_of(verdict.value)} {verdict.note} {text_of(metrics)}".rstrip()


def _edits(answer: Any) -> Iterator[tuple[str, Any]]:
    """Yield answers with one thing changed, with words for it: a number, the order of a list, an entry less or twice."""
    for where in _lists(answer):
        for what, change in (
            ("turned", lambda x: x[::-1]),
            ("without its first", lambda x: x[1:]),
            ("with its first twice", lambda x: [*x, x[0]]),
            ("with its first in place of its last", lambda x: [*x[:-1], x[0]]),
            ("empty", lambda x: x[:0]),
        ):
            yield f"{_place(where)} {what}", _changed(answer, where, change)
    for where in _numbers(answer):
        for what, change in OTHERS.items():
            yield f"{_place(where)} {what}", _changed(answer, where, change)


def _place(where: tuple[Any, ...]) -> str:
    return "".join(f"[{step!r}]" for step in where) or "all"


def _items(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return list(enumerate(value)) if isinstance(value, list | tuple) else []


def _ends(items: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return items if len(items) <= 2 else [items[0], items[-1]]


def _lists(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where lists of at least two are: the outermost, and one within it."""
    found = [where] if not isinstance(value, Mapping) and len(_items(value)) > 1 else []
    inner = _items(value) if isinstance(value, Mapping) and len(_items(value)) < PARTS else _items(value)[:1]
    for step, held in inner:
        found += _lists(held, (*where, step))
    return found[:3]


def _numbers(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where some numbers are."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return [where]
    return [place for step, held in _ends(_items(value)) for place in _numbers(held, (*where, step))][:PARTS]


def _changed(answer: Any, where: tuple[Any, ...], change: Edit) -> Any:
    if not where:
        return change(_plain(answer))
    whole = _plain(answer)
    place = whole
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = change(place[where[-1]])
    return whole


def _plain(value: Any) -> Any:
    """Return a copy of an answer that can be changed everywhere."""
    if isinstance(value, Mapping):
        return {name: _plain(held) for name, held in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return copy.deepcopy(value)
