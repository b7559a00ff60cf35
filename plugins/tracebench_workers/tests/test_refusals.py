"""What cannot be is refused at the start, as people type it: in words with what mends it, by the exit codes of the docs, no traceback."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.tracebench_workers.tests.world import Process, World
from tests.whole import HEAVY

from tracebench_engine.api.sandboxes import level

NEEDY = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, Requirement, TaskSpec

ROOT = None

class Task:
    objective = "Say a number."
    parameters = (Parameter(name="x", initial=0.0, kind="number"),)
    splits = {"train": (Example(id="a"),)}
    def run(self, values, example, context):
        return values["x"]
    def guide(self, example, output, context):
        return Feedback(score=0.0)

def build():
    return Task()

def needing(task, **what):
    return TaskSpec(name=task, loader="fake_needy:build", title=task, requires=(Requirement(**what),))

@hookimpl
def tracebench_configure(settings):
    global ROOT
    ROOT = settings["root"]

@hookimpl
def tracebench_tasks():
    found = [
        needing("gpu", kind="gpu", name="1", hint="nvidia-smi"),
        needing("python", kind="module", name="nobodys_module", python="needy", hint="trace-bench pythons create needy"),
        needing("nowhere", kind="path", name="/nonexistent/tool", hint="ls /nonexistent"),
    ]
    if ROOT is not None:
        found.append(needing("data", kind="dataset", name=str(ROOT / "data.txt"), hint=f"ls {ROOT}"))
    return found
"""
TASKS = "[needy:gpu, needy:python, needy:data, needy:nowhere]"
NEEDS = f"""
run_id: r
tasks: {TASKS}
trainers: [NoOp]
executor: workers
plugins: {{options: {{workers: {{listen: "127.0.0.1:0", ticket: ticket}}}}}}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def refused(world: World, *words: str) -> tuple[int, str]:
    """Type a command that is refused; return its exit code and what it says."""
    told = world.asked(*words)
    said = told.stdout + told.stderr
    assert "Traceback" not in said
    return told.returncode, said


def test_an_executor_that_there_is_not_is_told_with_the_one_that_was_meant(world: World) -> None:
    for words in (
        ("run", "--config", "waits.yaml", "--executor", "wrokers"),
        ("plan", "waits.yaml", "-o", "executor=wrokers"),
        ("validate", "--config", "waits.yaml", "-o", "executor=wrokers"),
    ):
        code, said = refused(world, *words)
        assert (code, "Did you mean `workers`?" in said) == (2, True), said
    assert not (world.folder / "runs").exists()


def test_an_address_that_cannot_be_listened_at_is_refused_before_there_is_a_run(world: World) -> None:
    def typed(address: str, command: str = "run") -> tuple[int, str]:
        return refused(world, command, "--config", "waits.yaml", "-o", f"plugins.options.workers.listen={address}")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = typed(f"127.0.0.1:{port}")
        assert (code, "Address already in use" in said) == (2, True), said
        assert "-o plugins.options.workers.listen=127.0.0.1:0" in said
        checked = world.asked(
            "validate", "--strict", "--config", "waits.yaml", "-o", f"plugins.options.workers.listen=127.0.0.1:{port}"
        )
        assert (checked.returncode, "Address already in use" in checked.stdout) == (1, True), checked.stdout
    code, said = typed("192.0.2.1:7400")  # of the addresses that are nobody's: RFC 5737
    assert (code, "Cannot assign requested address" in said) == (2, True), said
    assert "-o plugins.options.workers.listen=0.0.0.0:7400" in said
    code, said = typed("nobody.invalid:7400")
    assert (code, "cannot listen at `nobody.invalid:7400`" in said) == (2, True), said
    code, said = typed("127.0.0.1:80000")
    assert (code, "`127.0.0.1:80000` is no ADDRESS:PORT, such as 0.0.0.0:7400" in said) == (3, True), said
    assert not (world.folder / "runs").exists()


def test_a_worker_without_a_run_says_which_ticket_it_had(world: World) -> None:
    code, said = refused(world, "worker", "--ticket", "nowhere")
    assert (code, "`nowhere` cannot be read: No such file" in said) == (2, True), said
    code, said = refused(world, "worker")
    assert (code, "Which run?" in said) == (2, True), said
    (world.folder / "wrong").write_text("https://head.example:7400")
    code, said = refused(world, "worker", "--ticket", "wrong")
    assert (code, "This is no ticket of a run" in said) == (2, True), said


class Needs:
    """A run whose tasks need what its own machine has, and machines that lack one thing each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.home = world.folder
        self.has = {
            "PYTHONPATH": os.pathsep.join([str(self.site("1.0")), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            "PATH": f"{self.tools()}:{os.environ['PATH']}",
            "TRACEBENCH_PYTHONS": str(self.pythons()),
        }
        for name in ("data", "empty"):
            (self.home / name).mkdir()
        (self.home / "data/data.txt").touch()
        (self.home / "needs.yaml").write_text(NEEDS)

    def site(self, version: str) -> Path:
        """Install the plugin, in some version, where PYTHONPATH may name it."""
        site = self.home / f"site-{version}"
        info = site / f"fake_needy-{version}.dist-info"
        info.mkdir(parents=True)
        (site / "fake_needy.py").write_text(NEEDY)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: fake-needy\nVersion: {version}\nRequires-Dist: tracebench-core>=0.1\n"
        )
        (info / "entry_points.txt").write_text("[tracebench]\nneedy = fake_needy\n")
        return site

    def tools(self) -> Path:
        """Return a folder with what tells of a graphics processor."""
        tool = self.home / "tools/nvidia-smi"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho 'NVIDIA A100'\n")
        tool.chmod(0o755)
        return tool.parent

    def pythons(self) -> Path:
        """Return a folder with a prepared interpreter."""
        python = self.home / "pythons/needy/bin/python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        (self.home / "pythons/needy/trace-bench.json").write_text("{}")
        return self.home / "pythons"

    def run(self) -> Process:
        return self.world.start("run", "--config", "needs.yaml", "--root", "data", **self.has)

    def worker(self, *words: str, **lacks: str) -> tuple[int, str]:
        """Have a worker try to join that has all but something."""
        words = words or ("--root", "data")
        worker = self.world.start("worker", "--ticket", "ticket", *words, **{**self.has, **lacks})
        said, _ = worker.communicate(timeout=300)
        assert "Traceback" not in said
        return worker.returncode, said

    def looked(self, **lacks: str) -> dict[str, dict[str, object]]:
        """Look from the place of such a worker."""
        ticket = (self.home / "ticket").read_text().strip()
        words = ("doctor", "--as", "worker", "--json", "--root", "data")
        told = self.world.start(*words, **{**self.has, "TRACEBENCH_TICKET": ticket, **lacks}).communicate(timeout=300)[
            0
        ]
        return rows_of(told)


def rows_of(told: str) -> dict[str, dict[str, object]]:
    """Return what `doctor --json` looked at, by name; warnings may stand before it."""
    (document,) = (line for line in told.splitlines() if line.startswith("{"))
    return {row["name"]: row for row in json.loads(document)["checks"]}


@HEAVY
def test_a_worker_that_lacks_what_the_tasks_need_is_refused_with_what_mends_it(world: World) -> None:
    needs = Needs(world)
    run = needs.run()
    world.ticket()
    for lacks, words, why in (
        ({"PATH": os.environ["PATH"]}, (), "the task `needy:gpu` needs the gpu `1`, which is not here"),
        ({"CUDA_VISIBLE_DEVICES": ""}, (), "the task `needy:gpu` needs the gpu `1`, which is not here"),
        ({"TRACEBENCH_PYTHONS": str(needs.home / "none")}, (), "trace-bench pythons create needy"),
        ({}, ("--root", "empty"), "the task `needy:data` needs the dataset"),
        ({}, ("--jobs", "1"), "the task `needy:data` is not here"),
        ({}, ("--root", "nowhere"), "nowhere"),
        ({"PYTHONPATH": str(needs.site("2.0"))}, (), "the plugin `needy` 1.0, and 2.0 is installed here"),
    ):
        code, said = needs.worker(*words, **lacks)
        assert (code, why in said) == (2, True), said
    wrong = str(world.ticket()).rpartition("/")[0] + "/" + "x" * 43
    (needs.home / "wrong").write_text(wrong)
    code, said = needs.worker("--ticket", "wrong")
    assert (code, "the token is not that of this run" in said) == (2, True), said

    lame = needs.looked(TRACEBENCH_PYTHONS="nowhere")
    assert (lame["run"]["ok"], "pythons create needy" in str(lame["run"]["value"])) == (False, True), lame
    assert needs.looked(TRACEBENCH_TICKET=wrong)["run"]["ok"] is False
    sound = needs.looked()
    assert all(sound[name]["ok"] for name in ("run", "folder", "loopback", "isolation", "scratch")), sound
    assert "is shared with the run" in str(sound["folder"]["value"])

    code, said = needs.worker()
    assert code == 0, said
    told, _ = run.communicate(timeout=300)
    statuses = sorted(world.statuses())
    assert statuses == ["ok", "ok", "ok", "skipped"], told  # what the run's machine lacks, too, is as at home
    assert told.count("is not let in") == 7, told
    assert "Traceback" not in told


def test_what_a_worker_has_is_told_without_a_run(world: World) -> None:
    told = world.asked("doctor", "--as", "worker", "--json")
    rows = {row["name"]: row for row in json.loads(told.stdout)["checks"]}
    assert {"Python", "isolation", "scratch", "loopback", "run"} <= rows.keys()
    assert rows["loopback"]["ok"]
    assert (rows["run"]["ok"], rows["run"]["needed"]) == (False, False)
    missing = world.asked("doctor", "--as", "wroker")
    assert (missing.returncode, "viewer-user, worker" in missing.stderr) == (2, True), missing.stderr


@HEAVY
def test_how_a_worker_holds_code_stands_in_the_results_of_its_jobs(world: World) -> None:
    lame = [sys.executable, str(Path(__file__).parents[3] / "tests/sandbox/hide.py"), "landlock,seccomp,namespaces"]
    options = ("-o", "tasks=[internal:code_param]", "-o", "sandbox.require=process")
    run = world.start("run", "--config", "waits.yaml", *options)
    world.ticket()
    weak = world.start("worker", "--ticket", "ticket", "--name", "weak", within=lame)
    world.wait_for(lambda: "1" in world.begun())
    world.worker("strong")
    world.wait_for(lambda: "2" in world.begun())
    ticket = (world.folder / "ticket").read_text().strip()
    looked = world.start("doctor", "--as", "worker", "--json", within=lame, TRACEBENCH_TICKET=ticket)
    rows = rows_of(looked.communicate(timeout=300)[0])
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=300)

    assert run.returncode == 0, told
    assert weak.wait(60) == 0
    results = [json.loads(path.read_text()) for path in (world.folder / "runs/r/jobs").glob("*/results.json")]
    assert {r["seed"]: r["versions"]["isolation"] for r in results} == {1: "process", 2: level()}
    assert (rows["isolation"]["ok"], rows["run"]["ok"]) == (False, True), rows
    assert "Landlock" in str(rows["isolation"]["hint"])
