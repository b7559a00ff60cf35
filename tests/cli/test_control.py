"""`run --detach`, `ps`, `watch`, `pause`, `unpause`, `cancel`, `logs`, `resume` with changes: as from several terminals."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests import warm
from tests.processes import is_alive
from tests.whole import HEAVY, one_in

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
COMMAND = str(Path(sys.executable).with_name("trace-bench"))
CONFIG = "tasks: [internal:numeric_param]\ntrainers: [NoOp, Waits]\nseeds: [1, 2]\nrun_id: one\nmax_workers: 2\n"
TRAINERS = """
import os, sys, time
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TrainerSpec

class Waits:
    def train(self, problem):
        print("waiting", flush=True)
        problem.evaluate(problem.initial)
        while not os.path.exists(os.environ["GO"]): time.sleep(0.02)
        print("going on without end of line", end="", flush=True)

class Fails:
    def train(self, problem):
        if not os.path.exists(os.environ["GO"]):
            raise {1: ValueError, 2: KeyError}[problem.seed]("no")

def waits(*args, **kwargs): return Waits()
def fails(*args, **kwargs): return Fails()

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Waits", loader="mine:waits", uses_model=False)
    yield TrainerSpec(name="Fails", loader="mine:fails", uses_model=False)
"""


@pytest.fixture
def env(plugin_path: Install, tmp_path: Path, runtime_dir: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "c.yaml").write_text(CONFIG)
    yield {
        **plugin_path("mine", TRAINERS, group="tracebench", entry="mine", target="mine"),
        "TRACEBENCH_PLUGINS": "mine",
        "GO": str(tmp_path / "go"),
        "XDG_RUNTIME_DIR": str(runtime_dir),
    }
    for entry in runtime_dir.glob("trace-bench/*.json"):
        os.kill(json.loads(entry.read_text())["pid"], signal.SIGKILL)


@pytest.fixture
def detached(cli: Cli, env: dict[str, str]) -> dict[str, Any]:
    """What `run --detach --json` says of a run whose jobs wait."""
    done = cli("run", "--config", "c.yaml", "--detach", "--json", env=env)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    wait_for(lambda: [r["done"] for r in live(cli, env)] == [2] and len(live(cli, env)[0]["running"]) == 2)
    return told


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def live(cli: Cli, env: Mapping[str, str]) -> list[dict[str, Any]]:
    done = cli("ps", "--json", env=env)
    assert done.returncode == 0, done.stderr
    runs: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return runs


def test_a_detached_run_goes_on_by_itself_and_keeps_its_log(
    cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path
) -> None:
    assert (detached["kind"], detached["run_id"]) == ("detached", "one")
    assert os.getsid(detached["pid"]) == detached["pid"] != os.getsid(0)
    assert list((tmp_path / "runs").glob(".starting*")) == []

    (tmp_path / "go").touch()
    wait_for(lambda: not live(cli, env))
    wait_for(lambda: not is_alive(detached["pid"]))

    assert "4 ok" in Path(detached["log"]).read_text()
    assert cli("fsck", "one").returncode == 0


def test_a_detached_run_that_cannot_start_says_so_at_once(cli: Cli, env: dict[str, str], tmp_path: Path) -> None:
    wrong = cli("run", "--config", "c.yaml", "--detach", "-o", "tasks=[nothing]", env=env)

    assert wrong.returncode == 2
    assert "There is no task `nothing`" in wrong.stderr
    assert list((tmp_path / "runs").iterdir()) == []


def test_people_are_told_how_to_watch_and_end_it(cli: Cli, env: dict[str, str]) -> None:
    done = cli("run", "--config", "c.yaml", "--detach", env=env)

    assert "Run started: one" in done.stdout
    assert "trace-bench watch" in done.stderr
    assert cli("ps", env=env).stdout.splitlines()[1].startswith("one\t")


def test_watching_shows_the_jobs_until_the_run_ends(
    cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path
) -> None:
    watching = warm.start("watch", "one", "--json", folder=tmp_path, environ={**os.environ, **env})
    first = [json.loads(watching.stdout.readline()) for _ in range(7)]
    assert first[0] | {"run_dir": ""} == {"schema_version": 1, "event": "run_started", "run_dir": "", "jobs": 4}
    assert sum(line["event"] == "job_finished" for line in first) == 2
    (tmp_path / "go").touch()
    rest = [json.loads(line) for line in watching.communicate(timeout=60)[0].splitlines()]

    assert watching.returncode == 0
    assert [line["event"] for line in rest] == ["job_finished", "job_finished", "run_finished"]
    assert rest[-1]["counts"] == {"ok": 4}
    again = cli("watch", "one", env=env)
    assert "[4/4] ok" in again.stderr


@HEAVY
def test_leaving_the_watch_leaves_the_run(
    cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path
) -> None:
    watching = warm.start("watch", "one", folder=tmp_path, environ={**os.environ, **env})
    watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=60)

    assert watching.returncode == 130
    assert "The run goes on" in err
    assert is_alive(detached["pid"])


def test_pause_cancel_and_unpause_from_another_terminal(
    cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path
) -> None:
    assert "paused; 2 jobs go on" in cli("pause", "one", env=env).stdout
    assert json.loads(cli("pause", "one", "--json", env=env).stdout)["changed"] is False
    job = live(cli, env)[0]["running"][0]
    cancelled = cli("cancel", job, "--reason", "I saw enough", env=env)
    assert cancelled.stdout == f"one: job {job} is cancelled\n"
    assert json.loads((tmp_path / f"runs/one/jobs/{job}/results.json").read_text())["status"] == "cancelled"
    assert cli("unpause", "one", env=env).stdout == "one: goes on\n"
    (tmp_path / "go").touch()
    wait_for(lambda: not live(cli, env))

    shown = json.loads(cli("show", job, "--json", env=env).stdout)["result"]
    assert (shown["status"], shown["stop_reason"]) == ("cancelled", "cancelled: I saw enough")
    assert json.loads((tmp_path / "runs/one/summary.json").read_text())["exit_code"] == 1
    resumed = cli("resume", "one", env=env)
    assert resumed.returncode == 0
    assert "4 ok" in resumed.stderr


def test_cancel_says_as_what_a_job_has_ended(
    cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path
) -> None:
    first, second = live(cli, env)[0]["running"]
    told = json.loads(cli("cancel", first, "--reason", "enough", "--json", env=env).stdout)
    assert (told["job"], told["ended"]) == (first, "cancelled")
    assert live(cli, env)[0]["running"] == [second]
    (tmp_path / "go").touch()
    wait_for(lambda: not live(cli, env))
    over = cli("cancel", second, "--reason", "too late", env=env)
    assert (over.returncode, over.stdout) == (2, "")


def test_a_whole_run_is_cancelled_with_a_reason(cli: Cli, env: dict[str, str], detached: dict[str, Any]) -> None:
    done = cli("cancel", "one", "--reason", "wrong seeds", env=env)

    assert done.returncode == 0
    assert "trace-bench resume" in done.stderr
    wait_for(lambda: not is_alive(detached["pid"]))
    assert "Run cancelled: wrong seeds" in Path(detached["log"]).read_text()


@pytest.mark.parametrize("command", one_in(3, [("pause",), ("unpause",), ("cancel", "--reason", "x")]))
def test_what_is_not_under_way_cannot_be_steered(cli: Cli, env: dict[str, str], command: tuple[str, ...]) -> None:
    cli("run", "--config", "c.yaml", "-o", "trainers=[NoOp]", env=env)

    over = cli(command[0], "one", *command[1:], env=env)
    missing = cli(command[0], "two", *command[1:], env=env)
    assert over.returncode == missing.returncode == 2
    assert "Run `one` is not under way." in over.stderr
    assert "`two`" in missing.stderr


def test_cancelling_needs_a_reason(cli: Cli, env: dict[str, str]) -> None:
    assert cli("cancel", "one", env=env).returncode == 2


def test_logs_follow_a_job_to_its_end(cli: Cli, env: dict[str, str], detached: dict[str, Any], tmp_path: Path) -> None:
    job = live(cli, env)[0]["running"][0]
    assert cli("logs", job, env=env).stdout == "waiting\n"
    following = warm.start("logs", job, "-f", folder=tmp_path, environ={**os.environ, **env})
    assert following.stdout.readline() == "waiting\n"
    (tmp_path / "go").touch()

    assert following.communicate(timeout=60)[0] == "going on without end of line\n"
    assert following.returncode == 0
    lines = [json.loads(line) for line in cli("logs", job, "--json", env=env).stdout.splitlines()]
    assert [line["line"] for line in lines] == ["waiting", "going on without end of line"]
    assert cli("logs", "no-such-job", env=env).returncode == 2


def test_only_what_failed_in_one_way_is_tried_again(cli: Cli, env: dict[str, str], tmp_path: Path) -> None:
    assert cli("run", "--config", "c.yaml", "-o", "trainers=[Fails]", env=env).returncode == 1
    (tmp_path / "go").touch()

    typo = cli("resume", "one", "--failed", "--error-type", "ValueEror", env=env)
    some = cli("resume", "one", "--failed", "--error-type", "ValueError", env=env)
    assert typo.returncode == 2
    assert "Did you mean `ValueError`?" in typo.stderr
    assert some.returncode == 1
    assert "1 failed, 1 ok" in some.stderr
    last = json.loads((tmp_path / "runs/one/control.jsonl").read_text().splitlines()[-1])
    assert (last["action"], last["error_type"], last["by"]["uid"]) == ("resume", "ValueError", os.getuid())


def test_a_higher_cap_continues_and_a_spent_one_is_refused(cli: Cli, env: dict[str, str]) -> None:
    arguments = ["-o", "trainers=[RandomSearch]", "-o", "run_budget.evaluations=12"]
    assert cli("run", "--config", "c.yaml", *arguments, env=env).returncode == 5

    spent = cli("resume", "one", "--max-evaluations", "5", env=env)
    more = cli("resume", "one", "--max-evaluations", "200", env=env)
    assert spent.returncode == 2
    assert "evaluations already, and the new cap is 5" in spent.stderr
    assert more.returncode == 0, more.stderr
    assert "2 ok" in more.stderr
