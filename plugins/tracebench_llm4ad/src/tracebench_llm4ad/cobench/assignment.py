"""Jobs and agents: the assignment problem and the generalised assignment problem, in OR-Library's formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.packing import SLACK
from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, integers, pair, shown


class Assignment(Problem):
    """One item to each agent."""

    name = "optimization/co_bench/assignment_problem_co_bench"
    folder = "Assignment problem"
    program = '''
def solve(n: int, cost_matrix: np.ndarray) -> dict:
    """Give each item in turn the cheapest agent that is left."""
    left, assignment = set(range(n)), []
    for i in range(n):
        j = min(left, key=lambda agent: cost_matrix[i][agent])
        left.remove(j)
        assignment.append((i + 1, j + 1))
    total = float(sum(cost_matrix[i - 1][j - 1] for i, j in assignment))
    return {"total_cost": total, "assignment": assignment}
'''
    objective = """
Assignment: give each of n items to an agent of its own at the least total cost. Write `solve(n, cost_matrix)`.
- `n` (int); `cost_matrix` (float array of shape (n, n)): `cost_matrix[i][j]` is the cost of item i + 1 with agent j + 1.
Return `{"total_cost": number, "assignment": [(i, j), ...]}`: n pairs of an item and an agent, both from 1 to n, each item and each \
agent once. The cost is computed by the evaluator.
Score: minus the total cost, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `assign` files (n, then the costs row by row) or `assignp` files (n, then item, agent, cost for each pair)."""
        tokens = Tokens(text)
        n = tokens.whole()
        if tokens.left == n * n:
            yield Case({"n": n, "cost_matrix": np.array(tokens.table(n, n))})
            return
        costs = np.full((n, n), np.inf)
        while tokens.left:
            i, j, cost = tokens.whole(), tokens.whole(), tokens.number()
            costs[i - 1, j - 1] = cost
        if not np.all(np.isfinite(costs)):
            raise ValueError("a pair has no cost")
        yield Case({"n": n, "cost_matrix": costs})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 30 items with costs from 1 to 100 (Beasley, 1990)."""
        return f"30\n{rows(rng.integers(1, 101, (30, 30)))}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total cost."""
        n, costs = case.arguments["n"], case.arguments["cost_matrix"]
        given = part(answer, "assignment")
        pairs = given.tolist() if isinstance(given, np.ndarray) else given
        if not isinstance(pairs, list | tuple) or len(pairs) != n:
            raise invalid(f"`assignment` must be a list of {n} pairs; it is {shown(given)}.")
        agents: dict[int, int] = {}
        for entry in pairs:
            first, second = pair(entry, what="`assignment`, pairs of an item and an agent")
            item = chosen(first, allowed=range(1, n + 1), what="an item")
            agent = chosen(second, allowed=range(1, n + 1), what="an agent")
            if item in agents or agent in agents.values():
                raise invalid(f"Item {item} or agent {agent} is assigned twice.")
            agents[item] = agent
        return float(sum(costs[i - 1, j - 1] for i, j in agents.items()))

    def simple_bound(self, case: Case) -> float:
        """Return the value of a dual solution: row minima, then minima of the reduced columns."""
        costs = case.arguments["cost_matrix"]
        least = costs.min(axis=1)
        return float(least.sum() + (costs - least[:, None]).min(axis=0).sum())


class GeneralisedAssignment(Problem):
    """Several jobs to an agent of limited capacity; profits in `gap1` … `gap12`, costs in `gapa` … `gapd`."""

    name = "optimization/co_bench/generalised_assignment_problem_co_bench"
    folder = "Generalised assignment problem"
    sample = "gap1.txt"
    program = '''
def solve(
    m: int, n: int, cost_matrix: list, consumption_matrix: list, capacities: list, problem_type: str = "max"
) -> dict:
    """Place the most consuming jobs first, each with the agent that has the most room left after it."""
    left, assignments = list(capacities), [0] * n
    order = sorted(range(n), key=lambda j: -min(row[j] for row in consumption_matrix))
    for j in order:
        i = max(range(m), key=lambda agent: left[agent] - consumption_matrix[agent][j])
        left[i] -= consumption_matrix[i][j]
        assignments[j] = i + 1
    return {"assignments": assignments}
'''
    objective = """
Generalised assignment: give each job to one agent within the agents' capacities. Write `solve(m, n, cost_matrix, consumption_matrix, \
capacities, problem_type)`.
- `m`, `n` (int): agents and jobs.
- `cost_matrix`, `consumption_matrix` (lists of m lists of n numbers): value and use of capacity when job j + 1 is done by agent i + 1.
- `capacities` (list of m numbers). `problem_type` (str): "max" if the total value is a profit, "min" if it is a cost.
Return `{"assignments": [...]}`, for each of the n jobs its agent from 1 to m. No agent's jobs may use more than its capacity.
Score: the total value where it is a profit, minus the total value where it is a cost, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:
        """Read OR-Library's `gap` files: the number of cases; for each m, n, values, uses, capacities. `gapa` to `gapd` hold costs."""
        kind = "min" if name.casefold()[:4] in {"gapa", "gapb", "gapc", "gapd"} else "max"
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            m, n = tokens.whole(), tokens.whole()
            arguments = {"m": m, "n": n, "cost_matrix": tokens.table(m, n), "consumption_matrix": tokens.table(m, n)}
            yield Case(arguments | {"capacities": tokens.numbers(m), "problem_type": kind})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 5 agents and 20 jobs: values from 15 to 25, uses from 5 to 25, capacities 1.25 times a fair share."""
        cases = []
        for _ in range(3):
            use = rng.integers(5, 26, (5, 20))
            capacities = np.full(5, int(use.mean(axis=0).sum() / 5 / 0.8))
            cases.append(f"5 20\n{rows(rng.integers(15, 26, (5, 20)))}\n{rows(use)}\n{rows([capacities])}")
        return "3\n" + "\n".join(cases) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total profit, or minus the total cost."""
        given = case.arguments
        agents = integers(part(answer, "assignments"), length=given["n"], what="assignments")
        used = [0.0] * given["m"]
        total = 0.0
        for j, agent in enumerate(agents):
            i = chosen(agent, allowed=range(1, given["m"] + 1), what="an agent") - 1
            used[i] += given["consumption_matrix"][i][j]
            total += given["cost_matrix"][i][j]
        for i, (load, capacity) in enumerate(zip(used, given["capacities"], strict=True), start=1):
            if load > capacity + SLACK * max(1.0, capacity):
                raise invalid(f"Agent {i} uses {load:g} of a capacity of {capacity:g}.")
        return total if given["problem_type"] == "max" else -total

    def simple_bound(self, case: Case) -> float:
        """Return the value of every job with its best agent, capacities aside."""
        columns = list(zip(*case.arguments["cost_matrix"], strict=True))
        return float(sum(map(max, columns)) if case.arguments["problem_type"] == "max" else -sum(map(min, columns)))


build_assignment = Assignment.build
build_generalised_assignment = GeneralisedAssignment.build
