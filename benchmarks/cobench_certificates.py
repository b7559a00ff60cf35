"""Prove optima of the generated cases of CO-Bench, check each by the task's own evaluator, and write them where the plugin ships them.

    pip install "ortools>=9.10,<10" && python benchmarks/cobench_certificates.py [TASK …] [--seconds 60]

Prints a line a task: cases, how many are optimal, the widest gap. A task of which a case stays open, or that has no model here, has no
certificate and claims no scale.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

import ortools
from cobench_exact import crews as duties
from cobench_exact import cut_often, cut_once, due_date, equal_shares, flow, pack, structure
from cobench_exact import reentrant as served
from cobench_models import (
    Found,
    Model,
    assign,
    bins,
    capacitated,
    capacitated_medians,
    colours,
    cover,
    demands,
    generalised,
    knapsack,
    medians,
    one_each,
    partition,
    path,
    tour,
    vertices,
    warehouses,
)

from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench import (
    assignment,
    covering,
    crews,
    cutting,
    graphs,
    independent,
    landing,
    location,
    packing,
    reentrant,
    routes,
    scheduling,
    structuring,
)
from tracebench_llm4ad.cobench.certificates import SHIPPED, WIDEST, digest
from tracebench_llm4ad.cobench.problem import GENERATOR_SEED, Problem


def shop(*, ordered: bool) -> Callable[[Mapping[str, Any], Model], Found]:
    def solve(a: Mapping[str, Any], m: Model) -> Found:
        times, machines = a["times"], a["machines"]
        latest = sum(map(sum, times))
        starts = [[m.new_int_var(0, latest, "") for _ in row] for row in times]
        end = m.new_int_var(scheduling.makespan_bound(times, machines), latest, "")
        spells: dict[Any, list[Any]] = {}
        for j, row in enumerate(times):
            for k, time in enumerate(row):
                spell = m.new_fixed_size_interval_var(starts[j][k], time, "")
                spells.setdefault(("machine", machines[j][k]), []).append(spell)
                if not ordered:
                    spells.setdefault(("job", j), []).append(spell)
                elif k:
                    m.add(starts[j][k] >= starts[j][k - 1] + row[k - 1])
                m.add(end >= starts[j][k] + time)
        for held in spells.values():
            m.add_no_overlap(held)
        m.minimize(end)
        bound = m.solved()
        return {"start_times": [[int(m.solver.value(s)) for s in row] for row in starts]}, bound

    return solve


def landings(a: Mapping[str, Any], m: Model) -> Found:
    planes, runways, gaps = a["planes"], a["num_runways"], a["separation"]
    times = [m.new_int_var(int(p["earliest"]), int(p["latest"]), "") for p in planes]
    at = [m.bits(runways) for _ in planes]
    one_each(m, at)
    cost = []
    for plane, time in zip(planes, times, strict=True):
        before, after = m.new_int_var(0, 10**6, ""), m.new_int_var(0, 10**6, "")
        m.add(before >= int(plane["target"]) - time)
        m.add(after >= time - int(plane["target"]))
        cost.append(int(plane["penalty_early"]) * before + int(plane["penalty_late"]) * after)
    for i in range(len(planes)):
        for j in range(i + 1, len(planes)):
            first = m.new_bool_var("")
            for r in range(runways):
                m.add(times[j] >= times[i] + int(gaps[i][j])).only_enforce_if([first, at[i][r], at[j][r]])
                m.add(times[i] >= times[j] + int(gaps[j][i])).only_enforce_if([first.negated(), at[i][r], at[j][r]])
    m.minimize(sum(cost))
    bound = m.solved()
    told = {
        i + 1: {
            "landing_time": float(m.solver.value(t)),
            "runway": next(r + 1 for r in range(runways) if m.on(at[i][r])),
        }
        for i, t in enumerate(times)
    }
    return {"schedule": told}, bound


MODELS: dict[type[Problem], Callable[[Mapping[str, Any], Model], Found]] = {
    assignment.Assignment: assign,
    assignment.GeneralisedAssignment: generalised,
    packing.BinPacking: bins,
    packing.Knapsack: knapsack,
    packing.DemandKnapsack: demands,
    covering.SetCovering: cover,
    covering.SetPartitioning: partition,
    graphs.Colouring: colours,
    graphs.Salesman: tour,
    independent.IndependentSet: vertices,
    routes.ConstrainedPath: path,
    location.UncapacitatedWarehouses: warehouses,
    location.CapacitatedWarehouses: capacitated,
    location.Medians: medians,
    location.CapacitatedMedians: capacitated_medians,
    scheduling.FlowShop: flow,
    scheduling.JobShop: shop(ordered=True),
    scheduling.OpenShop: shop(ordered=False),
    scheduling.CommonDueDate: due_date,
    landing.AircraftLanding: landings,
    crews.CrewScheduling: duties,
    cutting.ConstrainedGuillotine: cut_often,
    cutting.UnconstrainedGuillotine: cut_once,
    cutting.NonGuillotine: pack,
    reentrant.ReentrantShop: served,
    structuring.CorporateStructuring: structure,
    structuring.EquitablePartitioning: equal_shares,
}
SOLVER = f"OR-tools {ortools.__version__} CP-SAT"
HIGHS = "HiGHS (scipy.optimize.milp)"
SETS = "dynamic programming over sets"
OTHER = {
    location.CapacitatedWarehouses: HIGHS,
    graphs.Salesman: HIGHS,
    location.Medians: HIGHS,
    location.CapacitatedMedians: HIGHS,
    packing.BinPacking: f"bound L2, else {HIGHS}",
    crews.CrewScheduling: f"{HIGHS} over all duties",
    cutting.ConstrainedGuillotine: SETS,
    cutting.UnconstrainedGuillotine: SETS,
    scheduling.CommonDueDate: SETS,
    scheduling.FlowShop: f"{SETS}, unbeaten ends kept",
    structuring.CorporateStructuring: SETS,
    structuring.EquitablePartitioning: "the least imbalance of each attribute, which it attains",
}


def main() -> None:
    """Print a line a task, and write what was proven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    told = parser.parse_args()
    kept = json.loads(SHIPPED.read_text()) if SHIPPED.exists() else {}
    for kind, solve in MODELS.items():
        if told.tasks and not any(word in kind.name for word in told.tasks):
            continue
        task = kind.build(data="generated").evaluator
        cases, gaps, count = {}, [], 0
        for name, text in kind.generated(GENERATOR_SEED).items():
            for case in kind.parsed(text, name=name):
                count += 1
                try:
                    answer, bound = solve(case.arguments, Model(told.seconds))
                except TimeoutError:
                    continue
                value = task.value(case, answer)  # the task's own check of every constraint
                direction = 1 if BY_NAME[kind.name].direction == "maximize" else -1
                best = min(bound, float("inf")) if abs(bound - value) > 1e-4 * max(1.0, abs(value)) else value
                assert direction * (best - value) >= 0, (kind.name, value, bound)
                cases[digest(case.arguments)] = [value, best]
                gaps.append(abs(best - value) / max(abs(value), 1e-9))
        whole = len(gaps) == count and max(gaps) <= WIDEST
        kept.pop(kind.name, None)
        if whole:
            kept[kind.name] = {"solver": OTHER.get(kind, SOLVER), "cases": cases}
        SHIPPED.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        told_of = f"{len(cases):4} {sum(g == 0 for g in gaps):4} {max(gaps, default=1):.4f}"
        print(
            f"{kind.name.rpartition('/')[2]:60} {told_of}{'' if whole else f'  not kept: of {count}'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
