"""Slurm's commands, as programs on the path that note what they are asked and answer as Slurm does."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError
from tracebench_core.specs import ExecutorSetting, Resources, RunConfig
from tracebench_slurm import array as arrays
from tracebench_slurm.array import Array
from tracebench_slurm.options import Options, options_of, outlook
from tracebench_slurm.queue import Element, QueueError, cancel, elements, rehearse, submit
from tracebench_workers.ticket import Ticket

Answers = Callable[..., None]
TICKET = Ticket("h", 1, "a" * 64, "t")


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """What the commands were asked, a line each."""
    return tmp_path / "asked"


@pytest.fixture
def slurm(tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Put a command onto the path that answers so."""
    home = tmp_path / "bin"
    home.mkdir()
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")

    def answer(name: str, *, out: str = "", err: str = "", code: int = 0) -> None:
        (tmp_path / f"{name}.out").write_text(out)
        (tmp_path / f"{name}.err").write_text(err)
        lines = (
            "#!/bin/sh", f'echo "{name} $*" >> {asked}', f"[ {name} = sbatch ] && cat > {tmp_path}/script",
            f"cat {tmp_path}/{name}.out", f"cat {tmp_path}/{name}.err >&2", f"exit {code}",
        )  # fmt: skip
        (home / name).write_text("\n".join(lines) + "\n")
        (home / name).chmod(0o755)

    return answer


REFUSED = "sbatch: error: no such partition.\nsbatch: error: no such partition.\n\nsbatch: error: Batch job submission failed\n"


def test_a_job_is_rehearsed_and_submitted_with_its_options(slurm: Answers, asked: Path, tmp_path: Path) -> None:
    slurm("sbatch", out="77;cluster\n")
    rehearse(["--mem=1M"])
    assert (tmp_path / "script").read_text() == "#!/bin/sh\n"
    assert submit("the script", ["--array=0-1"]) == "77"
    assert (tmp_path / "script").read_text() == "the script"
    assert asked.read_text().splitlines() == ["sbatch --test-only --mem=1M", "sbatch --parsable --array=0-1"]


@pytest.mark.parametrize(
    "away",
    ["Unable to contact slurm controller", "Socket timed out on send", "Could not establish a configuration source"],
)
def test_a_refusal_is_told_in_slurms_words_and_silence_apart(slurm: Answers, away: str) -> None:
    slurm("sbatch", err=REFUSED, code=1)
    with pytest.raises(UsageError) as caught:
        rehearse([])
    assert str(caught.value) == "Slurm would not take such a worker: no such partition.; Batch job submission failed."
    with pytest.raises(TraceBenchError) as refused:
        submit("x", [])
    assert str(refused.value) == "Slurm did not take the workers: no such partition.; Batch job submission failed."
    assert refused.value.hint == caught.value.hint == "sinfo --Node --long"
    assert not isinstance(refused.value, QueueError)
    slurm("sbatch", err=f"sbatch: error: {away}", code=1)
    with pytest.raises(MissingRequirementError, match=f"No Slurm answers here: {away}.") as absent:
        rehearse([])
    assert "login node" in absent.value.hint
    with pytest.raises(QueueError, match=f"Slurm did not take the workers: {away}.") as silent:
        submit("x", [])
    assert silent.value.hint == "scontrol ping"
    slurm("sbatch", code=3)
    with pytest.raises(UsageError, match="exit code 3"):
        rehearse([])


QUEUE = "7_0|RUNNING|None\n7_1|PENDING|launch failed requeued HELD\n7_2|COMPLETED|None\n7_3|PENDING|Resources|x\nnoise\n7_4|RUNNING|held\n"


def test_what_is_left_of_arrays_is_read_from_the_queue(slurm: Answers, asked: Path) -> None:
    slurm("squeue", out=QUEUE)
    found = elements(["7", "8"])
    assert found == [
        Element("7_0", "RUNNING", "None"), Element("7_1", "PENDING", "launch failed requeued HELD"), Element("7_3", "PENDING",
        "Resources|x"),
        Element("7_4", "RUNNING", "held"),
    ]  # fmt: skip
    assert [each.is_held for each in found] == [False, True, False, False]
    assert asked.read_text() == "squeue --array --noheader --format=%i|%T|%r --jobs=7,8\n"
    slurm("squeue", err="slurm_load_jobs error: Invalid job id specified", code=1)
    assert elements(["7"]) == []
    slurm("squeue", err="down", code=1)
    with pytest.raises(QueueError, match=r"Slurm does not say what became of the workers: down\.") as caught:
        elements(["7"])
    assert caught.value.hint == "squeue --me"


def test_what_is_cancelled_is_told_once_and_quietly(slurm: Answers, asked: Path) -> None:
    slurm("scancel", code=1)
    cancel(["7", "8_1"], "--state=PENDING")
    assert asked.read_text() == "scancel --quiet --state=PENDING 7 8_1\n"


def test_a_command_that_is_not_here_cannot_run_or_hangs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: Answers
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "empty"))
        with pytest.raises(
            MissingRequirementError,
            match=r"There is no `squeue` here: the run has to be started where Slurm's commands are\.",
        ):
            elements(["1"])
    slurm("squeue")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin/squeue").write_text("no program")
    with pytest.raises(MissingRequirementError, match="`squeue` cannot be run here: "):
        elements(["1"])
    (tmp_path / "bin/squeue").write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    monkeypatch.setattr("tracebench_slurm.queue.PATIENCE", 0.2)
    with pytest.raises(QueueError, match=r"`squeue` gave no answer for 0\.2 s\.") as caught:
        elements(["1"])
    assert caught.value.hint == "scontrol ping"


@pytest.mark.parametrize(
    ("options", "need", "words"),
    [
        ({}, {}, ["--cpus-per-task=1"]),
        (
            {"jobs": 3},
            {"cpus": 0.5, "memory_mb": 100, "gpus": 1},
            ["--cpus-per-task=2", "--mem=300M", "--gpus-per-node=3"],
        ),
        (
            {"partition": "p", "minutes": 5, "sbatch": ["--account=lab"]},
            {},
            ["--cpus-per-task=1", "--partition=p", "--time=5", "--account=lab"],
        ),
    ],
)
def test_a_worker_asks_for_what_its_jobs_may_need(
    options: dict[str, Any], need: dict[str, Any], words: list[str]
) -> None:
    assert [*Options(**options).asked(Resources(**need))] == words


def config(**options: Any) -> RunConfig:
    return RunConfig.model_validate({"max_workers": 5, "job_timeout": 601, "plugins": {"options": {"slurm": options}}})


def test_where_jobs_would_run_is_said_unless_a_worker_lives_too_short(slurm: Answers) -> None:
    slurm("sbatch")
    assert outlook(config(jobs=2), Resources()) == [
        "an array of 3 in Slurm (--cpus-per-task=2), each 2 at a time, that join at 0.0.0.0:0"
    ]
    assert outlook(config(minutes=11), Resources()) == [
        "an array of 5 in Slurm (--cpus-per-task=1 --time=11), each 1 at a time, that join at 0.0.0.0:0"
    ]
    with pytest.raises(TraceBenchError) as caught:
        outlook(config(minutes=10), Resources())
    assert (
        str(caught.value)
        == "A job may take 601 s (`job_timeout`), and a worker lives for 10 minutes: it would be lost each time."
    )
    assert caught.value.hint == "-o plugins.options.slurm.minutes=21"


def setting(tmp_path: Path, **options: Any) -> ExecutorSetting:
    return ExecutorSetting.model_validate({
        "run_dir": str(tmp_path / "a%run"), "workers": 2, "environ": {"PATH": os.environ["PATH"]}, "root": "/da ta",
        "plugins": {"options": {"slurm": options}},
    })  # fmt: skip


def test_workers_are_an_array_that_is_made_whole_and_ended(
    slurm: Answers, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(arrays, "LOOK", 0.0)
    monkeypatch.setattr(arrays, "LEAVING", 0.2)
    monkeypatch.setattr(arrays, "CANCELLING", 0.2)
    slurm("sbatch", out="7\n")
    slurm("scancel")
    told = setting(tmp_path, python="/py thon", setup="module load x", jobs=1)
    workers = Array(TICKET, told, options_of(told))
    log = f"--output={tmp_path}/a%%run/slurm-%A_%a.log"
    submitted = f"sbatch --parsable --array=0-{{}} --requeue --job-name=trace-bench-a%run --open-mode=append {log} --cpus-per-task=1"
    assert asked.read_text().splitlines() == ["sbatch --test-only --cpus-per-task=1", submitted.format(1)]
    assert (tmp_path / "script").read_text() == (
        f"#!/bin/bash\numask 077\nexport TRACEBENCH_TICKET={TICKET}\nmodule load x\ncd {Path.cwd()} || exit 1\n"
        "exec '/py thon' -P -m tracebench_workers --jobs 1 "
        "--name \"slurm-${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" --root '/da ta'\n"
    )
    slurm("squeue", out="7_0|PENDING|Priority\n7_1|PENDING|Resources\n")
    asked.write_text("")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert [*workers.look()] == []
        assert [record.message for record in caplog.records] == ["2 workers wait in Slurm's queue: Priority, Resources"]
        caplog.clear()
        slurm("squeue", out="7_0|RUNNING|None\n7_1|PENDING|JobHeldUser\n")
        slurm("sbatch", out="8\n")
        asked.write_text("")
        assert [*workers.look()] == []
        assert [record.message for record in caplog.records] == [
            "1 workers are gone from Slurm's queue and are submitted anew"
        ]
    assert asked.read_text().splitlines() == [
        "squeue --array --noheader --format=%i|%T|%r --jobs=7", "scancel --quiet 7_1", submitted.format(0),
    ]  # fmt: skip
    for _ in range(2):
        assert [*workers.look()] == []
    with pytest.raises(TraceBenchError, match="Workers in Slurm keep ending; what they print is in ") as caught:
        workers.look()
    assert caught.value.hint == f"ls -t {tmp_path}/a%%run"
    workers.is_well()
    assert [*workers.look()] == []
    caplog.clear()
    workers.close()
    assert [record.message for record in caplog.records] == [
        "Slurm still ends workers of this run: squeue --jobs=7,8,8,8,8"
    ]
    slurm("squeue")
    asked.write_text("")
    caplog.clear()
    workers.close()
    assert caplog.records == []
    assert asked.read_text().splitlines()[0] == "scancel --quiet --state=PENDING 7 8 8 8 8"


def test_a_controller_that_does_not_answer_costs_a_warning(
    slurm: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slurm("sbatch", out="7\n")
    slurm("squeue", err="down", code=1)
    told = setting(tmp_path)
    workers = Array(TICKET, told, options_of(told))
    assert [*workers.look()] == []
    assert caplog.records == []  # it was looked at a moment ago
    monkeypatch.setattr(arrays, "LOOK", 0.0)
    assert [*workers.look()] == []
    assert [record.message for record in caplog.records] == ["Slurm does not say what became of the workers: down."]
