"""Taillard's flow and job shops, drawn again from their published seeds, as OR-Library's files hold them.

After Taillard (1993), "Benchmarks for basic scheduling problems", EJOR 64, 278-285: a linear congruential generator, times from 1 to 99,
and for job shops a random order of machines for every job. The upper bounds are proven optima, known for all of these instances.
"""

from __future__ import annotations

from collections.abc import Iterator

Table = list[list[int]]

FLOW_SHOPS_20_5 = (
    (873654221, 1278), (379008056, 1359), (1866992158, 1081), (216771124, 1293), (495070989, 1235),
    (402959317, 1195), (1369363414, 1234), (2021925980, 1206), (573109518, 1230), (88325120, 1108),
)  # fmt: skip
"""`tai20_5`: the seed of the times and the optimum of each of the ten instances of 20 jobs and 5 machines."""

JOB_SHOPS_15_15 = (
    (840612802, 398197754, 1231), (1314640371, 386720536, 1244), (1227221349, 316176388, 1218), (342269428, 1806358582, 1175),
    (1603221416, 1501949241, 1224), (1357584978, 1734077082, 1238), (44531661, 1374316395, 1227), (302545136, 2092186050, 1217),
    (1153780144, 1393392374, 1274), (73896786, 1544979948, 1241),
)  # fmt: skip
"""`tai15_15`: the seeds of times and of machines, and the optimum, of each of the ten instances of 15 jobs and 15 machines."""


def fractions(seed: int) -> Iterator[float]:
    """Yield the generator's numbers between 0 and 1 (Bratley, Fox and Schrage: 16807, modulo 2^31 - 1)."""
    while True:
        seed = 16807 * seed % 2147483647
        yield seed / 2147483647


def flow_shop(seed: int, *, jobs: int, machines: int) -> Table:
    """Return the processing times, a row for each machine."""
    times = (1 + int(99 * share) for share in fractions(seed))
    return [[next(times) for _ in range(jobs)] for _ in range(machines)]


def job_shop(time_seed: int, machine_seed: int, *, jobs: int, machines: int) -> tuple[Table, Table]:
    """Return the processing times and the machines, counted from 1, in the order of each job's operations."""
    times = (1 + int(99 * share) for share in fractions(time_seed))
    table = [[next(times) for _ in range(machines)] for _ in range(jobs)]
    shares = fractions(machine_seed)
    orders = [list(range(1, machines + 1)) for _ in range(jobs)]
    for order in orders:
        for here in range(machines):
            there = here + int(next(shares) * (machines - here))
            order[here], order[there] = order[there], order[here]
    return table, orders
