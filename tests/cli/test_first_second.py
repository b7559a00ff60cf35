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


SMALL = "tasks: ['internal:multi_param', 'internal:code_param']\ntrainers: [SequentialRefine]\nseeds: [1, 2]\nmax_workers: 2\n"


def run_limited(
    tmp_path: Path, what: int, most: tuple[int, int], config: str = SMALL
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "c.yaml").write_text(config)
    return subprocess.run(
        [str(COMMAND), "run", "--config", "c.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: resource.setrlimit(what, most),
    )  # fmt: skip


def follow_hint(tmp_path: Path, words: str) -> subprocess.CompletedProcess[str]:
    """Type what the hint says."""
    hint = words.rpartition("hint: ")[2].strip()
    assert hint, words
    typed = hint.replace("FILE", "c.yaml").replace("trace-bench", str(COMMAND))
    return subprocess.run(
        ["bash", "-ec", typed], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("most", [(64, 64), (20, 1024)])
def test_a_run_that_may_open_few_files_runs(tmp_path: Path, most: tuple[int, int]) -> None:
    """Jobs, sandbox and gateway come by with 64; a lower limit that the user may lift is lifted."""
    done = run_limited(tmp_path, resource.RLIMIT_NOFILE, most)
    assert done.returncode == 0, done.stderr
    assert ("only 64 files may be open" in done.stderr) == (most[1] == 64)


def test_a_run_that_may_open_too_few_files_says_so_and_is_resumed_as_it_says(tmp_path: Path) -> None:
    refused = run_limited(tmp_path, resource.RLIMIT_NOFILE, (40, 40))
    assert refused.returncode == 2
    assert "Only 40 files may be open at once" in refused.stderr
    assert "Traceback" not in refused.stderr
    done = follow_hint(tmp_path, refused.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kilobytes", "begins"), [(4, False), (8, True)])
def test_a_run_whose_files_may_not_grow_is_taken_up_as_it_says(tmp_path: Path, kilobytes: int, begins: bool) -> None:
    config = "tasks: ['internal:numeric_param']\ntrainers: [RandomSearch]\nseeds: [1, 2]\n"
    stopped = run_limited(tmp_path, resource.RLIMIT_FSIZE, (kilobytes << 10, resource.RLIM_INFINITY), config)
    assert stopped.returncode == 2
    assert ("did not begin" in stopped.stderr) == (not begins)
    assert "ulimit -f unlimited" in stopped.stderr
    done = follow_hint(tmp_path, stopped.stderr)
    assert done.returncode == 0, done.stderr


def test_a_sandbox_works_where_whoever_began_the_run_set_tighter_limits(tmp_path: Path) -> None:
    """A process without capabilities can lift no limit, and is not stopped by one."""
    most = 32 << 20
    done = run_limited(tmp_path, resource.RLIMIT_FSIZE, (most, most))
    assert done.returncode == 0, done.stderr
