"""Shops and due dates: flow shop, job shop, open shop (Taillard's files) and a common due date (OR-Library's `sch`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, CoBenchOptions, Problem, Tokens, part, permutation, rows
from tracebench_llm4ad.cobench.taillard import chosen_files, flow_shop, job_shop, shops
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import BOUND, Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import shown, whole

SHOP_ARGUMENTS = """
- `n_jobs`, `n_machines` (int).
- `times` (list of n_jobs lists of n_machines ints): the processing times of each job's operations.
- `machines` (the same shape): the machine of each operation, from 1 to n_machines; each job visits each machine once.
Return `{"start_times": [[...], ...]}`, the start of each operation in the shape of `times`, non-negative integers.
"""
DISPATCH = '''
def solve(n_jobs: int, n_machines: int, times: list, machines: list) -> dict:
    """Start the jobs' operations in their listed order, each as soon as its job and its machine are free."""
    job_free, machine_free = [0] * n_jobs, [0] * (n_machines + 1)
    start_times = [[0] * n_machines for _ in range(n_jobs)]
    for k in range(n_machines):
        for j in range(n_jobs):
            machine = machines[j][k]
            start = max(job_free[j], machine_free[machine])
            start_times[j][k] = start
            job_free[j] = machine_free[machine] = start + times[j][k]
    return {"start_times": start_times}
'''


def sections(text: str) -> Iterator[dict[str, list[list[int]]]]:
    """Yield the cases of one of Taillard's files: `head`, `times` and `machines` as rows of integers."""
    case: dict[str, list[list[int]]] = {}
    here = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.casefold()
        if words[0].isdigit():
            case[here].append([int(float(word)) for word in line.split()])
            continue
        if "jobs" in words:
            if case:
                yield case
            case, here = {}, "head"
        else:
            here = "machines" if "machines" in words else "times"
        case[here] = []
    if not case:
        raise ValueError("it has no line that names the number of jobs")
    yield case


def makespan_bound(times: Sequence[Sequence[int]], machines: Sequence[Sequence[int]]) -> int:
    """Return the greatest load of a machine or a job."""
    load: dict[int, int] = {}
    for times_of_job, machines_of_job in zip(times, machines, strict=True):
        for time, machine in zip(times_of_job, machines_of_job, strict=True):
            load[machine] = load.get(machine, 0) + time
    return max(*load.values(), *map(sum, times))


def flow_bound(matrix: Sequence[Sequence[int]]) -> int:
    """Return the greatest load of a machine, with the least that must come before and after it."""
    return max(
        sum(row[i] for row in matrix) + min(sum(row[:i]) for row in matrix) + min(sum(row[i + 1 :]) for row in matrix)
        for i in range(len(matrix[0]))
    )


class FlowShop(Problem):
    """All jobs pass the machines in the same order; a schedule is one order of jobs."""

    name = "optimization/co_bench/flow_shop_scheduling_co_bench"
    folder = "Flow shop scheduling"
    program = '''
def solve(n: int, m: int, matrix: list) -> dict:
    """Keep the order of the file."""
    return {"job_sequence": list(range(1, n + 1))}
'''
    objective = """
Permutation flow shop: n jobs pass m machines in the order of the machines' numbers, all in one and the same order of jobs, without \
interruption; a machine works on one job at a time. Write `solve(n, m, matrix)`, which finds an order that is done early.
- `n`, `m` (int): jobs and machines.
- `matrix` (list of n lists of m ints): `matrix[j][i]` is the processing time of job j + 1 on machine i.
Return `{"job_sequence": [...]}`, the n job numbers from 1 to n, each once.
Score: minus the makespan (the time at which the last job leaves the last machine), averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read Taillard's `tai` files: a row of times for each machine; the fourth number of the head is the best makespan."""
        for section in sections(text):
            jobs, machines, *rest = section["head"][0]
            table = section["times"]
            if len(table) != machines or any(len(row) != jobs for row in table):
                raise ValueError(f"expected {machines} rows of {jobs} times")
            matrix = [[row[j] for row in table] for j in range(jobs)]
            known = float(rest[1]) if len(rest) > 1 and rest[1] > 0 else None
            yield Case({"n": jobs, "m": machines, "matrix": matrix}, known)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 12 jobs and 5 machines, times from 1 to 99 (Taillard, 1993), without a best value."""
        head = "number of jobs, number of machines, initial seed, upper bound and lower bound :"
        tables = [rng.integers(1, 100, (5, 12)) for _ in range(3)]
        return "\n".join(
            f"{head}\n12 5 0 0 {flow_bound(table.T.tolist())}\nprocessing times :\n{rows(table)}" for table in tables
        )

    @classmethod
    def published(cls, options: CoBenchOptions) -> dict[str, str]:
        """Return the files of Taillard's flow shops that are asked for."""
        head = "number of jobs, number of machines, initial seed, upper bound and lower bound :"
        drawn: dict[str, str] = {}
        for name in chosen_files("flow", size=options.size, names=options.instances):
            of = shops("flow")[name]
            cases = []
            for (seed,), best in zip(of.seeds, of.best, strict=True):
                table = flow_shop(seed, jobs=of.jobs, machines=of.machines)
                numbers = f"{of.jobs} {of.machines} {seed} {best} {flow_bound(list(zip(*table, strict=True)))}"
                cases.append(f"{head}\n{numbers}\nprocessing times :\n{rows(table)}")
            drawn[f"{name}.txt"] = "\n".join(cases)
        return drawn

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the makespan."""
        matrix = case.arguments["matrix"]
        order = permutation(part(answer, "job_sequence"), first=1, count=case.arguments["n"], what="job_sequence")
        free = [0] * case.arguments["m"]
        for job in order:
            end = 0
            for machine, time in enumerate(matrix[job - 1]):
                end = free[machine] = max(end, free[machine]) + time
        return float(free[-1])

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the schedule."""
        matrix, free = case.arguments["matrix"], [0] * case.arguments["m"]
        work = []
        for job in answer["job_sequence"]:
            end = 0
            for machine, time in enumerate(matrix[job - 1]):
                end = free[machine] = max(end, free[machine]) + time
                work.append((machine, end - time, end, int(job)))
        return kinds.schedule(work)

    def simple_bound(self, case: Case) -> float:
        """Return the greatest load of a machine, with the least that must come before and after it."""
        return float(flow_bound(case.arguments["matrix"]))


class OpenShop(Problem):
    """Operations of a job may come in any order; job and machine do one thing at a time."""

    name = "optimization/co_bench/open_shop_scheduling_co_bench"
    folder = "Open shop scheduling"
    captions = (
        "number of jobs, number of machines, time seed, machine seed, upper bound, lower bound :",
        "processing times :",
        "machines :",
    )
    """Of the head, the times and the machines, as Taillard's files of this shop have them."""
    program = DISPATCH
    ordered = False
    objective = f"""
Open shop: each job has one operation on each machine, in any order, without interruption; a job is on one machine at a time, and a \
machine works on one job at a time. Write `solve(n_jobs, n_machines, times, machines)`, which finds a schedule that is done early.
{SHOP_ARGUMENTS}
Score: minus the makespan (the time at which the last operation ends), averaged over cases. An overlap is refused.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read Taillard's files: a row of times and one of machines for each job; the head's fifth number is the best makespan."""
        for section in sections(text):
            jobs, machines, *rest = section["head"][0]
            times, visited = section["times"], section["machines"]
            for table in (times, visited):
                if len(table) != jobs or any(len(row) != machines for row in table):
                    raise ValueError(f"expected {jobs} rows of {machines} numbers")
            if any(sorted(row) != list(range(1, machines + 1)) for row in visited):
                raise ValueError("a job does not visit every machine once")
            known = float(rest[2]) if len(rest) > 2 and rest[2] > 0 else None  # noqa: PLR2004 - the fifth number
            yield Case({"n_jobs": jobs, "n_machines": machines, "times": times, "machines": visited}, known)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 10 jobs and 8 machines: times from 1 to 99, machines in random order (Taillard, 1993)."""
        cases = []
        head, before_times, before_machines = cls.captions
        for _ in range(3):
            machines = [(rng.permutation(8) + 1).tolist() for _ in range(10)]
            times = rng.integers(1, 100, (10, 8)).tolist()
            bound = makespan_bound(times, machines)
            cases.append(
                f"{head}\n10 8 0 0 0 {bound}\n{before_times}\n{rows(times)}\n{before_machines}\n{rows(machines)}"
            )
        return "\n".join(cases)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the makespan."""
        times, machines = case.arguments["times"], case.arguments["machines"]
        starts = self._starts(case, part(answer, "start_times"))
        work: dict[str, list[tuple[int, int]]] = {}
        for j, row in enumerate(starts):
            for k, start in enumerate(row):
                spell = (start, start + times[j][k])
                work.setdefault(f"job {j + 1}", []).append(spell)
                work.setdefault(f"machine {machines[j][k]}", []).append(spell)
                if self.ordered and k and start < row[k - 1] + times[j][k - 1]:
                    raise invalid(
                        f"Job {j + 1} starts operation {k + 1} at {start}, before operation {k} ends at {row[k - 1] + times[j][k - 1]}."
                    )
        for name, spells in work.items():
            spells.sort()
            for before, after in pairwise(spells):
                if after[0] < before[1]:
                    raise invalid(
                        f"On {name}, an operation starts at {after[0]} before the one of {before[0]} to {before[1]} ends."
                    )
        return float(max(end for spells in work.values() for _, end in spells))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the schedule."""
        times, machines = case.arguments["times"], case.arguments["machines"]
        starts = self._starts(case, answer["start_times"])
        first = min(min(row) for row in machines)
        return kinds.schedule(
            (machines[j][k] - first, start, start + times[j][k], j)
            for j, row in enumerate(starts)
            for k, start in enumerate(row)
        )

    def simple_bound(self, case: Case) -> float:
        """Return the greatest load of a machine or a job."""
        return float(makespan_bound(case.arguments["times"], case.arguments["machines"]))

    def _starts(self, case: Case, value: Any) -> list[list[int]]:
        jobs, machines = case.arguments["n_jobs"], case.arguments["n_machines"]
        table = value.tolist() if isinstance(value, np.ndarray) else value
        if isinstance(table, list | tuple):
            table = [row.tolist() if isinstance(row, np.ndarray) else row for row in table]
        if (
            not isinstance(table, list | tuple)
            or len(table) != jobs
            or any(not isinstance(row, list | tuple) or len(row) != machines for row in table)
        ):
            raise invalid(f"`start_times` must be {jobs} lists of {machines} integers; it is {shown(value)}.")
        starts = [[whole(start, what="start_times") for start in row] for row in table]
        if (least := min(map(min, starts))) < 0:
            raise invalid(f"An operation starts at {least}, before 0.")
        return starts


class JobShop(OpenShop):
    """As the open shop, but the operations of a job keep their listed order."""

    name = "optimization/co_bench/job_shop_scheduling_co_bench"
    folder = "Job shop scheduling"
    captions = (
        "Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound",
        "Times",
        "Machines",
    )
    ordered = True
    objective = f"""
Job shop: each job is a sequence of operations, one on each machine, that must be done in the listed order without interruption; a \
machine works on one job at a time. Write `solve(n_jobs, n_machines, times, machines)`, which finds a schedule that is done early.
{SHOP_ARGUMENTS}
Score: minus the makespan (the time at which the last operation ends), averaged over cases. An overlap, or an operation before the end \
of the one listed before it, is refused.
"""

    @classmethod
    def published(cls, options: CoBenchOptions) -> dict[str, str]:
        """Return the files of Taillard's job shops that are asked for."""
        head, before_times, before_machines = cls.captions
        drawn: dict[str, str] = {}
        for name in chosen_files("job", size=options.size, names=options.instances):
            of = shops("job")[name]
            cases = []
            for (time_seed, machine_seed), best in zip(of.seeds, of.best, strict=True):
                times, machines = job_shop(time_seed, machine_seed, jobs=of.jobs, machines=of.machines)
                bound = makespan_bound(times, machines)
                cases.append(
                    f"{head}\n{of.jobs} {of.machines} {time_seed} {machine_seed} {best} {bound}\n{before_times}\n{rows(times)}\n"
                    f"{before_machines}\n{rows(machines)}"
                )
            drawn[f"{name}.txt"] = "\n".join(cases)
        return drawn


class CommonDueDate(Problem):
    """One machine without idle time from 0 on; every job is due at the same time."""

    name = "optimization/co_bench/common_due_date_scheduling_co_bench"
    folder = "Common due date scheduling"
    tightness = 0.6
    program = '''
def solve(jobs: list, h: float = 0.6) -> dict:
    """Keep the order of the file."""
    return {"schedule": list(range(1, len(jobs) + 1))}
'''
    objective = """
Common due date: one machine processes all jobs one after the other, from time 0 and without idle time, and all are due at the same time \
d = floor(h * sum of the processing times). Write `solve(jobs, h)`, which finds an order that costs little.
- `jobs` (list of tuples (p, a, b) of ints): processing time, cost of each unit of earliness, cost of each unit of tardiness.
- `h` (float): 0.6.
Return `{"schedule": [...]}`, the job numbers from 1 to len(jobs), each once, in the order of processing.
Score: minus the sum of a * (d - C) over jobs that end at C < d and b * (C - d) over those that end at C > d, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `sch` files: the number of cases; for each the number of jobs, and p, a, b of every job."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            jobs = [tuple(tokens.wholes(3)) for _ in range(tokens.whole())]
            yield Case({"jobs": jobs, "h": cls.tightness})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 20 jobs: p from 1 to 20, a from 1 to 10, b from 1 to 15 (Biskup and Feldmann, 2001)."""
        jobs = [np.column_stack([rng.integers(1, top + 1, 20) for top in (20, 10, 15)]) for _ in range(3)]
        return "3\n" + "\n".join(f"20\n{rows(table)}" for table in jobs) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the cost of earliness and tardiness."""
        jobs = case.arguments["jobs"]
        due = math.floor(sum(p for p, _, _ in jobs) * case.arguments["h"])
        time = cost = 0
        for number in permutation(part(answer, "schedule"), first=1, count=len(jobs), what="schedule"):
            p, early, late = jobs[number - 1]
            time += p
            cost += early * max(0, due - time) + late * max(0, time - due)
        return float(cost)

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the schedule and the due date."""
        jobs, time = case.arguments["jobs"], 0
        work = []
        for number in answer["schedule"]:
            work.append((0, time, time + jobs[number - 1][0], int(number)))
            time += jobs[number - 1][0]
        drawing = kinds.schedule(work)
        due = math.floor(time * case.arguments["h"])
        drawing.line([(due, 0), (due, 1)], BOUND)
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return 0."""
        return 0.0

    def size(self, case: Case) -> str:
        """Name the number of jobs."""
        return f"Case: {len(case.arguments['jobs'])} jobs."


build_flow_shop = FlowShop.build
build_open_shop = OpenShop.build
build_job_shop = JobShop.build
build_common_due_date = CommonDueDate.build
