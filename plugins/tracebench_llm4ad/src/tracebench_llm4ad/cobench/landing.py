"""Aircraft landing: a time and a runway for each plane, in OR-Library's `airland` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.drawings.drawing import BOUND, PLAIN, Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, number, shown

PLANE = ("appearance", "earliest", "target", "latest", "penalty_early", "penalty_late")
RUNWAYS = (1, 2)
"""Each file is a case with one runway and a case with two."""
TOLERANCE = 1e-6


class AircraftLanding(Problem):
    """Static aircraft landing (Beasley, Krishnamoorthy, Sharaiha and Abramson, 2000)."""

    name = "optimization/co_bench/aircraft_landing_co_bench"
    folder = "Aircraft landing"
    sample = "airland#.txt"
    shared = "planes"
    program = '''
def solve(num_planes: int, num_runways: int, freeze_time: float, planes: list, separation: list) -> dict:
    """Land the planes by target time, each on the runway where it can land nearest to its target, and never too early."""
    landed = {r: [] for r in range(1, num_runways + 1)}
    schedule = {}
    for i in sorted(range(num_planes), key=lambda k: planes[k]["target"]):
        def soonest(runway):
            return max([planes[i]["earliest"], *(time + separation[j][i] for j, time in landed[runway])])

        runway = min(landed, key=soonest)
        time = max(soonest(runway), planes[i]["target"]) if num_runways > 1 else soonest(runway)
        landed[runway].append((i, time))
        schedule[i + 1] = {"landing_time": time, "runway": runway}
    return {"schedule": schedule}
'''
    objective = """
Aircraft landing: give each plane a landing time and a runway, near its target time. Write `solve(num_planes, num_runways, freeze_time, \
planes, separation)`.
- `num_planes`, `num_runways` (int); `freeze_time` (float, of no use here).
- `planes` (list of dicts of floats): `"appearance"`, `"earliest"`, `"target"`, `"latest"` (times), `"penalty_early"`, `"penalty_late"` \
(per unit of time before and after the target).
- `separation` (list of lists): `separation[i][j]` is the time that must pass after plane i lands before plane j lands on the same runway.
Return `{"schedule": {plane: {"landing_time": float, "runway": int}, ...}}` for planes from 1 to num_planes and runways from 1 to \
num_runways. Each lands between its earliest and latest time, and any two planes on a runway keep their separation, not only successive \
ones; of two that land at once either may count as first.
Score: minus the sum of penalties, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read `airland` files: the number of planes and the freeze time; for each plane six numbers and its row of separations."""
        tokens = Tokens(text)
        count, freeze = tokens.whole(), tokens.number()
        planes, separation = [], []
        for _ in range(count):
            planes.append(dict(zip(PLANE, tokens.numbers(len(PLANE)), strict=True)))
            separation.append(tokens.numbers(count))
        for runways in RUNWAYS:
            arguments = {"num_planes": count, "num_runways": runways, "freeze_time": freeze, "planes": planes}
            yield Case(arguments | {"separation": separation})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One file of 10 planes: targets 1 to 5 apart, windows of 40 before and 300 after, separations 3 to 15, penalties 5 to 30."""
        target = np.cumsum(rng.integers(1, 6, 10)) + 100
        separation = rng.integers(3, 16, (10, 10))
        np.fill_diagonal(separation, 99999)
        penalty = rng.integers(5, 31, 10)
        planes = np.column_stack([target - 80, target - 40, target, target + 300, penalty, penalty])
        return (
            "10 10\n"
            + "\n".join(f"{rows([plane])}\n{rows([row])}" for plane, row in zip(planes, separation, strict=True))
            + "\n"
        )

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the sum of penalties."""
        planes = case.arguments["planes"]
        schedule = part(answer, "schedule")
        if not isinstance(schedule, dict):
            raise invalid(f"`schedule` must be a dictionary; it is {shown(schedule)}.")
        landings, total = [], 0.0
        for i, plane in enumerate(planes, start=1):
            entry = schedule.get(i, schedule.get(str(i)))
            if not isinstance(entry, dict):
                raise invalid(f"Plane {i} has no entry with `landing_time` and `runway`.")
            time = number(part(entry, "landing_time"), what="a landing time")
            runway = chosen(part(entry, "runway"), allowed=range(1, case.arguments["num_runways"] + 1), what="a runway")
            if not plane["earliest"] - TOLERANCE <= time <= plane["latest"] + TOLERANCE:
                raise invalid(
                    f"Plane {i} lands at {time:g}, not between {plane['earliest']:g} and {plane['latest']:g}."
                )
            landings.append((runway, time, i - 1))
            total += plane["penalty_early"] * max(0.0, plane["target"] - time) + plane["penalty_late"] * max(
                0.0, time - plane["target"]
            )
        self._require_separation(case, landings)
        return total

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw when each plane lands, and when it should."""
        drawing = Drawing(note="lines: what is allowed", is_map=False, across="time", up="plane, the first below")
        for i, plane in enumerate(case.arguments["planes"], start=1):
            entry = answer["schedule"].get(i, answer["schedule"].get(str(i)))
            drawing.line([(plane["earliest"], i), (plane["latest"], i)], PLAIN)
            drawing.dots([(plane["target"], i)], BOUND)
            drawing.dots([(entry["landing_time"], i)], int(entry["runway"]) - 1)
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return 0, every plane on target."""
        return 0.0

    def _require_separation(self, case: Case, landings: list[tuple[int, float, int]]) -> None:
        gaps = case.arguments["separation"]
        landings.sort()
        for k, (runway, time, i) in enumerate(landings):
            for other, later, j in landings[k + 1 :]:
                if other != runway:
                    break
                need = gaps[i][j] if later > time else min(gaps[i][j], gaps[j][i])
                if later - time < need - TOLERANCE:
                    raise invalid(
                        f"Planes {i + 1} and {j + 1} land on runway {runway} at {time:g} and {later:g}, {later - time:g} apart; "
                        f"they need {need:g}."
                    )


build_aircraft_landing = AircraftLanding.build
