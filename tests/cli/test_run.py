"""`run`, `resume`, `show`, `fsck`: from a config to results, and on from every end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.warm import start

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
CONFIG = "tasks: [internal:numeric_param]\ntrainers: [NoOp, RandomSearch]\nseeds: [1, 2]\nrun_id: one\nbudget: {evaluations: 6}\n"
TRAINERS = """
import os, time
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TrainerSpec

class Fails:
    def __init__(self, settings=None, **_): pass
    def train(self, problem):
        if not os.path.exists(os.environ["MENDED"]):
            raise ValueError("out of \\x1b[31mideas")

class Sleeps(Fails):
    def train(self, problem):
        time.sleep(120)

def fails(*args, **kwargs): return Fails()
def sleeps(*args, **kwargs): return Sleeps()

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Fails", loader="mine:fails", uses_model=False)
    yield TrainerSpec(name="Sleeps", loader="mine:sleeps", uses_model=False)
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def mine(plugin_path: Install, tmp_path: Path) -> Mapping[str, str]:
    installed = plugin_path("mine", TRAINERS, group="tracebench", entry="mine", target="mine")
    return {**installed, "TRACEBENCH_PLUGINS": "mine", "MENDED": str(tmp_path / "mended")}


def test_a_run_leaves_everything_where_it_says(cli: Cli, config: Path, tmp_path: Path) -> None:
    done = cli("run", "--config", "c.yaml", "--max-workers", "2", "--verbose", env=CORE_ONLY)

    assert done.returncode == 0, done.stderr
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    head = said.pop("Head").split()[0]
    assert said.pop("Run complete") == f"one (head {head[:16]})"
    for kept in (head, head[:16]):
        assert cli("verify", "runs/one", "--head", kept).returncode == 0
    assert set(said) == {"Run dir", "Manifest", "Results", "Summary", "Leaderboard", "Files index"}
    assert all((tmp_path / path).exists() for path in said.values())
    assert "4 ok" in done.stderr
    assert "trace-bench show runs/one" in done.stderr

    shown = cli("show", "one").stdout.splitlines()
    assert shown[0].split("\t")[:2] == ["trainer", "score"], "the leaderboard comes first"
    jobs = shown[shown.index("") + 1 :]
    assert jobs[0].split("\t")[:5] == ["job", "task", "trainer", "seed", "status"]
    assert [line.split("\t")[4] for line in jobs[1:]] == ["ok"] * 4

    data = json.loads(cli("show", "runs/one", "--json").stdout)
    assert data["counts"] == {"ok": 4}
    job = data["jobs"][-1]["job_id"]
    as_text = cli("show", job)
    as_json = json.loads(cli("show", f"runs/one/jobs/{job}", "--json").stdout)
    assert "trainer:    RandomSearch" in as_text.stdout
    assert "best candidate" in as_text.stdout
    assert as_json["result"]["job_id"] == as_json["spec"]["job_id"] == job
    assert as_json["best"]["id"] == as_json["result"]["best_candidate"]

    again = cli("resume", "one")
    assert again.returncode == 0
    assert "4 ok" in again.stderr


def test_of_runs_whose_ids_begin_alike_one_is_named_in_the_command_that_was_typed(cli: Cli, config: Path) -> None:
    for name in ("alike-1", "alike-2"):
        cli("run", "--config", "c.yaml", "--limit", "1", "-o", f"run_id={name}", env=CORE_ONLY)

    unsure = cli("resume", "alike", "--runs-dir", "runs", "--max-workers", "1", env=CORE_ONLY)

    assert unsure.returncode == 2
    assert "`alike` could be any of 2 runs: `alike-1`, `alike-2`." in unsure.stderr
    words = shlex.split(unsure.stderr.rpartition("hint: ")[2])
    assert words == ["trace-bench", "resume", "alike-2", "--runs-dir", "runs", "--max-workers", "1"]
    sure = cli(*words[1:], env=CORE_ONLY)
    assert sure.returncode == 0, sure.stderr
    assert "alike-2" in sure.stderr


def test_json_is_one_object_a_line(cli: Cli, config: Path) -> None:
    done = cli("run", "--config", "c.yaml", "--limit", "1", "--json", env=CORE_ONLY)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert all(line["schema_version"] == 1 for line in lines)
    assert [line["event"] for line in lines] == ["run_started", "job_started", "job_finished", "run_finished"]


def test_a_terminal_gets_a_live_table(config: Path, tmp_path: Path) -> None:
    command = f"{Path(sys.executable).with_name('trace-bench')} run --config c.yaml"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        cwd=tmp_path,
        env={**os.environ, **CORE_ONLY, "NO_COLOR": "1", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "Run complete: one" in done.stdout
    assert "RandomSearch" in done.stdout


def test_flags_win_over_overrides_and_the_file(cli: Cli, config: Path, tmp_path: Path) -> None:
    arguments = ["--runs-dir", "else where", "--job-timeout", "50", "--logger", "off", "--limit", "1"]
    done = cli("run", "--config", "c.yaml", "-o", "runs_dir=other", "-o", "seeds=[5]", *arguments, env=CORE_ONLY)

    assert done.returncode == 0, done.stderr
    job = json.loads(cli("show", "else where/one", "--json").stdout)["jobs"][0]
    spec = json.loads(cli("show", f"else where/one/jobs/{job['job_id']}", "--json").stdout)["spec"]
    assert (spec["seed"], spec["timeout"], spec["logger"]) == (5, 50.0, None)
    assert not (tmp_path / "other").exists()


def test_a_failed_job_makes_exit_1_and_can_be_tried_again(
    cli: Cli, config: Path, tmp_path: Path, mine: Mapping[str, str]
) -> None:
    failed = cli("run", "--config", "c.yaml", "-o", "trainers=[NoOp, Fails]", env=mine)

    assert failed.returncode == 1
    assert "trace-bench resume runs/one --failed" in failed.stderr
    rows = [line.split("\t") for line in cli("show", "one").stdout.splitlines()]
    shown = cli("show", next(row[0] for row in rows if "failed" in row[4:5])).stdout
    assert "out of \N{REPLACEMENT CHARACTER}[31mideas" in shown

    (tmp_path / "mended").touch()
    kept = cli("resume", "one", env=mine)
    mended = cli("resume", "one", "--failed", env=mine)

    assert kept.returncode == 1
    assert mended.returncode == 0, mended.stderr
    assert "4 ok" in mended.stderr


def test_an_interrupt_keeps_what_there_is_and_says_how_to_go_on(
    config: Path, tmp_path: Path, mine: Mapping[str, str]
) -> None:
    command = ("run", "--config", "c.yaml", "-o", "trainers=[NoOp, Sleeps]")
    running = start(*command, folder=tmp_path, environ={**os.environ, **mine})
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("runs/one/jobs/*/events.jsonl"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)

    assert running.returncode == 130
    assert "Run interrupted: one" in out
    assert "trace-bench resume runs/one" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("override", "code", "expected"),
    [
        ("tasks=[]", 6, "The config selects no task."),
        ("tasks=[nothing]", 2, "There is no task `nothing`."),
        ("mode=real", 3, "OPENAI_API_KEY"),
        ("mode=replay", 2, "`mode: replay` needs `replay_from`"),
    ],
)
def test_what_cannot_work_ends_before_a_job_starts(
    cli: Cli, config: Path, override: str, code: int, expected: str
) -> None:
    changed = ["-o", override, "-o", "trainers=[BestOfN]"]
    done = cli("run", "--config", "c.yaml", *changed, env=CORE_ONLY)

    assert done.returncode == code, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(config.parent.glob("runs/*/jobs/*"))


def test_fsck_finds_and_mends(cli: Cli, config: Path, tmp_path: Path) -> None:
    cli("run", "--config", "c.yaml", "--limit", "1", env=CORE_ONLY)
    assert cli("fsck", "one").returncode == 0
    (tmp_path / "runs/one/results.csv").write_text("forged\n")

    found = cli("fsck", "one")
    as_json = json.loads(cli("fsck", "one", "--json").stdout)
    mended = cli("fsck", "one", "--repair")

    assert found.returncode == 1
    assert "[stale-table] results.csv" in found.stdout
    assert "--repair" in found.stderr
    assert "stale-table" in {f["code"] for f in as_json["left"]}
    assert mended.returncode == 0, mended.stdout
    assert "[MENDED] results.csv" in mended.stdout
    assert cli("fsck", "one").returncode == 0
