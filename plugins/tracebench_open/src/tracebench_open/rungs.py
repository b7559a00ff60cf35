"""Ladders of real tasks: the candidates that a task's own cases of kind `order` put in order, from the worst to the best.

Two kinds. Where candidates are programs of one function, `Dials` holds several rungs in one program with six dials: each decision goes by
one of the dials, whichever its arguments fall to. Any other candidate is a `Whole`: all values of one rung, and a move leads to the next.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from tracebench_core.errors import UsageError
from tracebench_core.specs import Calibration, Values
from tracebench_engine import api

DIALS = 6
USED = {
    "llm4ad:optimization/online_bin_packing": 4,
    "llm4ad:optimization/tsp_construct": 3,
    "llm4ad:optimization/cvrp_construct": 3,
    "llm4ad:optimization/set_cover_construct": 3,
    "llm4ad:optimization/knapsack_construct": 3,
}
"""The tasks whose programs are composed, and how many rungs of each: a rung that plans its whole way ahead cannot decide now and then."""
HEAD = "# dials of {task}: {dials}"
HEADED = re.compile(r"# dials of ([\w:/.-]+): ((?:\d ?)+)")
CHOOSER = """
def {entry}(*given):
    words = "".join(str(one) if getattr(one, "ndim", 0) == 0 and not hasattr(one, "__len__") else str(len(one)) for one in given)
    rung = DIALS[sum(map(ord, words)) % len(DIALS)]
    return RUNGS[rung](*given)
"""


class Ladder(Protocol):
    """What the scripted model needs of a task."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that a prompt may show."""

    @property
    def rungs(self) -> Sequence[Any]:
        """From the worst to the best."""

    @property
    def start(self) -> int:
        """Which rung the initial candidate is."""

    def whose(self, value: Any) -> str | None:
        """Return the parameter that has a value on some rung, for prompts that give it another name; None where it could be several."""

    def changed(self, shown: Values, by: int, rng: random.Random) -> Values:
        """Return the values that are shown, moved one step up (1) or down (-1); as they were where they are no rung or none is left."""


@dataclass(frozen=True, slots=True)
class Dials:
    """Rungs that are functions of one name, composed by dials."""

    task: str
    parameter: str
    entry: str
    """The function that a candidate defines."""
    initial: str
    rungs: tuple[str, ...]
    start: int
    """Which rung the initial program stands for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The one parameter."""
        return (self.parameter,)

    def whose(self, value: Any) -> str | None:
        """The one parameter, whatever it is called, if it is a program of this ladder."""
        return self.parameter if self.dials_in(str(value)) is not None else None

    def dials_in(self, text: str) -> tuple[int, ...] | None:
        """Return the dials of a program of this ladder; the initial program has all of them at its rung."""
        if text.strip() == self.initial.strip():
            return (self.start,) * DIALS
        match = HEADED.search(text)
        return tuple(int(d) for d in match[2].split()) if match and match[1] == self.task else None

    def program(self, dials: Sequence[int]) -> str:
        """Return the program of some dials."""
        parts = [HEAD.format(task=self.task, dials=" ".join(map(str, dials)))]
        parts += [_renamed(self.rungs[number], self.entry, f"rung_{number}") for number in sorted({*dials})]
        rungs = ", ".join(f"{n}: rung_{n}" for n in sorted({*dials}))
        parts += [f"DIALS = [{', '.join(map(str, dials))}]", f"RUNGS = {{{rungs}}}", self._chooser()]
        return "\n".join(parts)

    def changed(self, shown: Values, by: int, rng: random.Random) -> Values:
        """Return the program that is shown with one dial moved."""
        dials = self.dials_in(str(shown[self.parameter])) if self.parameter in shown else None
        places = [i for i, d in enumerate(dials or ()) if 0 <= d + by < len(self.rungs)]
        if dials is None or not places:
            return shown
        place = rng.choice(places)
        return {**shown, self.parameter: self.program([d + by if i == place else d for i, d in enumerate(dials)])}

    def _chooser(self) -> str:
        """Return the function that decides which rung decides, with the signature that the task asks for."""
        made = next(n for n in ast.parse(self.initial).body if isinstance(n, ast.FunctionDef) and n.name == self.entry)
        names = ", ".join(a.arg for a in made.args.args)
        return (
            CHOOSER.format(entry=self.entry)
            .replace("(*given):", f"({names}):", 1)
            .replace('    words = "".join', f'    given = ({names},)\n    words = "".join', 1)
        )


@dataclass(frozen=True, slots=True)
class Whole:
    """Rungs that are whole candidates."""

    names: tuple[str, ...]
    """All parameters of the task."""
    rungs: tuple[Values, ...]
    """What differs between rungs, by parameter; every rung has the same parameters."""
    start: int
    fixed: Values
    """The parameters that no rung changes, as they are at the start."""

    def whose(self, value: Any) -> str | None:
        """The parameter that has this value on a rung, or always."""
        text = _squeezed(value)
        found = {name for told in (*self.rungs, self.fixed) for name, own in told.items() if _squeezed(own) == text}
        return found.pop() if len(found) == 1 else None

    def at(self, shown: Values) -> int | None:
        """Return which rung is shown; None where none is, or where what is shown could be several."""
        return _place({name: value for name, value in shown.items() if name in self.rungs[0]}, self.rungs)

    def changed(self, shown: Values, by: int, rng: random.Random) -> Values:
        """Return the next rung, of the parameters that are shown."""
        at = self.at(shown)
        if at is None or not 0 <= at + by < len(self.rungs):
            return shown
        return {**shown, **{name: value for name, value in self.rungs[at + by].items() if name in shown}}


@cache
def ladder(task_id: str, options: str = "{}") -> Ladder:
    """Return the ladder of a task, from its own cases.

    Args:
        task_id: of an installed task.
        options: as JSON; those of USED are looked at without.

    Raises:
        ValueError: there is no such task, or its cases do not order two candidates of which one is, or is below, the initial one.
    """
    host = api.open_host()
    try:
        spec = host.task(task_id)
    except UsageError as err:
        raise ValueError(f"there is no task `{task_id}`") from err
    composed = task_id in USED
    task: Any = api.load_ref(spec.loader, owner=task_id)(**({} if composed else json.loads(options)))
    initial = {parameter.name: parameter.initial for parameter in task.parameters}
    suite = host.suite(task_id.partition(":")[0])
    cases = [*getattr(task, "calibrations", tuple)()]
    if suite is not None and suite.calibrations is not None:
        cases += api.load_ref(suite.calibrations, owner=task_id)(spec.name, task)
    rungs = [*_chain(cases, initial, task_id)]
    return _dials(task_id, initial, rungs) if composed else _whole(task_id, initial, rungs)


def _dials(task_id: str, initial: Values, rungs: Sequence[Values]) -> Dials:
    (name, first), *_ = initial.items()
    taken: list[Any] = [rung[name] for rung in rungs][: USED[task_id]]
    _refuse_less_than_two(task_id, taken)
    if first not in taken:
        taken.insert(1, first)
    text = str(first)
    entry = next(n.name for n in reversed(ast.parse(text).body) if isinstance(n, ast.FunctionDef))
    return Dials(task_id, name, entry, text, tuple(taken), taken.index(first))


def _whole(task_id: str, initial: Values, rungs: Sequence[Values]) -> Whole:
    _refuse_less_than_two(task_id, rungs)
    moving = [name for name in initial if len({_squeezed(rung[name]) for rung in rungs}) > 1]
    made = [{name: rung[name] for name in moving} for rung in rungs]
    start = _place({name: initial[name] for name in moving}, made)
    if start is None:
        raise ValueError(f"the initial values of `{task_id}` are none of those that its cases order")
    fixed = {name: value for name, value in initial.items() if name not in moving}
    return Whole(tuple(initial), tuple(made), start, fixed)


def _place(told: Values, rungs: Sequence[Values]) -> int | None:
    """Return which rung has these values; None where none has, or several have."""
    texts = {name: _squeezed(value) for name, value in told.items()}
    fitting = [n for n, rung in enumerate(rungs) if all(_squeezed(rung[name]) == text for name, text in texts.items())]
    return fitting[0] if told and len(fitting) == 1 else None


def _refuse_less_than_two(task_id: str, rungs: Sequence[Any]) -> None:
    if len(rungs) < 2:  # noqa: PLR2004 - an order needs two
        raise ValueError(f"the cases of `{task_id}` order no candidates")


def _chain(cases: Iterable[Calibration], initial: Values, task_id: str) -> Iterator[Values]:
    """Yield the candidates of a task's ladder, the worst first; two cases may be of one candidate."""
    found = [*cases]
    whole = {case.name: {**initial, **_values(case, task_id)} for case in found}
    key = {name: json.dumps(values, sort_keys=True) for name, values in whole.items()}
    above = {key[case.other]: case.name for case in found if case.kind == "order" and case.other in key}
    higher = {key[name] for name in above.values()}
    low = next(
        (case.other for case in found if case.kind == "order" and key.get(case.other, "") in {*above} - higher), None
    )
    met: set[str] = set()
    while low is not None and key[low] not in met:
        met.add(key[low])
        yield whole[low]
        low = above.get(key[low])


def _values(case: Calibration, task_id: str) -> dict[str, Any]:
    found: Any = case.values
    if isinstance(found, str):
        found = api.load_ref(found, owner=f"{task_id}, calibration {case.name}")
        found = found() if callable(found) else found
    return dict(found)


def _renamed(source: str, entry: str, name: str) -> str:
    """Return a rung with its function under another name; imports of two rungs may be the same."""
    return re.sub(rf"\bdef {entry}\b", f"def {name}", source.strip())


def _squeezed(value: Any) -> str:
    """Return a value as text in which blank lines and indentation, which a prompt may change, do not count."""
    if isinstance(value, Mapping):
        return json.dumps({name: _squeezed(part) for name, part in sorted(value.items())})
    text = value if isinstance(value, str) else json.dumps(value)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
