"""`calibrate --at-once`: tasks beside each other, a timed one alone, and one that ends its process costs itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
import os, time
from pathlib import Path
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, SuiteSpec, TaskSpec

FOLDER = Path(os.environ["AT_ONCE"])
NAMES = ["one", "timed", "two", "ends"]

class Task:
    objective = "say so"
    splits = {"train": (Example(id="a"),)}
    parameters = (Parameter(name="text", initial="a"),)
    def __init__(self, name):
        self.name = name
    def calibrations(self):
        return [Calibration(name="it", kind="known", values={"text": "x"}, expected=1.0)]
    def run(self, values, example, context):
        FOLDER.joinpath(self.name).touch()
        if self.name == "ends":
            os._exit(3)
        if self.name == "timed":
            return float(FOLDER.joinpath("one-done").exists() and FOLDER.joinpath("two-done").exists())
        other = FOLDER / ("two" if self.name == "one" else "one")
        due = time.monotonic() + 60
        while not other.exists() and time.monotonic() < due:  # which comes only where both are under way
            time.sleep(0.01)
        FOLDER.joinpath(f"{self.name}-done").touch()
        return float(other.exists())
    def guide(self, example, output, context):
        return Feedback(score=output, text="so")

one, timed, two, ends = ((lambda n: lambda: Task(n))(n) for n in NAMES)

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Beside")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"beside:{n}", title=n, timed=n == "timed") for n in NAMES]
"""


def test_tasks_are_measured_beside_each_other_and_a_timed_one_when_they_are_done(
    cli: Cli, plugin_path: Install, tmp_path: Path
) -> None:
    found = plugin_path("beside", SUITE, group="tracebench", entry="beside", target="beside")
    environment = {"TRACEBENCH_PLUGINS": "beside", "XDG_STATE_HOME": str(tmp_path / "state"), **found}
    environment |= {"AT_ONCE": str(tmp_path)}

    done = cli("calibrate", "beside", "--at-once", "2", env=environment)

    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert [line.split()[1] for line in lines] == [
        "beside:one", "beside:two", "beside:ends:", "beside:timed",
    ], done.stdout + done.stderr  # fmt: skip
    assert [line[:6] for line in lines] == ["[OK] b", "[OK] b", "[FAIL]", "[OK] b"]
    assert "exit code 3" in lines[2]
    kept = cli("calibrate", "beside", "--kept", env=environment)
    assert kept.stdout.count("[OK]") == 3
