"""Taillard's flow and job shops, drawn again from their published seeds, as OR-Library's files hold them.

After Taillard (1993), "Benchmarks for basic scheduling problems", EJOR 64, 278-285: a linear congruential generator, times from 1 to 99,
and for job shops a random order of machines for every job. `taillard.json` holds the facts, all 120 flow shops and 80 job shops: the
seeds of that paper, and the best makespans known, of flow shops as the lists of branch and bound have them (Gmys, Mezmaz, Melab and
Tuyttens 2020), of job shops as papers on learned dispatching quote them (Zhang et al. 2020); a few have been lowered a little since.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tracebench_core.errors import UsageError

Table = list[list[int]]

MEDIUM = {"flow": ("tai50_5", "tai50_10", "tai50_20"), "job": ("tai20_15", "tai20_20", "tai30_15")}
"""The files of the variant `medium`; `small` is the first file of all, and `ranking` has every one."""


@dataclass(frozen=True, slots=True)
class Shops:
    """The ten instances of one of the files."""

    jobs: int
    machines: int
    seeds: Sequence[Sequence[int]]
    """Of each instance: the seed of its times, and of a job shop also that of the machines."""
    best: Sequence[int]
    """The best makespan known of each instance."""


@cache
def shops(kind: str) -> Mapping[str, Shops]:
    """Return the files of a kind, `flow` or `job`, by name such as `tai20_5`, from the smallest on."""
    facts = json.loads(files(__package__).joinpath("taillard.json").read_text(encoding="utf-8"))
    return {name: Shops(**given) for name, given in facts[kind].items()}


def chosen_files(kind: str, *, size: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the files to use: those that are named, else those of a size, `small`, `medium` or `ranking`.

    Raises:
        UsageError: for a name that is none of the files.
    """
    known = tuple(shops(kind))
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"there is no file `{unknown[0]}` among Taillard's {kind} shops",
            hint=f"`instances` of `eval_kwargs` takes {', '.join(known)}",
        )
    return tuple(names) or {"small": known[:1], "medium": MEDIUM[kind], "ranking": known}[size]


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
