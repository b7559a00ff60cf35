"""A shop whose jobs come back to the machine that began them, from files of labelled lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, part, permutation
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing

SHAPE = re.compile(
    r"Number of jobs:\s*(\d+)\s+Number of machines:\s*(\d+)\s+Initialization time:\s*(\d+)\s+"
    r"Setup times:\s*([\d\s]+?)\s*Processing times:\s*([\d\s]+)"
)


class ReentrantShop(Problem):
    """Initialization on one of the machines, setup on the one server, processing where the job was initialized."""

    name = "optimization/co_bench/hybrid_reentrant_shop_scheduling_co_bench"
    folder = "Hybrid Reentrant Shop Scheduling"
    bound_source = "the busiest machine or the server alone,"
    program = '''
def solve(n_jobs: int, n_machines: int, init_time: int, setup_times: list, processing_times: list) -> dict:
    """Keep the order of the jobs on the server."""
    return {"permutation": list(range(1, n_jobs + 1)), "batch_assignment": [k % n_machines + 1 for k in range(n_jobs)]}
'''
    objective = """
Hybrid reentrant shop: find the order of jobs on a server that ends everything early. Write `solve(n_jobs, n_machines, init_time, \
setup_times, processing_times)`.
- `n_jobs`, `n_machines`, `init_time` (int).
- `setup_times`, `processing_times` (lists of n_jobs ints).
In order of their numbers, jobs are initialized for init_time each, job j on machine (j - 1) mod n_machines + 1. Then each job is set up \
on the one server, in the order that you return; a setup begins when the server is free and the job is initialized. At last each job is \
processed on the machine that initialized it, after its setup, on each machine in order of the jobs' numbers, one at a time. (As in the \
data's own definition, initializations of later jobs do not keep a machine from processing.)
Return `{"permutation": [...]}`, the job numbers from 1 to n_jobs, each once; `"batch_assignment"` may be there and is not looked at.
Score: minus the time at which the last job is processed, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read cases of four labelled lines; lines of dashes between them are optional."""
        found = list(SHAPE.finditer(text))
        if not found or len(found) != text.count("Number of jobs:"):
            raise ValueError("a case lacks one of its four labelled lines")
        for match in found:
            jobs, machines, initial = (int(match[k]) for k in (1, 2, 3))
            setups, processing = ([int(word) for word in match[k].split()] for k in (4, 5))
            if not len(setups) == len(processing) == jobs or machines < 1:
                raise ValueError(
                    f"a case of {jobs} jobs has {len(setups)} setup and {len(processing)} processing times"
                )
            arguments = {"n_jobs": jobs, "n_machines": machines, "init_time": initial}
            yield Case(arguments | {"setup_times": setups, "processing_times": processing})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 20 jobs on 4 machines: initialization 5, setups from 1 to 20, processing from 1 to 60."""
        cases = []
        for _ in range(3):
            setups, processing = (" ".join(map(str, rng.integers(1, high, 20))) for high in (21, 61))
            cases.append(
                f"Number of jobs: 20 Number of machines: 4\nInitialization time: 5\nSetup times: {setups}\n"
                f"Processing times: {processing}\n"
            )
        return "-----\n".join(cases)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the makespan."""
        given = case.arguments
        jobs, machines = given["n_jobs"], given["n_machines"]
        order = permutation(part(answer, "permutation"), first=1, count=jobs, what="permutation")
        ready = [0] * jobs
        clock = 0
        for job in order:
            clock = max(clock, given["init_time"] * ((job - 1) // machines + 1)) + given["setup_times"][job - 1]
            ready[job - 1] = clock
        free = [0] * machines
        for j in range(jobs):
            free[j % machines] = max(free[j % machines], ready[j]) + given["processing_times"][j]
        return float(max(free))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the schedule, the server below the machines."""
        given = case.arguments
        machines, clock, ready, work = given["n_machines"], 0, [0] * given["n_jobs"], []
        for job in answer["permutation"]:
            begin = max(clock, given["init_time"] * ((job - 1) // machines + 1))
            clock = ready[job - 1] = begin + given["setup_times"][job - 1]
            work.append((machines, begin, clock, int(job)))
        free = [0] * machines
        for j, end in enumerate(ready):
            begin = max(free[j % machines], end)
            free[j % machines] = begin + given["processing_times"][j]
            work.append((j % machines, begin, free[j % machines], j + 1))
        drawing = kinds.schedule(work)
        drawing.note += "; the server is the last row"
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return the later of: the server's last end and the shortest processing; a machine's processing after one setup."""
        given = case.arguments
        setups, processing, machines = given["setup_times"], given["processing_times"], given["n_machines"]
        server = given["init_time"] + sum(setups) + min(processing)
        busiest = max(sum(processing[k::machines]) for k in range(min(machines, len(processing))))
        return float(max(server, given["init_time"] + min(setups) + busiest))


build_reentrant = ReentrantShop.build
