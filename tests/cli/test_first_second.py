"""Ctrl-C before the command has begun, and a limit on open files that is too low for a run."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import COMMAND

SLOW = "import sys, time\nsys.stderr.write('importing\\n'); sys.stderr.flush()\ntime.sleep(30)\n"


def test_an_interrupt_while_the_command_imports_is_told_by_its_signal_alone(tmp_path: Path) -> None:
    """The first module that it imports is held up, as a slow disk would."""
    (tmp_path / "typer.py").write_text(SLOW)
    for argv in ([str(COMMAND)], [sys.executable, "-m", "tracebench_core.cli"]):
        started = subprocess.Popen(
            [*argv, "runs"],
            stderr=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(tmp_path)},
            start_new_session=True,
        )
        assert started.stderr is not None
        assert started.stderr.readline() == "importing\n"
        time.sleep(0.1)
        started.send_signal(signal.SIGINT)
        with started.stderr as told:
            assert (started.wait(60), told.read()) == (-signal.SIGINT, "")


@pytest.mark.parametrize("most", [64])
def test_a_run_that_may_open_too_few_files_says_so(tmp_path: Path, most: int) -> None:
    (tmp_path / "c.yaml").write_text("tasks: ['internal:multi_param']\ntrainers: [SequentialRefine]\nseeds: [1, 2]\n")
    done = subprocess.run(
        [str(COMMAND), "run", "--config", "c.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "df -h" not in done.stderr
    assert done.returncode == 0 or "Too many open files" in done.stderr or "ulimit -n 1024" in done.stderr, done.stderr
