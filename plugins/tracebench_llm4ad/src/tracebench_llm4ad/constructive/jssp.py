"""Job-shop scheduling, dispatched operation by operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import JsspOptions
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
def determine_next_operation(current_status: dict, feasible_operations: list) -> list:
    """Schedule the shortest operation next."""
    return min(feasible_operations, key=lambda operation: operation[2])
'''

OBJECTIVE = """
Design a dispatching rule for the job-shop scheduling problem. Every job is a fixed sequence of operations, one on each machine, each \
with its own machine and processing time; a machine works on one operation at a time, and an operation is never interrupted.
`determine_next_operation(current_status, feasible_operations)` is called once per operation, until all are scheduled.
- `current_status` (dict): `"machine_status"` (list of int: the time from which each machine is free), `"job_status"` (list of int: \
the time at which each job's scheduled part ends), and `"remaining_work"` (list of int: the processing time that each job has left, \
its next operation included).
- `feasible_operations` (list of `[job_id, machine_id, processing_time]`, all int): the next operation of every unfinished job, \
ascending by job.
Return one element of `feasible_operations`. It starts as soon as both its job and its machine are free.
There are 20 jobs and 10 machines unless configured otherwise; processing times are integers from 1 to 100.
Score: the mean makespan (the time at which the last operation ends); shorter is better.
"""

LONGEST = 100


@dataclass(frozen=True, slots=True)
class JobShop:
    """Both of shape (jobs, machines): row j lists job j's operations in their order."""

    machines: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]


@dataclass(slots=True)
class Shop:
    """A partial schedule: how many operations of each job are done, and when jobs and machines are free."""

    done: list[int]
    job_free: list[int]
    machine_free: list[int]

    def schedule(self, instance: JobShop, job: int) -> None:
        """Start the job's next operation as early as its job and its machine allow."""
        step = self.done[job]
        machine = int(instance.machines[job, step])
        end = max(self.job_free[job], self.machine_free[machine]) + int(instance.times[job, step])
        self.job_free[job] = self.machine_free[machine] = end
        self.done[job] += 1


class JsspEvaluator(Evaluator[JobShop], StepwiseRules[JobShop]):
    """Semi-active schedules; a solution is the order of jobs whose next operation is scheduled."""

    name = "optimization/jssp_construct"
    entry = "determine_next_operation"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the job and machine load lower bound"

    def __init__(self, options: JsspOptions) -> None:
        super().__init__(options)
        self.jobs, self.machines = options.n_jobs, options.n_machines

    def generate(self, rng: np.random.Generator) -> JobShop:
        """Draw times from 1 to 100 and a random machine order for every job (Taillard 1993)."""
        machines = np.array([rng.permutation(self.machines) for _ in range(self.jobs)])
        return JobShop(machines, rng.integers(1, LONGEST + 1, (self.jobs, self.machines)))

    def steps(self, instance: JobShop) -> Steps:
        """Dispatch one operation per call."""
        shop = empty_shop(instance)
        order: list[int] = []
        for _ in range(instance.times.size):
            feasible = [
                [job, int(instance.machines[job, step]), int(instance.times[job, step])]
                for job, step in enumerate(shop.done)
                if step < self.machines
            ]
            status = {
                "machine_status": list(shop.machine_free),
                "job_status": list(shop.job_free),
                "remaining_work": [int(instance.times[job, step:].sum()) for job, step in enumerate(shop.done)],
            }
            answer = integers((yield status, feasible).value, length=3, what="one of `feasible_operations`")
            if answer not in feasible:
                raise invalid(
                    f"The function must return one of `feasible_operations`; {answer} is none of the {len(feasible)}."
                )
            shop.schedule(instance, answer[0])
            order.append(answer[0])
        return order

    def judge(self, instance: JobShop, solution: Any) -> Verdict:
        """Replay the order and value its makespan."""
        expected = sorted([job for job in range(self.jobs) for _ in range(self.machines)])
        if sorted(solution) != expected:
            raise invalid(
                f"The schedule must hold each of the {self.jobs} jobs' {self.machines} operations exactly once."
            )
        shop = empty_shop(instance)
        for job in solution:
            shop.schedule(instance, job)
        last = int(np.argmax(shop.machine_free))
        makespan = shop.machine_free[last]
        work = int(instance.times[instance.machines == last].sum())
        return Verdict(
            float(makespan),
            f"Machine {last} ends last, at {makespan}: it works {work} and stands idle for {makespan - work} before.",
        )

    def draw(self, instance: JobShop, solution: Any) -> Drawing:
        """Draw it."""
        shop = empty_shop(instance)
        work = []
        for job in solution:
            step = shop.done[job]
            shop.schedule(instance, job)
            end = shop.job_free[job]
            work.append((int(instance.machines[job, step]), end - int(instance.times[job, step]), end, job))
        return kinds.schedule(work)

    def bound(self, instance: JobShop) -> float:
        """Return the longest of all jobs, and of all machines with their shortest head and tail."""
        before = np.cumsum(instance.times, axis=1) - instance.times
        after = instance.times.sum(axis=1, keepdims=True) - before - instance.times
        longest = int(instance.times.sum(axis=1).max())
        for machine in range(self.machines):
            mine = instance.machines == machine
            longest = max(longest, int(before[mine].min() + instance.times[mine].sum() + after[mine].min()))
        return float(longest)


def empty_shop(instance: JobShop) -> Shop:
    """Return the schedule in which nothing is scheduled yet."""
    jobs, machines = instance.times.shape
    return Shop([0] * jobs, [0] * jobs, [0] * machines)


build = loader(JsspEvaluator, JsspOptions)
"""Build the task."""
