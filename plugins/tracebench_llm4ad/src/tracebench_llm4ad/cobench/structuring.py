"""Trees of companies with the least tax (OR-Library's `tax` files), and groups that are alike (its `epp` files)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import chosen, integers, shown

GROUPS = 8


class CorporateStructuring(Problem):
    """Which subsidiary belongs to which, so that most of all profits reaches the target country."""

    name = "optimization/co_bench/corporate_structuring_co_bench"
    folder = "Corporate structuring"
    bound_source = "all profits after domestic tax,"
    program = '''
def solve(N: int, target: int, countries: dict, withholding: dict) -> dict:
    """Let every country with a profit belong to the target directly."""
    structure = {c: target for c in countries if c != target and countries[c][3] > 0}
    structure[target] = 0
    return {"structure": structure}
'''
    objective = """
Corporate structuring: order the subsidiaries of a company in a tree with the target country at its root so that as much profit as \
possible arrives there after tax. Write `solve(N, target, countries, withholding)`.
- `N` (int): countries, numbered from 1. `target` (int): the root.
- `countries` (dict): country -> (tax_code, foreign_rate, domestic_rate, profit): an int from 1 to 4, then floats.
- `withholding` (dict of dicts): `withholding[i][j]` is the rate that country i keeps of what it sends to country j.
Return `{"structure": {country: parent, ...}}`, the target's parent being 0. All countries with a positive profit must be in the tree, \
others may be; every listed country's way up must end at the target.
What a country i has to send up is D + F - T: D = profit * (1 - domestic_rate); F is the sum over its children c of f_c, which is what c \
sends up less withholding[c][i]; T is the tax on foreign income by i's code, with r its foreign_rate and P_c the sum of all profits in the \
subtree of c: code 1 T = 0; code 2 T = r * F; code 3 T = sum over c of max(0, f_c - (1 - r) * P_c); code 4 T = max(0, F - (1 - r) * sum of \
P_c).
Score: what the target has, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of: N, target; tax code, foreign rate, domestic rate, profit of each country; N rows of withholding rates."""
        tokens = Tokens(text)
        while tokens.left:
            n, target = tokens.whole(), tokens.whole()
            countries = {i: (tokens.whole(), *tokens.numbers(3)) for i in range(1, n + 1)}
            if not 1 <= target <= n or any(row[0] not in {1, 2, 3, 4} for row in countries.values()):
                raise ValueError("a target or a tax code is out of range")
            rates = {i: dict(enumerate(tokens.numbers(n), start=1)) for i in range(1, n + 1)}
            yield Case({"N": n, "target": target, "countries": countries, "withholding": rates})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 9 countries: codes 1 to 4, rates of 0 to 0.5, two in three with a profit of 10 to 100, withholding up to 0.3."""
        lines = ["9 1"]
        for k in range(9):
            foreign, domestic = rng.random(2) / 2
            profit = int(rng.integers(10, 101)) if k % 3 else 0
            lines.append(f"{rng.integers(1, 5)} {foreign:.3f} {domestic:.3f} {profit}")
        return "\n".join(lines) + f"\n{rows(np.round(rng.random((9, 9)) * 0.3, 3))}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return what arrives at the target."""
        given = case.arguments
        parents = self._tree(given, part(answer, "structure"))
        children: dict[int, list[int]] = {i: [] for i in parents}
        for child, parent in parents.items():
            if parent:
                children[parent].append(child)
        order = [given["target"]]
        for here in order:
            order += children[here]
        if len(order) < len(parents):
            raise invalid(f"Country {min(set(parents) - set(order))} does not lead up to the target {given['target']}.")
        profits: dict[int, float] = {}
        sent: dict[int, float] = {}
        for here in reversed(order):
            code, foreign_rate, domestic_rate, profit = given["countries"][here]
            income = {c: sent[c] * (1 - given["withholding"][c][here]) for c in children[here]}
            total = sum(income.values())
            pooled = {c: (1 - foreign_rate) * profits[c] for c in children[here]}
            tax = {
                1: 0.0,
                2: foreign_rate * total,
                3: sum(max(0.0, income[c] - pooled[c]) for c in children[here]),
                4: max(0.0, total - sum(pooled.values())),
            }[code]
            profits[here] = profit + sum(profits[c] for c in children[here])
            sent[here] = profit * (1 - domestic_rate) + total - tax
        return float(sent[given["target"]])

    def simple_bound(self, case: Case) -> float:
        """Return the profits after domestic tax."""
        return float(sum(max(0.0, profit) * (1 - rate) for _, _, rate, profit in case.arguments["countries"].values()))

    @staticmethod
    def _tree(given: Mapping[str, Any], structure: Any) -> dict[int, int]:
        if not isinstance(structure, dict):
            raise invalid(f"`structure` must be a dictionary; it is {shown(structure)}.")
        everyone = range(1, given["N"] + 1)
        parents = {}
        for child, parent in structure.items():
            key = chosen(child, allowed=everyone, what="a country")
            parents[key] = chosen(parent, allowed=range(given["N"] + 1), what="a parent")
        if parents.get(given["target"]) != 0 or list(parents.values()).count(0) != 1:
            raise invalid(f"The target {given['target']}, and no other country, must have the parent 0.")
        if strays := [c for c, p in parents.items() if p and p not in parents]:
            raise invalid(f"Country {strays[0]} belongs to {parents[strays[0]]}, which is not in the structure.")
        if left := [i for i in everyone if given["countries"][i][3] > 0 and i not in parents]:
            raise invalid(f"Country {left[0]} has a profit and is not in the structure.")
        return parents


class EquitablePartitioning(Problem):
    """Eight groups in which each attribute is equally frequent."""

    name = "optimization/co_bench/equitable_partitioning_problem_co_bench"
    folder = "Equitable partitioning problem"
    bound_source = "the least imbalance of each attribute alone,"
    program = '''
def solve(data: list) -> dict:
    """Deal the individuals to the groups in turn."""
    return {"assignment": [k % 8 + 1 for k in range(len(data))]}
'''
    objective = """
Equitable partitioning: divide individuals into 8 groups so that every attribute is as frequent in each group as in the others. Write \
`solve(data)`.
- `data` (list of lists of 0 and 1): a row for each individual, a column for each attribute.
Return `{"assignment": [...]}`, for each individual the number of its group, from 1 to 8; no group is empty.
Score: minus the imbalance, averaged over cases. The imbalance is the sum over attributes, and over groups, of the distance between the \
group's count of individuals with the attribute and the mean of these counts over the 8 groups.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read a row of 0 and 1 for each individual; an empty line ends a case."""
        for block in "\n".join(line.strip() for line in text.splitlines()).split("\n\n"):
            table = [[int(word) for word in line.split()] for line in block.splitlines() if line]
            if not table:
                continue
            if len({len(row) for row in table}) > 1 or not {v for row in table for v in row} <= {0, 1}:
                raise ValueError("its rows differ in length, or hold other numbers than 0 and 1")
            yield Case({"data": table})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 40 individuals with 8 attributes, each present with probability 0.4."""
        return rows((rng.random((40, 8)) < 0.4).astype(int)) + "\n"  # noqa: PLR2004 - the density

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the imbalance."""
        table = np.array(case.arguments["data"])
        groups = np.array(integers(part(answer, "assignment"), length=len(table), what="assignment"))
        if groups.min() < 1 or groups.max() > GROUPS:
            raise invalid(
                f"`assignment` must hold numbers from 1 to {GROUPS}; it holds {groups.min()} to {groups.max()}."
            )
        if len(used := set(groups.tolist())) < GROUPS:
            raise invalid(f"Group {min(set(range(1, GROUPS + 1)) - used)} is empty.")
        counts = np.array([table[groups == g].sum(axis=0) for g in range(1, GROUPS + 1)])
        return float(np.abs(counts - counts.mean(axis=0)).sum())

    def simple_bound(self, case: Case) -> float:
        """Return the imbalance of counts that differ by one at most, attribute by attribute."""
        rest = np.array(case.arguments["data"]).sum(axis=0) % GROUPS
        return float((2 * rest * (GROUPS - rest) / GROUPS).sum())

    def size(self, case: Case) -> str:
        """Name the size of the table."""
        table = case.arguments["data"]
        return f"Case: {len(table)} individuals, {len(table[0])} attributes."


build_structuring = CorporateStructuring.build
build_partitioning = EquitablePartitioning.build
