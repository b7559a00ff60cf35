"""Checks of executors: whole runs through the command, side by side with the core's own executor."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import Catalog
from tracebench_engine.api.checking import Finding, Skipped
from tracebench_testing.checks.plugin import PluginUnderTest, ask_process

RUN_SECONDS = 170.0
PROMISE_SECONDS = 300.0
SCHEDULES = 3
SAME = """
seeds: [1, 2]
budget: {evaluations: 20}
tasks: [internal:numeric_param]
trainers: [NoOp, RandomSearch]
"""
DEADLY = """
import os, signal
from tracebench_core.specs import Example, Feedback, Parameter
class Task:
    objective = "Die."
    parameters = (Parameter(name="x", initial=0.0, kind="number"),)
    splits = {"train": (Example(id="a"),)}
    def run(self, values, example, context):
        os.kill(os.getpid(), signal.SIGKILL)
    def guide(self, example, output, context):
        return Feedback(score=0.0)
def task():
    return Task()
"""
DIES = """
seeds: [1, 2]
tasks: ["./deadly.py:task", internal:numeric_param]
trainers: [NoOp]
"""
SLOW = """
import time
class Sleeps:
    def __init__(self, settings): ...
    def train(self, problem):
        problem.evaluate(problem.initial)
        time.sleep(600)
"""
TIMES_OUT = """
job_timeout: 1
tasks: [internal:numeric_param]
trainers: ["./slow.py:Sleeps"]
"""
Found = Iterator[Finding | Skipped]


def check_same_results(plugin: PluginUnderTest) -> Found:
    """Get the same results as the core's own executor.

    Four small jobs run on both. Where jobs run may change nothing but time. Mend: hand a job's order over whole, and keep its environment.
    """

    def fault(executor: str) -> str:
        ours, theirs = (_run(SAME, name) for name in ("local", executor))
        if isinstance(ours, str):
            raise TraceBenchError(
                f"there is nothing to compare with: a run of four small jobs fails with the core's own executor: {ours}"
            )
        if isinstance(theirs, str):
            return f"a run of four small jobs fails: {theirs}"
        return "" if ours == theirs else f"its results differ: {theirs}, not {ours}"

    yield from _each(plugin, "TB441", fault)


def check_dead_jobs(plugin: PluginUnderTest) -> Found:
    """Let a job that is killed cost itself alone.

    Two of four jobs end by SIGKILL; they have failed, and the others are ok. Mend: tell the end as `died`, with what is known, and go on.
    """

    def fault(executor: str) -> str:
        states = _states(DIES, executor)
        right = states == ["failed", "failed", "ok", "ok"]
        return "" if right else f"two jobs that die and two that do not end as {states}"

    yield from _each(plugin, "TB442", fault)


def check_timeout(plugin: PluginUnderTest) -> Found:
    """End a job that takes longer than its time.

    A trainer that sleeps for ten minutes has `job_timeout: 1`. Mend: `JobOrder.time_limit` says how long a process may take.
    """

    def fault(executor: str) -> str:
        states = _states(TIMES_OUT, executor)
        return "" if states == ["timeout"] else f"a job that outlives its time ends as {states}"

    yield from _each(plugin, "TB443", fault)


def check_overlap(plugin: PluginUnderTest) -> Found:
    """Run as many jobs at the same time as there are workers, and take no order before there is a worker for it.

    Jobs wait for each other, so that fewer workers than `setting.workers` would never end. An order of None says that none may start just
    now: jobs that run go on, and the next is asked for within moments. Mend: take orders in the loop that looks after the jobs.
    """
    yield from _each(plugin, "TB444", lambda executor: _promise("overlaps", executor))


def check_cancel(plugin: PluginUnderTest) -> Found:
    """End a cancelled job, wherever it is, and no other.

    A job that runs, one that is only just ordered, and one between training and scoring are cancelled; the end is `cancelled`, and of its
    processes none is left. Mend: remember who was cancelled, and look it up when a process is started.
    """
    yield from _each(plugin, "TB445", lambda executor: _promise("cancels", executor))


def check_close(plugin: PluginUnderTest) -> Found:
    """Leave nothing: closed, interrupted, or killed with its runner.

    Jobs have started processes that left their session; when the generator is closed, none of them is there, and when the runner is
    killed by SIGKILL they end within moments. Mend: be the subreaper of your jobs, and watch the runner.
    """
    yield from _each(plugin, "TB446", lambda executor: _promise("closes", executor))


def check_lost(plugin: PluginUnderTest) -> Found:
    """Tell a job as lost when it went down with what it ran in, and be ready to run it again.

    The parent of a job's process is killed by SIGKILL. Mend: tell `lost` for each job that was in it, and start another in its place.
    """
    yield from _each(plugin, "TB447", lambda executor: _promise("loses", executor))


def check_schedules(plugin: PluginUnderTest) -> Found:
    """Keep to the contract through random schedules.

    Orders, holds, cancels, deaths, kills of what holds jobs, and closing come in an order drawn from a seed; every end must be one that the
    model allows, none told twice, nothing left, and each result that of the core's own executor. Mend: repeat the schedule that failed
    by `python -m tracebench_testing.executing random EXECUTOR FOLDER SEED`.
    """

    def fault(executor: str) -> str:
        return next(filter(None, (_promise("random", executor, str(seed)) for seed in range(1, SCHEDULES + 1))), "")

    yield from _each(plugin, "TB448", fault)


def _promise(name: str, executor: str, *more: str) -> str:
    """Try a promise of an executor in a process of its own; return in words what is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        words = [name, executor, folder, *more]
        told = ask_process(words, seconds=PROMISE_SECONDS, module="tracebench_testing.executing")
    faults = [str(line.get("fault") or line.get("error")) for line in told if line.get("fault") or line.get("error")]
    return "; ".join(dict.fromkeys(faults))


def _each(plugin: PluginUnderTest, code: str, fault: Callable[[str], str]) -> Found:
    """Yield what a check finds with each executor that can run here; no words, no fault."""
    for name, spec in plugin.parts("executor").items():
        if why := Catalog.availability(spec):
            yield Skipped(code, why, f"executor {name}")
            continue
        try:
            words = fault(name)
        except TraceBenchError as err:
            yield Skipped(code, str(err), f"executor {name}")
            continue
        if words:
            yield Finding(code, words, f"executor {name}")


def _states(config: str, executor: str) -> list[str] | str:
    found = _run(config, executor)
    return sorted(state for state, _ in found.values()) if isinstance(found, dict) else found


def _run(config: str, executor: str) -> dict[str, tuple[str, str]] | str:
    """Run a config in a folder of its own; return status and score by job, or what was said when there are no results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "deadly.py").write_text(DEADLY, encoding="utf-8")
        (folder / "slow.py").write_text(SLOW, encoding="utf-8")
        (folder / "run.yaml").write_text(f"run_id: r\nexecutor: {executor}\n{config}", encoding="utf-8")
        command = [sys.executable, "-P", "-m", "tracebench_engine.cli", "run", "--config", "run.yaml"]
        environ = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and module
                command,
                cwd=folder,
                env=environ,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=RUN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the run was still at it after {RUN_SECONDS:g} s"
        try:
            with (folder / "runs/r/results.csv").open(encoding="utf-8", newline="") as file:
                return {row["job_id"]: (row["status"], row["score_val_best"]) for row in csv.DictReader(file)}
        except (OSError, KeyError):
            return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
