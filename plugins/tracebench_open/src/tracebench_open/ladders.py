"""A scripted model of stated quality for real tasks whose calibrations order programs: it builds a program of the rungs, and moves dials.

A task's cases of kind `order` are a ladder, from the worst program to the best. The model's answer is one program that holds some of the
rungs and six dials; each decision goes by one of the dials, whichever its arguments fall to, and the dial says which rung decides. A model
`ladders/p15-h45-r5` moves one dial up by a rung in 15 of 100 answers and down in 45, does not understand in 5, and else gives back what it
was shown. What the programs are worth the task itself says: they run in its sandbox, on its instances, judged by its guide.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tracebench_core.contracts import EnvironmentContext, NotMeasured
from tracebench_core.specs import Calibration, Message, Values
from tracebench_engine import api
from tracebench_fields.formats import answer, text_of
from tracebench_fields.model import LOST, Asked, Quality, quality_of
from tracebench_testing.fake_openai import FakeOpenAI

DIALS = 6
USED = {
    "llm4ad:optimization/online_bin_packing": 4,
    "llm4ad:optimization/tsp_construct": 3,
    "llm4ad:optimization/cvrp_construct": 3,
    "llm4ad:optimization/set_cover_construct": 3,
    "llm4ad:optimization/knapsack_construct": 3,
}
"""The tasks that the model knows, and how many rungs of each it takes: a rung that plans its whole way ahead cannot decide now and then."""
HEAD = "# dials of {task}: {dials}"
HEADED = re.compile(r"# dials of ([\w:/.-]+): ((?:\d ?)+)")
CHOOSER = """
def {entry}(*given):
    words = "".join(str(one) if getattr(one, "ndim", 0) == 0 and not hasattr(one, "__len__") else str(len(one)) for one in given)
    rung = DIALS[sum(map(ord, words)) % len(DIALS)]
    return RUNGS[rung](*given)
"""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of one task."""

    task: str
    parameter: str
    entry: str
    """The function that a candidate defines."""
    initial: str
    rungs: tuple[str, ...]
    start: int
    """Which rung the initial program stands for."""

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

    def moved(self, text: str, by: int, rng: random.Random) -> str:
        """Return a program with one dial moved; as it was where none can move."""
        dials = self.dials_in(text)
        if dials is None:
            return text
        places = [i for i, d in enumerate(dials) if 0 <= d + by < len(self.rungs)]
        if not places:
            return text
        place = rng.choice(places)
        return self.program([d + by if i == place else d for i, d in enumerate(dials)])

    def _chooser(self) -> str:
        """Return the function that decides which rung decides, with the signature that the task asks for."""
        made = next(n for n in ast.parse(self.initial).body if isinstance(n, ast.FunctionDef) and n.name == self.entry)
        names = ", ".join(a.arg for a in made.args.args)
        return (
            CHOOSER.format(entry=self.entry)
            .replace("(*given):", f"({names}):", 1)
            .replace('    words = "".join', f'    given = ({names},)\n    words = "".join', 1)
        )


@cache
def ladder(task_id: str) -> Ladder:
    """Return the ladder of a task, from its own cases.

    Raises:
        ValueError: its cases order no programs.
    """
    spec = api.open_host().task(task_id)
    task: Any = api.load_ref(spec.loader, owner=task_id)()
    parameter = task.parameters[0]
    rungs = [*_chain(task.calibrations(), parameter.name, parameter.initial)][: USED.get(task_id)]
    if len(rungs) < 2:  # noqa: PLR2004 - an order needs two
        raise ValueError(f"the cases of `{task_id}` order no programs")
    if parameter.initial not in rungs:
        rungs.insert(1, parameter.initial)
    entry = next(n.name for n in reversed(ast.parse(parameter.initial).body) if isinstance(n, ast.FunctionDef))
    return Ladder(task_id, parameter.name, entry, parameter.initial, tuple(rungs), rungs.index(parameter.initial))


def _chain(cases: Iterable[Calibration], name: str, initial: str) -> Iterator[str]:
    """Yield the programs of a task's ladder, the worst first; two cases may be of one program."""
    found = [*cases]
    program = {case.name: _values(case).get(name, initial) for case in found}
    above = {program[case.other]: program[case.name] for case in found if case.kind == "order" and case.other}
    at = next((low for low in above if low not in above.values()), None)
    while at is not None:
        yield at
        at = above.get(at)


def _values(case: Calibration) -> dict[str, Any]:
    return dict(case.values) if isinstance(case.values, Mapping) else {}


def _renamed(source: str, entry: str, name: str) -> str:
    """Return a rung with its function under another name; imports of two rungs may be the same."""
    return re.sub(rf"\bdef {entry}\b", f"def {name}", source.strip())


class Climber:
    """Answers prompts about the tasks that it knows."""

    def __init__(self, quality: Quality, tasks: Sequence[str] = tuple(USED)) -> None:
        self._quality = quality
        self._ladders = [ladder(task) for task in tasks]
        self._asked = Asked()

    def __call__(self, messages: Sequence[Message], told: str | None = None) -> str:
        """Return the answer to a chat, which depends on its words, on how often the job asked so, and on the job's seed."""
        prompt = "\n".join(text_of(m.get("content")) for m in messages)
        rng = self._asked.rng(prompt, json.loads(told) if told else {})
        if rng.random() < self._quality.misreads:
            return "I would think about it once more before I changed anything."
        names = sorted({one.parameter for one in self._ladders})
        said = answer(messages, names, lambda shown: self._changed(shown, rng), rng)
        return LOST if said is None else said

    def _changed(self, shown: Values, rng: random.Random) -> Values:
        draw = rng.random() * (1.0 - self._quality.misreads)
        by = 1 if draw < self._quality.improves else -1 if draw < self._quality.improves + self._quality.harms else 0
        changed = dict(shown)
        for name, text in shown.items():
            known = next((one for one in self._ladders if one.parameter == name and one.dials_in(str(text))), None)
            if known is not None and by:
                changed[name] = known.moved(str(text), by, rng)
        return changed


class LadderModel:
    """The model behind an address on 127.0.0.1, as an environment of a run."""

    def __init__(self, *, model: str) -> None:
        self._model = model
        self._server: FakeOpenAI | None = None

    def open(self, context: EnvironmentContext) -> str:
        """Start the server and return its address.

        Raises:
            NotMeasured: the name says no quality.
        """
        try:
            self._server = FakeOpenAI(told=Climber(quality_of(self._model)))
        except ValueError as err:
            raise NotMeasured(str(err), retry=False) from err
        return self._server.base_url

    def close(self) -> None:
        """End the server. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None


def address(_model: str, handle: str) -> str:
    """Return the address at which the model is asked."""
    return handle
