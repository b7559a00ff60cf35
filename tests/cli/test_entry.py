"""How the command starts and ends: help, versions, mistakes, bugs, interrupts, other people's commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
COMMANDS = "tracebench.commands"
GOOD = "import typer\napp = typer.Typer()\n@app.command()\ndef go(times: int = 1) -> None:\n    print('went', times)\n"


def test_help_names_every_command(cli: Cli) -> None:
    done = cli("--help")

    assert done.returncode == 0
    assert done.stderr == ""
    names = "list-tasks list-trainers list-suites plugins validate run resume show fsck doctor config"
    for command in names.split():
        assert f"\n  {command} " in done.stdout


def test_without_arguments_the_help_is_shown(cli: Cli) -> None:
    done = cli()

    assert done.returncode == 0
    assert done.stdout == cli("--help").stdout


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout.startswith("trace-bench ")


def test_a_profiler_sees_the_end_of_the_command() -> None:
    script = str(Path(sys.executable).with_name("trace-bench"))

    done = subprocess.run(
        [sys.executable, "-m", "cProfile", script, "--version"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert done.stdout.startswith("trace-bench ")
    assert "function calls" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["run"], "Missing option '--config'"),
        (["run", "--config", "x.yaml", "--limt", "3"], "--limit"),
        (["run", "--config", "x.yaml", "--resume", "always"], "'auto', 'failed', 'none'"),
        (["run", "--config", "x.yaml", "--max-workers", "-1"], "Invalid value for '--max-workers'"),
        (["run", "--config", "x.yaml"], "`x.yaml` does not exist."),
        (["show", "nothing"], "There is no run `nothing` in `runs`."),
        (["resume", "nothing"], "There is no run `nothing` in `runs`."),
        (["fsck", "."], "`.` is not a run directory"),
    ],
)
def test_a_mistake_is_told_on_stderr_with_exit_code_2(cli: Cli, arguments: list[str], expected: str) -> None:
    done = cli(*arguments)

    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_debug_shows_the_traceback_wherever_it_stands(cli: Cli) -> None:
    for arguments in (["--debug", "run", "--config", "x.yaml"], ["run", "--config", "x.yaml", "--debug"]):
        done = cli(*arguments)

        assert done.returncode == 2
        assert "Traceback" in done.stderr


def test_a_plugin_adds_a_command_and_help_does_not_import_it(cli: Cli, plugin_path: Install) -> None:
    source = "print('imported')\n" + GOOD.replace("    print(", '    """Go on. Further words."""\n    print(')
    env = plugin_path("goer", source, group=COMMANDS, entry="go", target="goer:app")

    listed = cli("--help", env=env)
    called = cli("go", "--times", "3", env=env)

    assert re.search(r"\n  go  +Go on\.\n", listed.stdout)
    assert "imported" not in listed.stdout
    assert called.stdout == "imported\nwent 3\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import typer\napp = typer.Typer(help='Of a group.')\n", "Of a group."),
        (GOOD, "Provided by teller."),
        ("app = (", "Provided by teller."),
    ],
)
def test_help_says_what_a_command_of_a_plugin_does_or_who_provides_it(
    cli: Cli, plugin_path: Install, source: str, told: str
) -> None:
    env = plugin_path("teller", source, group=COMMANDS, entry="tell", target="teller:app")

    assert re.search(rf"\n  tell  +{told}\n", cli("--help", env=env).stdout)


def test_no_command_is_listed_with_words_that_are_cut(cli: Cli) -> None:
    """At 80 columns; in the list of all, in our groups, and in what plugins add."""
    added = [[found.name] for found in entry_points(group=COMMANDS)]
    for words in ([], ["config"], ["pythons"], ["agents"], ["plugins"], ["init"], *added):
        listed = cli(*words, "--help", env={"COLUMNS": "80"}).stdout.partition("Commands:")[2]
        assert not re.findall(r"\n  [a-z-]+ .*\.\.\.(?=\n)", listed), words


def test_a_plugin_cannot_replace_a_command(cli: Cli, plugin_path: Install) -> None:
    env = plugin_path("thief", GOOD, group=COMMANDS, entry="run", target="thief:app")

    assert cli("run", env=env).returncode == 2
    assert cli("--help", env=env).stdout.count("\n  run ") == 1


@pytest.mark.parametrize("source", ["raise RuntimeError('broken')", "import sys; sys.exit(9)", "app = 3"])
def test_a_broken_command_costs_only_itself(cli: Cli, plugin_path: Install, source: str) -> None:
    env = plugin_path("broken", source, group=COMMANDS, entry="hurt", target="broken:app")

    called = cli("hurt", env=env)

    assert called.returncode == 3
    assert "Command `hurt` of `broken` failed to load" in called.stderr
    assert cli("--help", env=env).returncode == 0


def test_a_bug_is_owned_in_one_sentence(cli: Cli, plugin_path: Install) -> None:
    source = GOOD.replace("print('went', times)", "raise ValueError('of no use')")
    env = plugin_path("buggy", source, group=COMMANDS, entry="go", target="buggy:app")

    done = cli("go", env=env)

    assert done.returncode == 70
    assert "internal error: ValueError: of no use" in done.stderr
    assert "--debug" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in cli("go", "--debug", env=env).stderr


def test_an_interrupt_ends_with_130(cli: Cli, plugin_path: Install) -> None:
    source = GOOD.replace("print('went', times)", "raise KeyboardInterrupt")
    env = plugin_path("slow", source, group=COMMANDS, entry="go", target="slow:app")

    assert cli("go", env=env).returncode == 130


def test_a_newcomer_is_told_commands_that_work_where_there_is_nothing(cli: Cli) -> None:
    missing = cli("show", "nothing")
    said = cli("runs").stderr
    hint = missing.stderr.rpartition("hint: ")[2].split()
    told = said.rpartition("Start one:  ")[2].strip()

    assert hint == ["trace-bench", "runs"]
    for command in told.split(" && "):
        done = cli(*shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr
    assert cli("runs").stdout.count("\n") > 1


@pytest.mark.parametrize("line", ["show {}", "runs --runs-dir {}", "resume {}", "fsck {}/x", "result-cache list {}"])
def test_a_name_that_no_file_has_is_told_in_words(cli: Cli, line: str) -> None:
    done = cli(*line.format("n" * 300).split())
    assert done.returncode == 2
    assert "cannot be used: File name too long." in done.stderr
    assert "hint: ls -ld " in done.stderr
    assert len(done.stderr) < 500
