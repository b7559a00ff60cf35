"""What can be tried without Slurm: options, words, and the script of a worker."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tracebench_core.errors import ConfigError, TraceBenchError
from tracebench_core.specs import ExecutorSetting, PluginsConfig, Resources, RunConfig
from tracebench_slurm.executor import SlurmExecutor
from tracebench_slurm.options import Options, outlook
from tracebench_slurm.plugin import tracebench_configure
from tracebench_slurm.queue import Element
from tracebench_testing import PluginConformance


class TestPlugin(PluginConformance):
    plugin = "slurm"


def config(**options: object) -> RunConfig:
    return RunConfig.model_validate(
        {
            "tasks": [{"id": "t:t"}],
            "trainers": [{"id": "T"}],
            "max_workers": 9,
            "plugins": {"options": {"slurm": options}},
        }
    )


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands by the names of Slurm's, which keep what they are given, and take anything."""
    for name, answer in (("sbatch", "echo 7"), ("squeue", "true"), ("scancel", "true")):
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >>{tmp_path}/told\n[ -t 0 ] || cat >>{tmp_path}/script\n{answer}\n'
        )
        command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return tmp_path


def test_what_a_worker_takes_is_what_its_jobs_may_need() -> None:
    need = Resources(cpus=1.5, memory_mb=700, gpus=1)
    asked = [*Options(jobs=4, partition="gpu", minutes=90, sbatch=("--account=lab",)).asked(need)]
    assert asked == [
        "--cpus-per-task=6",
        "--mem=2800M",
        "--gpus-per-node=4",
        "--partition=gpu",
        "--time=90",
        "--account=lab",
    ]
    assert [*Options().asked(Resources())] == ["--cpus-per-task=1"]
    assert (Options(jobs=4).number(9), Options(jobs=4, workers=2).number(9)) == (3, 2)


def test_where_slurm_is_not_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TraceBenchError, match="no `sbatch` here"):
        outlook(config(), Resources())


def test_an_option_that_there_is_not_is_told() -> None:
    with pytest.raises(ConfigError, match=r"plugins\.options\.slurm\.partitoin"):
        tracebench_configure({"options": {"partitoin": "work"}})
    for wrong in ("everywhere", f"{'a' * 70}:80", "a..b:80"):
        with pytest.raises(ValidationError, match="is no ADDRESS:PORT"):
            Options(listen=wrong)


@pytest.mark.usefixtures("slurm")
def test_a_worker_that_lives_for_less_than_a_job_may_take_is_refused() -> None:
    with pytest.raises(TraceBenchError, match="lost each time"):
        outlook(config(minutes=5).model_copy(update={"job_timeout": 301.0}), Resources())
    assert "an array of 9" in outlook(config(minutes=5), Resources())[0]


def test_the_ticket_is_in_the_script_alone_and_the_script_is_sound(slurm: Path) -> None:
    options = {"jobs": 2, "python": "/a b/python", "setup": "module load x", "listen": "127.0.0.1:0"}
    setting = ExecutorSetting(
        run_dir=str(slurm), workers=5, environ={}, root="/the root", plugins=PluginsConfig(options={"slurm": options})
    )
    executor = SlurmExecutor()
    hub = executor._opened(setting)
    ticket = str(hub.ticket)
    executor._let_go()
    told, script = (slurm / "told").read_text(), (slurm / "script").read_text()
    assert "--array=0-2" in told
    assert ticket not in told
    assert f"export TRACEBENCH_TICKET={ticket}" in script
    assert "exec '/a b/python' -P -m tracebench_workers --jobs 2" in script
    assert "--root '/the root'" in script
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "scancel" in told


@pytest.mark.parametrize(
    ("state", "reason", "held"),
    [
        ("PENDING", "launch failed requeued held", True),
        ("PENDING", "JobHeldUser", True),
        ("PENDING", "Resources", False),
        ("RUNNING", "held", False),
    ],
)
def test_what_slurm_holds_is_not_waited_for(state: str, reason: str, *, held: bool) -> None:
    assert Element("1_0", state, reason).is_held is held
