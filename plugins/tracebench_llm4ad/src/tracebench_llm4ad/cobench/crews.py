"""Crews for timed tasks, in OR-Library's `csp` format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, finite, part
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import integers, shown

CREWS = {
    50: range(27, 32),
    100: range(44, 49),
    150: range(69, 74),
    200: range(93, 98),
    250: range(108, 113),
    300: range(130, 134),
    350: range(144, 149),
    400: range(159, 164),
    450: range(182, 187),
    500: range(204, 209),
}
"""Numbers of crews for which the library's sizes are solved: one case each (Beasley and Cao, 1996)."""
HEAD = 2
ARC = 3
SLACK = 1e-9


class CrewScheduling(Problem):
    """A limited number of crews take over all tasks at the least cost of transitions."""

    name = "optimization/co_bench/crew_scheduling_co_bench"
    folder = "Crew scheduling"
    shared = "tasks"
    bound_source = "the cheapest transitions, as many as are needed,"
    program = '''
def solve(N: int, K: int, time_limit: float, tasks: dict, arcs: dict) -> dict:
    """Give each task, by start, to a crew that can take it; vary the rule until K crews are enough."""
    order = sorted(tasks, key=lambda t: tasks[t])
    best = None
    for trial in range(300):
        crews = []
        for t in order:
            able = [
                c for c in crews
                if (c[-1], t) in arcs and tasks[c[-1]][1] <= tasks[t][0] and tasks[t][1] - tasks[c[0]][0] <= time_limit
            ]
            if not able:
                crews.append([t])
            elif trial == 0:
                min(able, key=lambda c: arcs[c[-1], t]).append(t)
            elif trial == 1:
                max(able, key=lambda c: tasks[c[-1]][1]).append(t)
            elif trial == 2:
                min(able, key=lambda c: tasks[c[0]][0]).append(t)
            else:
                weigh = lambda c: tasks[c[-1]][1] - tasks[c[0]][0] / 2 + random.random() * time_limit / 4
                max(able, key=weigh).append(t)
        if best is None or len(crews) < len(best):
            best = crews
        if len(best) <= K:
            break
    return {"crews": best}
'''
    objective = """
Crew scheduling: let at most K crews do all tasks at the least cost of transitions. Write `solve(N, K, time_limit, tasks, arcs)`.
- `N`, `K` (int): tasks, numbered from 1, and crews. `time_limit` (float): the longest duty.
- `tasks` (dict): task -> (start, finish), floats.
- `arcs` (dict): (i, j) -> cost of doing task j right after task i. Where a pair is missing, that is not possible.
Return `{"crews": [[...], ...]}`: for each crew, at most K of them and none empty, its tasks in their order. Each task is done by one \
crew; consecutive tasks do not overlap and are joined by an arc; from the start of its first to the finish of its last task no crew \
takes longer than time_limit.
Score: minus the total cost of all transitions, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read a head of N and the time limit, start and finish of each task, then from, to, cost of each arc.

        The library's sizes give a case for each of `CREWS`; for other sizes the head's third number is K.
        """
        table = [[finite(word) for word in line.split()] for line in text.splitlines() if line.split()]
        head = table[0]
        n, limit = int(head[0]), head[1]
        times, transitions = table[1 : n + 1], table[n + 1 :]
        if len(times) < n or any(len(row) < HEAD for row in times) or any(len(row) != ARC for row in transitions):
            raise ValueError("a task or an arc is incomplete")
        tasks = {i: (row[0], row[1]) for i, row in enumerate(times, start=1)}
        arcs = {(int(i), int(j)): cost for i, j, cost in transitions}
        numbers = [int(head[2])] if len(head) > HEAD else list(CREWS.get(n, ()))
        if not numbers:
            raise ValueError(f"its head names no number of crews, and {n} is no size of the library")
        for k in numbers:
            yield Case({"N": n, "K": k, "time_limit": limit, "tasks": tasks, "arcs": arcs})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 24 tasks in 6 hidden duties of 8 hours at most, arcs with costs of 10 to 200 for seven in ten pairs in order."""
        limit = 480
        times: list[tuple[int, int]] = []
        hidden: set[tuple[int, int]] = set()
        for _ in range(6):
            clock = int(rng.integers(0, 600))
            first = len(times)
            for _ in range(4):
                length = int(rng.integers(40, 90))
                times.append((clock, clock + length))
                clock += length + int(rng.integers(5, 30))
            hidden |= set(pairwise(range(first, first + 4)))
        lines = [f"24 {limit} 9", *(f"{a} {b}" for a, b in times)]
        for i, (_, finish) in enumerate(times):
            for j, (start, _) in enumerate(times):
                if finish <= start and ((i, j) in hidden or rng.random() < 0.7):  # noqa: PLR2004 - the density
                    lines.append(f"{i + 1} {j + 1} {rng.integers(10, 201)}")
        return "\n".join(lines) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the cost of all transitions."""
        given = case.arguments
        tasks = given["tasks"]
        crews = part(answer, "crews")
        if not isinstance(crews, list | tuple):
            raise invalid(f"`crews` must be a list of lists of tasks; it is {shown(crews)}.")
        if len(crews) > given["K"]:
            raise invalid(f"There are {len(crews)} crews, more than K = {given['K']}.")
        duties = [integers(duty, what="crews") for duty in crews]
        seen: set[int] = set()
        for k, duty in enumerate(duties, start=1):
            for task in duty:
                if task not in tasks or task in seen:
                    raise invalid(
                        f"Crew {k} does task {task}, which {'is done twice' if task in seen else 'does not exist'}."
                    )
                seen.add(task)
        if missing := sorted(set(tasks) - seen):
            raise invalid(f"{len(missing)} tasks are not done, among them {missing[0]}.")
        return sum(self._cost(given, duty, crew=k) for k, duty in enumerate(duties, start=1))

    @staticmethod
    def _cost(given: Mapping[str, Any], duty: Sequence[int], *, crew: int) -> float:
        """Check the order of one crew's tasks and return the cost of its transitions."""
        tasks, arcs = given["tasks"], given["arcs"]
        if not duty:
            raise invalid(f"Crew {crew} has no task.")
        for before, after in pairwise(duty):
            if tasks[before][1] > tasks[after][0]:
                raise invalid(f"Crew {crew}: task {before} ends at {tasks[before][1]:g}, after task {after} begins.")
            if (before, after) not in arcs:
                raise invalid(f"Crew {crew}: there is no arc from task {before} to task {after}.")
        if (duration := tasks[duty[-1]][1] - tasks[duty[0]][0]) > given["time_limit"] + SLACK:
            raise invalid(f"Crew {crew} is on duty for {duration:g}, longer than {given['time_limit']:g}.")
        return float(sum(arcs[step] for step in pairwise(duty)))

    def simple_bound(self, case: Case) -> float:
        """Return the sum of the N - K cheapest arcs into different tasks."""
        cheapest: dict[int, float] = {}
        for (_, after), cost in case.arguments["arcs"].items():
            cheapest[after] = min(cost, cheapest.get(after, cost))
        needed = max(0, case.arguments["N"] - case.arguments["K"])
        return float(sum(sorted(cheapest.values())[:needed]))


build_crews = CrewScheduling.build
