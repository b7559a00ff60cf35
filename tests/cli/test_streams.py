"""What is said to whom: a reader that leaves, a stream that is closed or full, plugins that print."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import COMMAND
from tests.whole import one_in

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


def in_terminal(folder: Path, width: int, *words: str) -> str:
    """Return what a command shows in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}} | {"TRACEBENCH_PLUGINS": ""}
    process = subprocess.Popen(
        [str(COMMAND), *words], cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when its last user is
        while block := os.read(ours, 65536):
            shown += block
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", one_in(3, [80, 40, 200]))
def test_tables_fit_the_terminal_and_say_what_does_not(tmp_path: Path, cli: Cli, width: int) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    assert cli("run", "--config", "c.yaml", "-o", "run_id=r", env={"TRACEBENCH_PLUGINS": ""}).returncode == 0

    shown = in_terminal(tmp_path, width, "show", "r")
    table = [line for line in shown.splitlines() if "internal:numeric" in line or line.startswith(("trainer ", "job "))]

    assert table
    assert max(map(len, table)) <= width
    assert ("more in a wider terminal" in shown) == (width < 200)


def test_columns_are_chosen_where_there_is_no_terminal_too(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    cli("run", "--config", "c.yaml", "-o", "run_id=r", env={"TRACEBENCH_PLUGINS": ""})

    jobs = cli("show", "r", "--columns", "seed,job").stdout.splitlines()
    refused = cli("show", "r", "--columns", "jbo")

    assert jobs[-3:-2] + [line.split("\t")[0] for line in jobs[-2:]] == ["seed\tjob", "123", "123"]
    assert refused.returncode == 2
    assert "Did you mean `job`?" in refused.stderr
    assert cli("runs", "--columns", "run,jobs").stdout.splitlines() == ["run\tjobs", "r\t2"]
