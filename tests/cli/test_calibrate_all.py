"""`calibrate` without a name: all suites in one go, a line for each; a broken one costs itself, and Ctrl-C nothing that was seen."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.warm import start

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
import os, sys, time
from tracebench_core.errors import MissingRequirementError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, TaskSpec

class One:
    objective = "be one"
    splits = {"train": (Example(id="a"),)}
    parameters = (Parameter(name="x", initial=0.0, kind="number"),)
    def __init__(self, name): self.name = name
    def calibrations(self):
        if self.name == "quits": sys.exit("enough")
        if self.name == "bare": return []
        return [Calibration(name="one", kind="gold", values={"x": 1.0}, expected=1.0)]
    def run(self, values, example, context):
        if self.name == "dies": os._exit(7)
        if self.name == "hangs":
            if "UNDER_WAY" in os.environ: open(os.environ["UNDER_WAY"], "w").close()
            time.sleep(600)
        return values["x"]
    def guide(self, example, output, context): return Feedback(score=output)

def needs(): raise MissingRequirementError("there is no wrench", hint="buy one")
names = ("fine", "dies", "quits", "raises", "bare", "last")
fine, dies, quits, bare, last, hangs, timed = (
    (lambda n: lambda: One(n))(n) for n in ("fine", "dies", "quits", "bare", "last", "hangs", "timed")
)
def raises(): raise ZeroDivisionError("by nothing")

@hookimpl
def tracebench_tasks():
    made = [TaskSpec(name=n, loader=f"rude:{n}", title=n) for n in (*names, "needs", *os.environ.get("ALSO", "").split())]
    return [*made, TaskSpec(name="timed", loader="rude:timed", title="timed", timed=True)]
"""


@pytest.fixture
def rude(plugin_path: Install, tmp_path: Path) -> Mapping[str, str]:
    found = plugin_path("rude", SUITE, group="tracebench", entry="rude", target="rude")
    return {"TRACEBENCH_PLUGINS": "rude", "XDG_STATE_HOME": str(tmp_path / "state"), **found}


def test_a_broken_task_costs_itself_alone_and_suites_are_summed_up(cli: Cli, rude: Mapping[str, str]) -> None:
    shown = cli("calibrate", "--no-timed", env=rude)

    lines = shown.stdout.splitlines()
    assert shown.returncode == 1
    assert [line for line in lines if "] rude:" in line] == [
        "[OK] rude:fine one (gold): expected 1, seen 1",
        "[FAIL] rude:dies: the process that tried it ended with exit code 7",
        "[FAIL] rude:quits: SystemExit: enough (line 13 of rude.py, in calibrations)",
        "[FAIL] rude:raises: ZeroDivisionError: by nothing (line 29 of rude.py, in raises)",
        "[OK] rude:last one (gold): expected 1, seen 1",
        "[SKIP] rude:needs: there is no wrench buy one; never calibrated",
        "[SKIP] rude:timed: its score is a time, and such tasks were left out",
    ]
    assert any(line.startswith("[OK] internal:code_param right (gold)") for line in lines)
    header = "suite\ttasks\tpassed\tfailed\tnoisy\tskipped\twithout cases\tnot measured\tbroken"
    table = dict(line.split("\t", 1) for line in lines[lines.index(header) + 1 :])
    assert table["rude"] == "8\t2\t0\t0\t0\t1\t2\t3"
    assert table["internal"].split("\t")[2:5] == ["0", "0", "0"]


def test_a_task_that_hangs_is_given_up(cli: Cli, rude: Mapping[str, str]) -> None:
    shown = cli("calibrate", "rude:hangs", "rude:last", "--task-timeout", "5", env={**rude, "ALSO": "hangs"})

    assert shown.returncode == 1
    assert shown.stdout.splitlines() == [
        "[FAIL] rude:hangs: its cases take longer than 5 s",
        "[OK] rude:last one (gold): expected 1, seen 1",
    ]


def test_what_was_seen_is_recalled_without_measuring(cli: Cli, rude: Mapping[str, str]) -> None:
    before = cli("calibrate", "rude", "--kept", "--json", env=rude)
    cli("calibrate", "rude", env=rude)
    after = cli("calibrate", "rude", "--kept", "--json", env=rude)
    table = cli("calibrate", "rude", "--kept", "--table", env=rude)

    assert {row["result"] for row in json.loads(before.stdout)["cases"]} == {"skipped"}
    told = json.loads(after.stdout)
    assert [row["task"] for row in told["cases"] if row["result"] == "passed"] == [
        "rude:fine",
        "rude:last",
        "rude:timed",
    ]
    assert told["without_cases"] == ["rude:bare"]
    assert told["suites"][0] | {"passed": 3, "without_cases": 1, "not_measured": 4, "tasks": 8} == told["suites"][0]
    assert table.returncode == 0
    assert table.stdout.splitlines() == [
        "| kind | tasks | cases | came out | one of them |",
        "|---|---|---|---|---|",
        "| `gold` | 3 | 3 | 3 passed | `rude:fine`, one: expected 1, seen 1 |",
        "| without cases | 1 |  |  | `rude:bare` |",
        "| not measured here | 4 |  |  | `rude:dies`: it was not measured here by the judge that is installed |",
    ]


def test_nothing_that_was_seen_is_lost_when_it_is_interrupted(rude: Mapping[str, str], tmp_path: Path) -> None:
    quiet = {k: v for k, v in os.environ.items() if not k.startswith("TRACEBENCH_")}
    under_way = tmp_path / "under way"
    environ = {**quiet, **rude, "ALSO": "hangs", "UNDER_WAY": str(under_way)}
    process = start("calibrate", "rude:fine", "rude:hangs", "internal", folder=tmp_path, environ=environ)
    try:
        while not under_way.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()

    assert out.startswith("[OK] rude:fine one (gold): expected 1, seen 1\n")
    assert process.returncode == 130
    assert "What 1 task came to is kept; the others were not measured." in err
    assert "internal" not in out
    (kept,) = list((tmp_path / "state" / "trace-bench" / "calibrations").iterdir())
    assert json.loads(kept.read_text())[0]["task"] == "rude:fine"
