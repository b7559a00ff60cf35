"""Ctrl-C before the command, or a run, has begun, and a limit on open files that is too low for a run."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import COMMAND
from tests.warm import trace_bench
from tests.whole import HEAVY, one_in

SLOW = "import sys, time\nsys.stderr.write('importing\\n'); sys.stderr.flush()\ntime.sleep(30)\n"


def test_an_interrupt_while_the_command_imports_says_that_nothing_was_begun(tmp_path: Path) -> None:
    """The first module that it imports is held up, as a slow disk would."""
    (tmp_path / "typer.py").write_text(SLOW)
    for argv in ([str(COMMAND)], [sys.executable, "-m", "tracebench_engine.cli"]):
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
            assert (started.wait(60), told.read()) == (130, "interrupted: nothing was begun\n")


FIRST = """
import os, sys
class First:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("tracebench_engine"):
            self.begun = True
        elif getattr(self, "begun", False):
            sys.meta_path.remove(self)
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, First())
"""


def test_nothing_is_imported_before_an_interrupt_is_answered_in_words(tmp_path: Path) -> None:
    """The signal comes with the first import, of a module of anybody else's, that the command makes."""
    (tmp_path / "sitecustomize.py").write_text(FIRST)
    stopped = subprocess.run(
        [str(COMMAND), "runs"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "interrupted: nothing was begun\n")


SITE = """
import sys
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            sys.meta_path.remove(self)
            sys.stderr.write("held up\\n"); sys.stderr.flush()
            import time; time.sleep(30)
sys.meta_path.insert(0, Slow())
"""


@pytest.mark.parametrize(
    "module",
    one_in(3, ["tracebench_engine.run.runner", "tracebench_engine.config", "tracebench_engine.run.services"]),
)
def test_an_interrupt_before_the_first_job_says_so(tmp_path: Path, module: str) -> None:
    """A module that a run needs late is held up, as a slow disk would; then Ctrl-C, as a terminal sends it, to all of its processes."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(SITE.format(module=module))
    (tmp_path / "c.yaml").write_text(f"run_id: r\n{SMALL}")
    started = subprocess.Popen(
        [str(COMMAND), "run", "--config", "c.yaml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")}, start_new_session=True,
    )  # fmt: skip
    assert started.stderr is not None
    assert started.stderr.readline() == "held up\n"
    time.sleep(0.1)
    os.killpg(started.pid, signal.SIGINT)
    _, told = started.communicate(timeout=60)
    assert (started.returncode, told) == (130, "interrupted\nNothing was begun; the same command begins it.\n")


def test_an_interrupt_between_the_plan_and_the_first_job_names_the_command_that_goes_on(tmp_path: Path) -> None:
    """The reporter has said where the run is; the first job's processes are being started."""
    (tmp_path / "c.yaml").write_text(f"run_id: r\n{SMALL}")
    code = (
        "import os, signal, sys\n"
        "from tracebench_engine.run import services\n"
        "def held(self): os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(30)\n"
        "services.RunServices.__enter__ = held\n"
        "from tracebench_engine.cli.app import main\n"
        "main()\n"
    )
    stopped = subprocess.run(
        [sys.executable, "-c", code, "run", "--config", "c.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert stopped.returncode == 130
    assert "interrupted\nNo job had begun. Continue:  trace-bench resume runs/r" in stopped.stderr
    assert trace_bench("resume", "runs/r", folder=tmp_path, environ=os.environ).returncode == 0


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


@HEAVY
@pytest.mark.parametrize("most", [(64, 64), pytest.param((20, 1024), marks=HEAVY)])
def test_a_run_that_may_open_few_files_runs(tmp_path: Path, most: tuple[int, int]) -> None:
    """Jobs, sandbox and gateway come by with 64; a lower limit that the user may lift is lifted."""
    done = run_limited(tmp_path, resource.RLIMIT_NOFILE, most)
    assert done.returncode == 0, done.stderr
    assert ("only 64 files may be open" in done.stderr) == (most[1] == 64)


@HEAVY
def test_a_run_that_may_open_too_few_files_says_so_and_is_resumed_as_it_says(tmp_path: Path) -> None:
    refused = run_limited(tmp_path, resource.RLIMIT_NOFILE, (40, 40))
    assert refused.returncode == 2
    assert "Only 40 files may be open at once" in refused.stderr
    assert "Traceback" not in refused.stderr
    done = follow_hint(tmp_path, refused.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kilobytes", "begins"), [pytest.param(4, False, marks=HEAVY), (8, True)])
def test_a_run_whose_files_may_not_grow_is_taken_up_as_it_says(tmp_path: Path, kilobytes: int, begins: bool) -> None:
    config = "tasks: ['internal:numeric_param']\ntrainers: [RandomSearch]\nseeds: [1, 2]\n"
    stopped = run_limited(tmp_path, resource.RLIMIT_FSIZE, (kilobytes << 10, resource.RLIM_INFINITY), config)
    assert stopped.returncode == 2
    assert ("did not begin" in stopped.stderr) == (not begins)
    assert "ulimit -f unlimited" in stopped.stderr
    done = follow_hint(tmp_path, stopped.stderr)
    assert done.returncode == 0, done.stderr


@HEAVY
def test_a_sandbox_works_where_whoever_began_the_run_set_tighter_limits(tmp_path: Path) -> None:
    """A process without capabilities can lift no limit, and is not stopped by one."""
    most = 32 << 20
    done = run_limited(tmp_path, resource.RLIMIT_FSIZE, (most, most))
    assert done.returncode == 0, done.stderr
