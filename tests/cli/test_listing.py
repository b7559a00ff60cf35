"""`list-tasks`, `list-trainers`, `list-suites`, `plugins`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tracebench_core.errors import typed

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}

SUITE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Exclusion, Requirement, SuiteSpec, TaskSpec, TrainerSpec

@hookimpl
def tracebench_suite():
    return SuiteSpec(title="Mine", aliases=("own",))

@hookimpl
def tracebench_tasks():
    lack = Requirement(kind="module", name="no_such_module", hint="pip install no-such-module")
    yield TaskSpec(name="one", loader="mine:build", title="The first")
    yield TaskSpec(name="deep/two", loader="mine:build", title="The second", requires=(lack,))
    yield TaskSpec(name="three", loader="mine:build", title="Not offered")

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Fine", loader="mine:build")
    yield TrainerSpec(name="Abstract", loader="mine:build")
    yield TrainerSpec(name="Lacking", loader="mine:build", requires=(Requirement(kind="env", name="NO_SUCH", hint="export NO_SUCH=1"),))

@hookimpl
def tracebench_exclusions():
    yield Exclusion(id="mine:three", reason="its data moved")
    yield Exclusion(id="Abstract", reason="abstract")
"""


@pytest.fixture
def mine(plugin_path: Install) -> Mapping[str, str]:
    return {"TRACEBENCH_PLUGINS": "mine", **plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")}


def test_tasks_are_one_id_a_line(cli: Cli) -> None:
    done = cli("list-tasks", env=CORE_ONLY)

    assert done.returncode == 0
    assert done.stderr == ""
    assert "internal:numeric_param" in done.stdout.splitlines()
    assert all(":" in line and " " not in line for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--bench", "mine"], {"mine:one", "mine:deep/two"}),
        (["--bench", "own"], {"mine:one", "mine:deep/two"}),
        (["--dataset-name", "mine"], {"mine:one", "mine:deep/two"}),
        (["--pattern", "*deep/*"], {"mine:deep/two"}),
        (["--bench", "mine", "--pattern", "internal:*"], set()),
    ],
)
def test_tasks_can_be_narrowed(cli: Cli, mine: Mapping[str, str], arguments: list[str], expected: set[str]) -> None:
    done = cli("list-tasks", *arguments, env=mine)

    assert done.returncode == 0
    assert set(done.stdout.splitlines()) == expected


@pytest.mark.parametrize("suites", ["mine,internal", "internal+mine"])
def test_several_suites_are_joined_by_comma_or_plus(cli: Cli, mine: Mapping[str, str], suites: str) -> None:
    listed = cli("list-tasks", "--bench", suites, env=mine).stdout.splitlines()

    assert {line.partition(":")[0] for line in listed} == {"mine", "internal"}


def test_an_unknown_suite_is_told_with_the_nearest_one(cli: Cli) -> None:
    done = cli("list-tasks", "--bench", "internl", env=CORE_ONLY)

    assert done.returncode == 2
    assert "Did you mean `internal`?" in done.stderr


def test_tasks_as_json_say_what_is_missing(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = json.loads(cli("list-tasks", "--bench", "mine", "--json", env=mine).stdout)
    tasks = {task["id"]: task for task in shown["tasks"]}

    assert shown["schema_version"] == 1
    assert tasks["mine:one"]["title"] == "The first"
    assert tasks["mine:one"]["unavailable"] is None
    assert typed("pip install no-such-module") in tasks["mine:deep/two"]["unavailable"]


def test_trainers_are_listed_with_their_state(cli: Cli, mine: Mapping[str, str]) -> None:
    available = cli("list-trainers", env=mine).stdout.splitlines()
    every = dict(line.split("\t", 1) for line in cli("list-trainers", "--all", env=mine).stdout.splitlines())

    assert "Fine\tavailable" in available
    assert all(line.endswith("\tavailable") for line in available)
    assert every["Fine"] == "available"
    assert every["Abstract"] == "unavailable\texcluded: abstract"
    assert every["Lacking"].startswith("unavailable\tneeds: env `NO_SUCH`")


def test_trainers_as_json(cli: Cli, mine: Mapping[str, str]) -> None:
    shown = json.loads(cli("list-trainers", "--all", "--json", env=mine).stdout)["trainers"]

    assert {t["id"]: t["available"] for t in shown}["Abstract"] is False
    assert {t["id"]: t["reason"] for t in shown}["Fine"] is None


def test_suites_count_what_they_offer(cli: Cli, mine: Mapping[str, str]) -> None:
    lines = cli("list-suites", env=mine).stdout.splitlines()
    shown = json.loads(cli("list-suites", "--json", env=mine).stdout)["suites"]

    assert "mine\t2\tMine" in lines
    assert next(s for s in shown if s["name"] == "mine")["tasks"] == 2


def test_a_broken_plugin_costs_only_itself_and_says_why(cli: Cli, plugin_path: Install) -> None:
    source = "raise ImportError('no libfoo')"
    env = {"TRACEBENCH_PLUGINS": "bad", **plugin_path("bad", source, group="tracebench", entry="bad", target="bad")}

    listed = cli("list-tasks", env=env)
    told = cli("plugins", env=env)
    document = cli("plugins", "--json", env=env)
    shown = json.loads(document.stdout)["plugins"]

    assert listed.returncode == 0
    assert "internal:numeric_param" in listed.stdout
    assert "no libfoo" in listed.stderr
    assert "bad\tbad\t1.0\tfailed\tImportError: no libfoo" in told.stdout.splitlines()
    assert "internal" in told.stdout
    assert "Cannot be used: `bad`." in told.stderr
    assert (told.returncode, document.returncode) == (1, 1)
    assert next(p for p in shown if p["name"] == "bad")["status"] == "failed"


def test_strict_plugins_make_a_broken_one_an_error(cli: Cli, plugin_path: Install) -> None:
    env = plugin_path("bad", "raise ImportError('no libfoo')", group="tracebench", entry="bad", target="bad")

    done = cli("list-tasks", env={**env, "TRACEBENCH_PLUGINS": "bad", "TRACEBENCH_STRICT_PLUGINS": "1"})

    assert done.returncode == 3
    assert "Plugin `bad`" in done.stderr


def test_a_reader_that_leaves_early_is_told_nothing() -> None:
    command = Path(sys.executable).with_name("trace-bench")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            [command, "list-tasks"], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )

    assert "Traceback" not in done.stderr
    assert "bug of ours" not in done.stderr


def test_a_limit_to_a_plugin_that_is_not_installed_is_refused(cli: Cli) -> None:
    done = cli("list-tasks", env={"TRACEBENCH_PLUGINS": "optoo"})

    assert done.returncode == 2
    assert "`TRACEBENCH_PLUGINS` names `optoo`" in done.stderr


def test_a_pattern_without_a_match_says_so(cli: Cli) -> None:
    done = cli("list-tasks", "--pattern", "nothing*", env=CORE_ONLY)

    assert (done.returncode, done.stdout) == (0, "")
    assert "No task matches `nothing*`." in done.stderr


@pytest.mark.parametrize(
    ("root", "told"),
    [
        ("empty", ["`empty` is empty.", "  hint: ls empty"]),
        ("notes", ["`notes` adds no task to those of the installed suites.", "  hint: ls notes"]),
        ("gone", ["`gone` does not exist.", "  hint: ls ."]),
        ("mine=empty", ["`empty` is empty.", "  hint: ls empty"]),
    ],
)
def test_a_folder_that_adds_no_task_is_told(
    cli: Cli, mine: Mapping[str, str], tmp_path: Path, root: str, told: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/read.me").touch()

    done = cli("list-tasks", "--bench", "mine", "--root", root, env=mine)

    assert done.returncode == 0
    assert set(done.stdout.splitlines()) == {"mine:one", "mine:deep/two"}
    assert [line.partition("   (")[0] for line in done.stderr.splitlines()] == told


def test_a_folder_that_adds_a_task_is_listed_without_a_word(cli: Cli, plugin_path: Install, tmp_path: Path) -> None:
    source = SUITE.replace(
        "def tracebench_tasks():\n",
        """def tracebench_configure(settings):
    global ROOT
    ROOT = settings["root"]

@hookimpl
def tracebench_tasks():
    yield from (TaskSpec(name=path.name, loader="mine:build", title="Yours") for path in (ROOT.iterdir() if ROOT else ()))
""",
    )
    env = {"TRACEBENCH_PLUGINS": "mine", **plugin_path("mine", source, group="tracebench", entry="mine", target="mine")}
    (tmp_path / "yours/four").mkdir(parents=True)

    done = cli("list-tasks", "--bench", "mine", "--root", "yours", env=env)

    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {"mine:four", "mine:one", "mine:deep/two"}
