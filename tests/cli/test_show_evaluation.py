"""`show JOB --evaluation N`, tasks that no listing shows, and tasks that check themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, Requirement, SuiteSpec, TaskSpec

class Tale:
    objective = "tell"
    parameters = (Parameter(name="x", initial=1.0, kind="number"),)
    splits = {"train": (Example(id="a"), Example(id="b"))}
    def run(self, values, example, context):
        (context.artifacts / "told.txt").write_text(f"the tale of {example.id}")
        place = context.artifacts.parent
        context.record("told", {"transcript": f"{place.name}/{context.artifacts.name}/told.txt"})
        context.record("leads-out", {"transcript": "../../../../../../../../etc/passwd"})
        return values["x"]
    def guide(self, example, output, context):
        return Feedback(score=output, text=f"words on {example.id}")
    def self_check(self):
        return ["its reference does not solve it"]

def build(): return Tale()

def spec(name, **more): return TaskSpec(name=name, loader="mine:build", title=name, **more)

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Mine")

@hookimpl
def tracebench_tasks(): return [spec("told"), spec("lacking", requires=(Requirement(kind="command", name="no-such-tool", hint="get it"),))]

@hookimpl
def tracebench_find_task(name): return spec(name) if name.startswith("tale-") else None
"""


@pytest.fixture
def mine(plugin_path: Install) -> Mapping[str, str]:
    return {"TRACEBENCH_PLUGINS": "mine", **plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")}


def config(folder: Path, task: str) -> str:
    path = folder / "run.yaml"
    path.write_text(f"mode: stub\nrun_id: r\ntasks: [{{id: 'mine:{task}'}}]\ntrainers: [{{id: NoOp}}]\n")
    return str(path)


def test_an_evaluation_is_shown_with_the_transcript_that_its_suite_kept(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    ran = cli("run", "--config", config(tmp_path, "tale-7"), "--runs-dir", str(tmp_path / "runs"), env=mine)
    assert ran.returncode == 0, ran.stderr
    (job,) = (tmp_path / "runs/r/jobs").iterdir()

    second = cli("show", str(job), "--evaluation", "2", env=mine)
    data = json.loads(cli("show", str(job), "--evaluation", "2", "--json", env=mine).stdout)
    none = cli("show", str(job), "--evaluation", "99", env=mine)
    of_run = cli("show", str(job.parent.parent), "--evaluation", "1", env=mine)

    assert "candidate c0 on b\n" in second.stdout
    assert "the tale of b" in second.stdout
    assert "root:" not in second.stdout
    assert (data["evaluation"]["feedback"], [r["name"] for r in data["records"]]) == (
        "words on b",
        ["mine.told", "mine.leads-out"],
    )
    assert (none.returncode, of_run.returncode) == (2, 2)
    assert "none with the number 99" in none.stderr


def test_a_task_that_no_listing_shows_runs_and_stays_unlisted(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    listed = cli("list-tasks", env=mine).stdout
    unknown = cli("validate", "--config", config(tmp_path, "other-7"), env=mine)

    assert "mine:told" in listed
    assert "tale-" not in listed
    assert unknown.returncode == 2
    assert "has no task `mine:other-7`" in unknown.stderr


def test_what_a_task_finds_wrong_with_itself_fails_a_strict_validation(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    lenient = cli("validate", "--config", config(tmp_path, "told"), env=mine)
    strict = cli(
        "validate", "--strict", "--config", config(tmp_path, "told"), "--runs-dir", str(tmp_path / "runs"), env=mine
    )

    assert lenient.returncode == 0, lenient.stderr
    assert strict.returncode == 1
    assert "[FAIL] mine:told: its reference does not solve it" in strict.stdout


def test_a_run_whose_every_job_lacks_something_exits_with_3(cli: Cli, mine: Mapping[str, str], tmp_path: Path) -> None:
    done = cli("run", "--config", config(tmp_path, "lacking"), "--runs-dir", str(tmp_path / "runs"), env=mine)

    assert done.returncode == 3
    assert "get it" in done.stderr
