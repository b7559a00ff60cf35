"""Forty ways in which a task can be broken, and what a job of each must come to: a plugin, read as text by the test that installs it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.errors import ModelError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import EnvironmentSpec, Example, Feedback, Parameter, Requirement, TaskSpec


class Kind(NamedTuple):
    """One kind of broken task."""

    build: Any
    status: str
    """Of its job, where models answer."""
    error: str = ""
    """Type of its error."""
    trains: bool = False
    """Training gets as far as its model calls; where none is answered, that is what it fails for."""
    fields: Mapping[str, Any] = MappingProxyType({})


KINDS: dict[str, Kind] = {}
SPLITS = {
    "train": [Example(id=i) for i in "abc"],
    "validation": [Example(id=i) for i in "uv"],
    "test": [Example(id="t")],
}


class Lab:
    objective = "Raise x."

    def __init__(self, run: Any, guide: Any) -> None:
        self.parameters = [Parameter(name="x", initial=0.0, kind="number")]
        self.splits = dict(SPLITS)
        self._run, self.guide = run, guide

    def run(self, values: Any, example: Example, context: Any) -> Any:
        return self._run(values, example, context)


def plain(values: Any, _example: Example, _context: Any) -> Any:
    return values["x"]


def fair(_example: Example, output: Any, _context: Any) -> Feedback:
    return Feedback(score=float(output))


def loading(status: str, error: str = "", **fields: Any) -> Any:
    """Register a loader."""

    def register(build: Any) -> Any:
        KINDS[build.__name__] = Kind(build, status, error, fields=fields)
        return build

    return register


def running(status: str, error: str = "", *, trains: bool = False, **fields: Any) -> Any:
    """Register a program; its guide is fair."""

    def register(program: Any) -> Any:
        KINDS[program.__name__] = Kind(lambda: Lab(program, fair), status, error, trains, fields)
        return program

    return register


def judging(status: str, error: str = "", *, trains: bool = False, **fields: Any) -> Any:
    """Register a guide; its program is plain."""

    def register(guide: Any) -> Any:
        KINDS[guide.__name__] = Kind(lambda: Lab(plain, guide), status, error, trains, fields)
        return guide

    return register


@loading("failed", "RuntimeError")
def loader_raises() -> Any:
    raise RuntimeError("no data")


@loading("failed", "PluginError")
def loader_exits() -> Any:
    sys.exit(3)


@loading("failed", "JobDied")
def loader_ends_the_process_well() -> Any:
    os._exit(0)


@loading("failed", "JobDied")
def loader_ends_the_process() -> Any:
    os._exit(3)


@loading("timeout")
def loader_hangs() -> Any:
    time.sleep(600)


@loading("failed", "AttributeError")
def loader_returns_nothing() -> Any:
    return None


@loading("failed", "UsageError")
def no_parameters() -> Any:
    task = Lab(plain, fair)
    task.parameters = []
    return task


@loading("failed", "PluginError")
def no_training_examples() -> Any:
    task = Lab(plain, fair)
    task.splits = {"train": [], "validation": [Example(id="v")]}
    return task


@loading("failed", "PluginError")
def example_twice() -> Any:
    task = Lab(plain, fair)
    task.splits = {"train": [Example(id="a"), Example(id="a")]}
    return task


@loading("skipped", requires=(Requirement(kind="module", name="not_there", hint="pip install not_there"),))
def something_is_missing() -> Any:
    return Lab(plain, fair)


@loading("failed", "PluginError", loader="fake_chaos_gone:build")
def module_is_gone() -> Any:
    return None


@loading("failed", "PluginError", loader="fake_chaos:nothing_of_that_name")
def name_is_gone() -> Any:
    return None


@judging("failed", "BrokenTaskError")
def guide_raises(*_: Any) -> Any:
    raise KeyError("lost")


@judging("failed", "BrokenTaskError")
def guide_returns_nothing(*_: Any) -> Any:
    return None


@judging("failed", "BrokenTaskError")
def guide_returns_a_number(*_: Any) -> Any:
    return 1.0


@judging("failed", "BrokenTaskError")
def guide_returns_nan(*_: Any) -> Any:
    return {"score": float("nan")}


@judging("failed", "BrokenTaskError")
def guide_returns_infinity(*_: Any) -> Any:
    return {"score": float("inf")}


@judging("failed", "BrokenTaskError")
def guide_misspells(*_: Any) -> Any:
    return {"score": 1.0, "sore": 2.0}


@judging("failed", "BrokenTaskError")
def guide_names_a_metric_that_is_no_number(*_: Any) -> Any:
    return {"score": 1.0, "metrics": {"loss": "low"}}


@judging("failed", "BrokenTaskError")
def guide_takes_two(_example: Example, _output: Any) -> Any:
    return Feedback(score=1.0)


@judging("failed", "BrokenTaskError")
def guide_fails_on_one_example(example: Example, output: Any, _context: Any) -> Any:
    if example.id in "bv":
        raise ValueError("odd example")
    return Feedback(score=float(output))


@judging("failed", "BrokenTaskError")
def guide_recurses(*_: Any) -> Any:
    return guide_recurses()


@judging("failed", "BrokenTaskError")
def guide_runs_out_of_memory(*_: Any) -> Any:
    raise MemoryError


@judging("failed", "JobDied")
def guide_ends_the_process_well(*_: Any) -> Any:
    os._exit(0)


@judging("failed", "JobDied")
def guide_ends_the_process(*_: Any) -> Any:
    os._exit(1)


@judging("failed", "JobDied")
def guide_crashes(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)


@judging("failed", "JobDied")
def guide_is_killed(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@judging("failed", "BrokenTaskError")
def guide_exits(*_: Any) -> Any:
    sys.exit(0)


@judging("failed", "KeyboardInterrupt")
def guide_interrupts(*_: Any) -> Any:
    raise KeyboardInterrupt


@judging("timeout")
def guide_hangs_for_good(*_: Any) -> Any:
    time.sleep(600)


@judging("failed", "NothingMeasured", trains=True, evaluation_timeout=0.1)
def guide_hangs_within_bounds(*_: Any) -> Any:
    time.sleep(600)


@judging("ok", trains=True)
def guide_talks_too_much(_example: Example, output: Any, _context: Any) -> Any:
    return Feedback(score=float(output), text="x" * 5_000_000)


@running("failed", "BrokenTaskError")
def program_raises(*_: Any) -> Any:
    raise ValueError("no good")


@running("failed", "BrokenTaskError")
def program_returns_what_the_guide_cannot_take(*_: Any) -> Any:
    return object()


@running("failed", "NothingMeasured", trains=True)
def server_of_the_task_is_away(*_: Any) -> Any:
    raise NotMeasured("the scoring server is away")


@running("failed", "NothingMeasured", trains=True)
def model_of_the_program_is_away(*_: Any) -> Any:
    raise ModelError("no route", kind="refused")


@running("failed", "NothingMeasured", trains=True, environments=("gone",))
def environment_does_not_open(_values: Any, _example: Example, context: Any) -> Any:
    return context.environment("gone")


@running("failed", "NothingScored", trains=True)
def every_candidate_fails(*_: Any) -> Any:
    raise EvaluationFailed(Feedback(score=0.0, status="invalid", text="not this one"))


@running("failed", "TaskRaised", trains=True, worst_score=-9.0)
def program_raises_for_every_other_candidate(values: Any, *_: Any) -> Any:
    if values["x"]:
        raise ValueError("no good")
    return 0.0


@running("ok", trains=True, worst_score=-9.0, evaluation_timeout=0.1)
def program_hangs_for_every_other_candidate(values: Any, *_: Any) -> Any:
    while values["x"]:
        pass
    return 0.0


@running("ok", trains=True)
def program_changes_the_values(values: Any, *_: Any) -> Any:
    values["x"] += 0.0
    values.pop("y", None)
    return values.pop("x")


@running("ok", trains=True)
def program_wanders_off(values: Any, *_: Any) -> Any:
    os.chdir("/")
    sys.stdout.close()
    return values["x"]


@running("ok", trains=True)
def program_leaves_processes_and_threads(values: Any, *_: Any) -> Any:
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return values["x"]


@running("ok", trains=True)
def program_prints_without_end(values: Any, *_: Any) -> Any:
    print("x" * 1_000_000)
    return values["x"]


class Away:
    def open(self, _context: Any) -> Any:
        raise OSError("nobody is there")

    def close(self) -> None:
        return None


def build_lamp() -> Any:
    def asks(values: Any, _example: Example, context: Any) -> Any:
        context.complete([{"role": "user", "content": "?"}], role="agent")
        return values["x"]

    return Lab(asks, fair)


for _name, _kind in KINDS.items():
    globals()[f"build_{_name}"] = _kind.build


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    return [EnvironmentSpec(name="gone", kind="lab", loader="fake_chaos:Away", scope="job")]


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    lamp = TaskSpec(name="lamp", loader="fake_chaos:build_lamp", title="A program whose model answers", uses_model=True)
    return [lamp] + [
        TaskSpec(**({"name": name, "loader": f"fake_chaos:build_{name}", "title": name} | dict(kind.fields)))
        for name, kind in KINDS.items()
    ]
