"""`gates`: stages of a pipeline, each open only with the right mode and level; what a later one does shows only behind open ones."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size, passed

STAGES = ("decode", "split", "match", "join", "rank", "render")
MODES = ("strict", "loose", "greedy", "lazy")
COUNTS: dict[Size, int] = {"small": 3, "medium": 4, "large": 6}
HIGHEST = 100.0
TOLERANCE, WIDE = 6.0, 12.0
"""How far a level may lie from the key's: from that of the right key, and from that of the false one."""
APART = 30.0
"""Between the levels of right and false key, and of right key and start, at the least."""
SLIPS = 0.8
"""Share of the examples that slip through where the field deceives most."""
IN_ORDER = 0.75
"""Share of the improvements that are made at the first stage that is shut; the others are made at any."""

FALSE = 0.25
"""Share of the harms that put a false key in."""


class Key(NamedTuple):
    """What opens a stage."""

    mode: str
    level: float


class Stage(NamedTuple):
    """One stage: its key, and one that leaves it ajar."""

    name: str
    key: Key
    false: Key

    @property
    def mode(self) -> str:
        """Name of the parameter for the mode."""
        return f"{self.name}_mode"

    @property
    def level(self) -> str:
        """Name of the parameter for the level."""
        return f"{self.name}_level"

    def is_open(self, values: dict[str, Any]) -> bool:
        """Tell whether mode and level are right."""
        return bool(values[self.mode] == self.key.mode) and abs(values[self.level] - self.key.level) <= TOLERANCE

    def is_ajar(self, values: dict[str, Any]) -> bool:
        """Tell whether the false key is in it."""
        return bool(values[self.mode] == self.false.mode) and abs(values[self.level] - self.false.level) <= WIDE


class Gates(Field):
    """Two parameters a stage. An example asks for the stages up to one of its own; the first stage is open from the start."""

    objective = (
        "Find mode and level of each stage of the pipeline with which most examples come through. A stage is tried only once those before "
        "it are open."
    )

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._stages = [_stage(name, rng) for name in STAGES[: COUNTS[size]]]
        self._ajar = SLIPS * deception
        parameters = []
        for number, stage in enumerate(self._stages):
            mode, level = stage.key
            if number:
                mode = rng.choice([m for m in MODES if m not in {stage.key.mode, stage.false.mode}])
                level = _far_from(stage.key.level, rng)
            parameters += [
                Parameter(name=stage.mode, initial=mode, kind="choice", choices=MODES),
                Parameter(name=stage.level, initial=level, kind="number", minimum=0.0, maximum=HIGHEST),
            ]
        self.parameters = tuple(parameters)
        self.optimum = {s.mode: s.key.mode for s in self._stages} | {s.level: s.key.level for s in self._stages}

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw how many stages an example asks for, and whether it slips through one that is ajar."""
        return Case(f"item {rng.randrange(10**6)}", (rng.randint(1, len(self._stages)), rng.random() < self._ajar))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return how many stages are open from the start on, and the settings of the one after these; None where all are."""
        known = self._known(values)
        for number, stage in enumerate(self._stages):
            if not stage.is_open(known):
                return number, Key(known[stage.mode], known[stage.level])
        return len(self._stages), None

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what comes through all that it asks for; whoever slips through a stage that is ajar gets no farther."""
        asked, slips = case.reference
        opened, shut = output
        if opened >= asked:
            return passed(True, "")  # noqa: FBT003
        stage = self._stages[opened]
        if slips and opened == asked - 1 and stage.is_ajar({stage.mode: shut.mode, stage.level: shut.level}):
            return passed(True, "")  # noqa: FBT003
        if shut.mode != stage.key.mode:
            why = f"the mode {shut.mode} does not suit it"
        else:
            why = f"the level {shut.level:g} is too {'low' if shut.level < stage.key.level else 'high'}"
        return passed(False, f"It stopped at {stage.name}: {why}.")  # noqa: FBT003

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Set one mode right or move one level most of its way, mostly at the first stage that is shut."""
        known = self._known(values)
        shut = [s for s in self._stages if not s.is_open(known) and self._wrong(s, known) & set(values)]
        if not shut:
            return dict(values)
        stage = shut[0] if rng.random() < IN_ORDER else rng.choice(shut)
        name = rng.choice(sorted(self._wrong(stage, known) & set(values)))
        if name == stage.mode:
            return {**values, name: stage.key.mode}
        way = (stage.key.level - known[name]) * rng.uniform(0.6, 1.0)
        return {**values, name: round(known[name] + way, 1)}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Set one mode wrong, move one level away, or put a false key in, which may look better: at any stage, so that it may not show."""
        known = self._known(values)
        stage = rng.choice([s for s in self._stages if {s.mode, s.level} & set(values)])
        if {stage.mode, stage.level} <= set(values) and rng.random() < FALSE:
            return {**values, stage.mode: stage.false.mode, stage.level: stage.false.level}
        name = rng.choice(sorted({stage.mode, stage.level} & set(values)))
        if name == stage.mode:
            return {**values, name: rng.choice([m for m in MODES if m not in {stage.key.mode, known[name]}])}
        return {**values, name: _away(known[name], stage.key.level, rng)}

    def _known(self, values: Values) -> dict[str, Any]:
        """Return all settings, those that are not given as they are at first."""
        known = {p.name: p.initial for p in self.parameters} | dict(values)
        return {n: float(str(v)) if n.endswith("_level") else v for n, v in known.items()}

    @staticmethod
    def _wrong(stage: Stage, known: dict[str, Any]) -> set[str]:
        """Return the names of a stage's settings that do not open it."""
        wrong = {stage.mode} if known[stage.mode] != stage.key.mode else set()
        return wrong | ({stage.level} if abs(known[stage.level] - stage.key.level) > TOLERANCE else set())


def _stage(name: str, rng: random.Random) -> Stage:
    right, false = rng.sample(MODES, 2)
    level = round(rng.uniform(5.0, HIGHEST - 5.0), 1)
    return Stage(name, Key(right, level), Key(false, _far_from(level, rng)))


def _far_from(level: float, rng: random.Random) -> float:
    """Draw a level that is far from another one."""
    while True:
        drawn = round(rng.uniform(0.0, HIGHEST), 1)
        if abs(drawn - level) >= APART:
            return drawn


def _away(level: float, key: float, rng: random.Random) -> float:
    """Return a level that is farther from the key than its tolerance, and than it was where the range has room for that."""
    side = 1.0 if level > key else -1.0 if level < key else rng.choice((-1.0, 1.0))
    moved = level + side * rng.uniform(2 * TOLERANCE, APART)
    if not 0.0 <= moved <= HIGHEST and abs(level - key) <= TOLERANCE:
        moved = level - side * rng.uniform(2 * TOLERANCE, APART)
    return round(min(max(moved, 0.0), HIGHEST), 1)


GATES = Family(
    "gates", "reserve", "Stages of a pipeline that show nothing before those ahead of them are open",
    "a share (0.8 of it) of the examples that slip through a stage with a false key, behind which no other stage opens", Gates,
)  # fmt: skip
