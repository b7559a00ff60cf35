"""What a run meets that is not its own: another interpreter at resume, an interrupt at once, a path that cannot be."""

from __future__ import annotations

import io
import json
import logging
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine import api
from tracebench_engine.config import parse_config


def test_jobs_say_what_they_ran_with_and_a_resume_tells_what_has_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "runs_dir": str(tmp_path)}
    run = api.run(parse_config(config), stream=io.StringIO()).run_dir
    (result,) = api.load_run(run).results.values()
    assert result.runtime is not None
    assert result.runtime.python.endswith(".".join(map(str, sys.version_info[:3])))
    assert len(result.runtime.packages) == 16

    with caplog.at_level(logging.WARNING):
        api.resume(run, stream=io.StringIO())
    assert "since the run began" not in caplog.text

    (run / "mirror.zip").unlink()
    env = json.loads((run / "meta/env.json").read_text())
    env["python"]["version"] = "3.1.4"
    env["packages"]["pydantic"] = "0.1"
    (run / "meta/env.json").write_text(json.dumps(env))
    with caplog.at_level(logging.WARNING):
        api.resume(run, stream=io.StringIO())
    assert "Python 3.1.4 is now" in caplog.text
    assert "pydantic 0.1 is now" in caplog.text


@pytest.mark.parametrize("moment", [0.3, 0.6, 1.0])
def test_an_interrupt_at_once_is_no_traceback(tmp_path: Path, moment: float) -> None:
    program = "import tracebench_engine.cli.app\nfrom tracebench_engine.cli.entry import program; print(flush=True); program()"
    command = [sys.executable, "-c", program, "run", "--task", "internal:numeric_param", "--runs-dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment / 10)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode in {0, 130, 2}, words
    assert b"Traceback" not in words


def test_a_path_with_a_nul_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="NUL"):
        parse_config({"tasks": ["internal:numeric_param"], "runs_dir": "a\0b"})
