"""A plugin full of misbehaving trainers and tasks, and a way to run configs against it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine import api
from tracebench_engine.config import parse_config

LAB = """
import ctypes, os, signal, subprocess, sys, threading, time
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Settings(BaseModel, extra="forbid"):
    path: str = ""
    seconds: float = 60.0

def trainer(train):
    class Made:
        def __init__(self, settings): self.settings = settings
        def train(self, problem): train(problem, self.settings)
    return Made

def find(problem):
    problem.evaluate({"x": 1.0}, origin="found")

def raises(problem, settings):
    find(problem)
    raise ValueError("no good\\nlast line")

def hangs(problem, settings):
    find(problem)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.PyDLL(None).sleep(60)

def sleeps(problem, settings):
    find(problem)
    time.sleep(settings.seconds)

def quits(problem, settings):
    find(problem)
    os._exit(7)

def exits(problem, settings):
    sys.exit(3)

def swallows(problem, settings):
    while True:
        try:
            problem.evaluate({"x": 1.0})
        except BaseException:
            return

def deaf(problem, settings):
    while True:
        try:
            problem.evaluate({"x": 1.0})
        except BaseException:
            pass

def daemon(problem, settings):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(settings.path, "w").write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not os.path.exists(settings.path): time.sleep(0.01)
    find(problem)

def wanders(problem, settings):
    os.chdir("/")
    sys.stdout.close()
    os.close(1)
    find(problem)

def prints(problem, settings):
    print("hello from the job")
    find(problem)

def strays(problem, settings):
    for x in (0.0, 2.0, 3.0): problem.evaluate({"x": x})

def mixes(problem, settings):
    for x in (0.0, 0.5, 2.0): problem.evaluate({"x": x})

TRAINERS = {f.__name__: trainer(f) for f in (raises, hangs, sleeps, quits, exits, swallows, deaf, daemon, wanders, prints, strays, mixes)}
globals().update(TRAINERS)

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    def __init__(self, answer): self.answer = answer; self.splits = {"train": [Example(id="a")], "test": [Example(id="t")]}
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context): return self.answer(output)

def build_fine(): return Lab(lambda x: Feedback(score=x))
def build_nan(): return Lab(lambda x: {"score": float("nan")})
def build_none(): return Lab(lambda x: None)
def build_text(): return Lab(lambda x: "great")
def build_raises():
    def guide(x): raise KeyError("lost")
    return Lab(guide)
def build_flaky():
    def guide(x):
        if x > 1: raise KeyError("changed")
        return Feedback(score=x)
    return Lab(guide)
def build_never(): raise RuntimeError("cannot load")

@hookimpl
def tracebench_tasks():
    names = ("fine", "nan", "none", "text", "raises", "flaky", "never")
    return [TaskSpec(name=n, loader=f"fake_lab:build_{n}", title=n) for n in names] + [
        TaskSpec(name="needy", loader="fake_lab:build_fine", title="needy",
                 requires=(Requirement(kind="module", name="not_there", hint="pip install not_there"),))]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name=n, loader=f"fake_lab:{n}", settings="fake_lab:Settings", uses_model=False) for n in TRAINERS]
"""


@pytest.fixture
def lab(install_plugin: Callable[..., None], tmp_path: Path) -> Callable[..., api.RunSummary]:
    """Run `task` x `trainer` of the lab; the summary's `results` are by trainer id."""
    install_plugin("lab", LAB)

    def run(task: str, *trainers: Any, **config: Any) -> api.RunSummary:
        return api.run(
            parse_config({"tasks": [task], "trainers": list(trainers), "runs_dir": str(tmp_path / "runs"), **config}),
            stream=io.StringIO(),
        )

    return run
