"""What is said to whom: a reader that leaves, a stream that is closed or full, plugins that print."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import COMMAND

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CONFIG = "tasks: [internal:numeric_param]\ntrainers: [RandomSearch, NoOp]\nbudget: {evaluations: 5}\n"


def shell(line: str, cwd: Path) -> CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("trace-bench", str(COMMAND))],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_run_goes_on_when_its_reader_leaves(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)

    done = shell("trace-bench run --config c.yaml -o run_id=r --json | head -n 1; exit ${PIPESTATUS[0]}", tmp_path)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["event"] == "run_started"
    assert "error" not in done.stderr
    assert json.loads(cli("show", "r", "--json").stdout)["counts"] == {"ok": 2}


@pytest.mark.parametrize("line", ["trace-bench list-tasks >&-", "trace-bench config schema >&-"])
def test_a_closed_output_is_no_bug(tmp_path: Path, line: str) -> None:
    done = shell(line, tmp_path)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_the_output_is_told(tmp_path: Path) -> None:
    done = shell("trace-bench config schema > /dev/full", tmp_path)

    assert done.returncode == 1
    assert "error: Standard output cannot be written: No space left on device." in done.stderr
    assert "Exception ignored" not in done.stderr


def test_what_a_plugin_prints_while_it_loads_is_no_data(cli: Cli, plugin_path: Install) -> None:
    env = plugin_path("loud", "print('welcome')", group="tracebench", entry="loud", target="loud")

    done = cli("list-tasks", "--json", env=env)

    assert json.loads(done.stdout)["kind"] == "tasks"
    assert "welcome" in done.stderr


def test_a_path_with_spaces_is_told_as_it_is_typed(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "my größe.yaml").write_text(CONFIG)

    done = cli("run", "--config", "my größe.yaml", "--runs-dir", "my runs", "-o", "run_id=ラン")
    told = done.stderr.splitlines()[-1].partition("Look:  ")[2]

    assert shlex.split(told) == ["trace-bench", "show", "my runs/ラン"]
    assert cli(*shlex.split(told)[1:]).returncode == 0
