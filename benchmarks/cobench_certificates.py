"""Prove optima of the generated cases of CO-Bench, check each by the task's own evaluator, and write them where the plugin ships them.

    pip install "ortools>=9.10,<10" && python benchmarks/cobench_certificates.py [TASK …] [--seconds 60]

Prints a line a task: cases, how many are optimal, the widest gap. Tasks without a model here have no certificate and claim no scale.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import ortools
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
    graphs,
    independent,
    landing,
    location,
    packing,
    routes,
    scheduling,
)
from tracebench_llm4ad.cobench.certificates import SHIPPED, digest
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


def flow(a: Mapping[str, Any], m: Model) -> Found:
    n, machines, table = a["n"], a["m"], a["matrix"]
    x = [m.bits(n) for _ in range(n)]  # x[position][job]
    one_each(m, x)
    one_each(m, [list(column) for column in zip(*x, strict=True)])
    latest = sum(map(sum, table))
    ends = [[m.new_int_var(0, latest, "") for _ in range(machines)] for _ in range(n)]
    for k in range(n):
        for i in range(machines):
            time = sum(table[j][i] * x[k][j] for j in range(n))
            m.add(ends[k][i] >= time + (ends[k][i - 1] if i else 0))
            m.add(ends[k][i] >= time + (ends[k - 1][i] if k else 0))
    m.add(ends[-1][-1] >= scheduling.flow_bound(table))
    m.minimize(ends[-1][-1])
    bound = m.solved()
    return {"job_sequence": [next(j + 1 for j in range(n) if m.on(x[k][j])) for k in range(n)]}, bound


def due_date(a: Mapping[str, Any], m: Model) -> Found:
    jobs = a["jobs"]
    total = sum(p for p, _, _ in jobs)
    due = math.floor(total * a["h"])
    starts, cost = [], []
    spells = []
    for p, early, late in jobs:
        start = m.new_int_var(0, total - p, "")
        starts.append(start)
        spells.append(m.new_fixed_size_interval_var(start, p, ""))
        before, after = m.new_int_var(0, due, ""), m.new_int_var(0, total, "")
        m.add(before >= due - start - p)
        m.add(after >= start + p - due)
        cost.append(early * before + late * after)
    m.add_no_overlap(spells)
    m.minimize(sum(cost))
    bound = m.solved()
    return {"schedule": [j + 1 for j in sorted(range(len(jobs)), key=lambda j: m.solver.value(starts[j]))]}, bound


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
}
SOLVER = f"OR-tools {ortools.__version__} CP-SAT"
HIGHS = "HiGHS (scipy.optimize.milp)"
OTHER = {
    location.CapacitatedWarehouses: HIGHS,
    graphs.Salesman: HIGHS,
    location.Medians: HIGHS,
    location.CapacitatedMedians: HIGHS,
    packing.BinPacking: f"bound L2, else {HIGHS}",
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
        cases, gaps = {}, []
        for name, text in kind.generated(GENERATOR_SEED).items():
            for case in kind.parsed(text, name=name):
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
        kept[kind.name] = {"solver": OTHER.get(kind, SOLVER), "cases": cases}
        SHIPPED.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        print(
            f"{kind.name.rpartition('/')[2]:60} {len(cases):4} {sum(g == 0 for g in gaps):4} {max(gaps, default=1):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
