"""`ps`, `pause`, `unpause`, `cancel` and `logs`: what a run under way is asked, and what is printed of its answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.unit.analysis.runs import make_run
from typer.testing import CliRunner

from tracebench_core.errors import RunDirError, UsageError
from tracebench_core.specs import RunConfig
from tracebench_engine.cli.app import app
from tracebench_engine.cli.running.control import _target
from tracebench_engine.cli.running.run import _new_log, _tell, reporter_name, with_logger
from tracebench_engine.door.control_registry import RunEntry, entry_path, write_entry
from tracebench_engine.run.control_channel import ControlServer
from tracebench_runs.reading.reader import Run
from tracebench_runs.storage.lock import RunLock

Cli = Callable[..., Result]
WORKER = {"name": "w1", "host": "there", "slots": 2, "jobs": ["j1"], "silent": 3.4}


class Served:
    """A run under way that answers every question with what is set, and keeps what it was asked."""

    def __init__(self, run: Run) -> None:
        self.asked: list[dict[str, Any]] = []
        self.told: dict[str, Any] = {
            "ok": True, "run_id": run.run_id, "run_dir": str(run.layout.path.resolve()), "pid": 77, "since": "then", "jobs": 4, "done": 1,
            "running": ["j1", "j2"], "state": "running", "changed": True,
        }  # fmt: skip

    def answer(self, request: dict[str, Any], _peer: object) -> dict[str, Any]:
        self.asked.append(request)
        return self.told


@pytest.fixture
def run(tmp_path: Path, runtime_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return make_run(Path("runs/one"), lambda *_: 1.0, trainers=("A",), tasks=("s:x",), seeds=range(2))


@pytest.fixture
def served(run: Run) -> Iterator[Served]:
    place = entry_path(run.layout.path)
    address = place.with_suffix(".sock")
    write_entry(RunEntry(run.run_id, str(run.layout.path.resolve()), os.getpid(), "then", str(address)))
    found = Served(run)
    server = ControlServer(address, found.answer)
    with RunLock(run.layout):
        yield found
    server.close()


@pytest.fixture
def cli(run: Run) -> Cli:
    return lambda line, *words: CliRunner().invoke(app, [*line.split(), *words])


def test_where_nothing_is_under_way_that_is_said(cli: Cli) -> None:
    done = cli("ps")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (0, "No run is under way.")
    assert json.loads(cli("ps --json").stdout)["runs"] == []
    refused = cli("pause one")
    assert (str(refused.exception), getattr(refused.exception, "hint", "")) == (
        "Run `one` is not under way.", "trace-bench ps",
    )  # fmt: skip


def test_a_run_under_way_is_a_row_and_its_workers_another_each(cli: Cli, served: Served) -> None:
    done, place = cli("ps"), Path("runs/one").resolve()
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "run\tpid\tdone\trunning\tstate\tsince\tdirectory", f"one\t77\t1/4\t2\trunning\tthen\t{place}",
    ]  # fmt: skip
    served.told |= {
        "pid": None, "since": "",
        "workers": [WORKER, WORKER | {"name": "w2", "jobs": [], "silent": 9.6, "is_reached": False}],
    }  # fmt: skip
    done = cli("ps")
    assert done.stdout.splitlines()[1:] == [
        f"one\t-\t1/4\t2\trunning\t-\t{place}", "", "run\tworker\ton\trunning\tjobs\theard",
        "one\tw1\tthere\t1/2\tj1\t3 s ago", "one\tw2\tthere\t0/2\t-\t10 s ago, out of reach",
    ]  # fmt: skip
    (told,) = json.loads(cli("ps --json").stdout)["runs"]
    assert (told["run_id"], [worker["silent"] for worker in told["workers"]]) == ("one", [3.4, 9.6])


@pytest.mark.parametrize(
    ("line", "changed", "out", "err"),
    [
        ("pause one", True, "one: paused; 2 jobs go on to their end", "Go on:  trace-bench unpause PLACE"),
        ("pause one", False, "one: paused already; 2 jobs go on to their end", "Go on:  trace-bench unpause PLACE"),
        ("unpause one", True, "one: goes on", ""),
        ("unpause one", False, "one: was not paused", ""),
        ("cancel one --reason enough", True, "one: cancelled; 2 jobs are being ended", "Continue it later:  trace-bench resume PLACE"),
    ],
)  # fmt: skip
def test_a_run_is_steered_and_says_what_became_of_it(
    cli: Cli, served: Served, *, line: str, changed: bool, out: str, err: str
) -> None:
    served.told["changed"] = changed
    done = cli(line)
    told_of = err.replace("PLACE", str(Path("runs/one").resolve()))
    assert (done.exit_code, done.stdout.splitlines(), done.stderr.splitlines()) == (0, [out], [told_of] if err else [])
    verb = line.split(maxsplit=1)[0]
    reason = {"reason": "enough"} if verb == "cancel" else {}
    assert [asked for asked in served.asked if asked["do"] != "status"] == [{"do": verb, **reason}]
    told = json.loads(cli(f"{line} --json").stdout)
    assert (told["kind"], told["run_id"], told["changed"], "ok" in told) == ("control", "one", changed, False)
    served.told |= {"ok": False, "error": "it will not"}
    refused = cli(line)
    assert (str(refused.exception), getattr(refused.exception, "hint", "")) == (
        "it will not.", "trace-bench show runs/one",
    )  # fmt: skip


def test_a_job_is_cancelled_and_how_it_ended_is_told(cli: Cli, served: Served, run: Run) -> None:
    job = run.planned[0].job_id
    done = cli(f"cancel {job} --reason enough")
    assert done.stdout == f"one: job {job} is cancelled\n"  # it was not running, and is not started any more
    assert {"do": "cancel", "reason": "enough", "job": job} in served.asked
    assert json.loads(cli(f"cancel {job} --reason enough --json").stdout)["ended"] == "cancelled"


def test_a_run_or_job_is_found_by_path_by_id_and_among_those_under_way(served: Served, run: Run) -> None:
    job = run.planned[0].job_id
    assert _target("one", None) == (Path("runs/one"), None)
    assert _target("runs/one", None) == (Path("runs/one"), None)
    assert _target(f"runs/one/jobs/{job}", None) == (Path("runs/one"), job)
    assert _target(job, "elsewhere") == (run.layout.path.resolve(), job)
    with pytest.raises(UsageError, match=r"^There is no run `onee`\. Did you mean `one`\?$") as caught:
        _target("onee", "elsewhere")
    assert caught.value.hint == "trace-bench ps"
    with pytest.raises(UsageError, match="There is no run `quite-another`"):
        _target("quite-another", "elsewhere")


def test_a_job_that_ended_is_found_in_the_folder_of_runs(run: Run) -> None:
    job = run.planned[0].job_id
    assert _target(job, None) == (Path("runs/one"), job)


def test_what_a_job_printed_is_printed_and_a_worker_that_runs_it_is_named(cli: Cli, served: Served, run: Run) -> None:
    job = run.planned[0].job_id
    run.layout.job(job).stdout.write_bytes(b"one\n\x1b[31mtwo\xff\nno end")
    done = cli(f"logs {job}")
    assert done.stdout.splitlines() == ["one", "\x1b[31mtwo\N{REPLACEMENT CHARACTER}", "no end"]
    assert done.stderr == ""
    served.told["workers"] = [WORKER | {"jobs": [job]}]
    done = cli(f"logs runs/one/jobs/{job} --json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["event"], line["line"]) for line in lines] == [
        ("log_line", "one"), ("log_line", "\x1b[31mtwo\N{REPLACEMENT CHARACTER}"), ("log_line", "no end"),
    ]  # fmt: skip
    assert done.stderr == "It runs at worker w1 on there: what it prints is here when a phase of it has ended.\n"


@pytest.mark.parametrize(("more", "folder"), [("", "runs"), (" --runs-dir there", "there")])
def test_a_job_that_nobody_has_is_told_with_where_it_was_looked_for(cli: Cli, more: str, folder: str) -> None:
    done = cli(f"logs nojob{more}")
    assert (str(done.exception), getattr(done.exception, "hint", "")) == (
        f"There is no job `nojob` in `{folder}`.", "trace-bench show RUN",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "loggers"),
    [
        *((word, ["StepsCsv", None]) for word in ("config", "Default")),
        *((word, ["none", "none"]) for word in ("none", "NULL", "off", "disable", "Disabled")),
        ("ConsoleLogger", ["ConsoleLogger", "ConsoleLogger"]),
    ],
)  # fmt: skip
def test_one_logger_is_for_all_trainers(name: str, loggers: list[str | None]) -> None:
    config = RunConfig.model_validate(
        {"tasks": [{"id": "s:x"}], "trainers": [{"id": "A", "logger": "StepsCsv"}, {"id": "B"}]}
    )
    assert [trainer.logger for trainer in with_logger(config, name).trainers] == loggers
    assert [trainer.id for trainer in with_logger(config, name).trainers] == ["A", "B"]


@pytest.mark.parametrize(
    ("as_json", "live", "name"), [(True, True, "json"), (False, True, "live"), (False, False, "plain")]
)
def test_progress_is_shown_as_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, as_json: bool, live: bool, name: str
) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: live)
    assert reporter_name(as_json=as_json) == name


def test_the_log_of_a_detached_run_begins_beside_the_runs(tmp_path: Path) -> None:
    log = _new_log(tmp_path / "a/b")
    assert (log.parent, log.parent.is_dir(), log.name.startswith(".starting-"), log.suffix) == (
        tmp_path / "a/b", True, True, ".log",
    )  # fmt: skip
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError) as caught:
        _new_log(tmp_path / "file")
    assert (str(caught.value), caught.value.hint) == (
        f"`{tmp_path}/file` cannot be made: File exists.", "trace-bench run --runs-dir DIR",
    )  # fmt: skip


def test_a_detached_run_is_told_with_how_to_watch_and_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    entry = RunEntry("one", "/a b/one", 7, "then", "/s")
    _tell(entry, Path("/a b/one/run.log"), as_json=False)
    told = capsys.readouterr()
    assert told.out.splitlines() == ["Run started: one", "Run dir: /a b/one", "Process: 7", "Log: /a b/one/run.log"]
    assert told.err.splitlines() == [
        "Watch:   trace-bench watch '/a b/one'", "Cancel:  trace-bench cancel '/a b/one' --reason …",
    ]  # fmt: skip
    _tell(entry, Path("/a b/one/run.log"), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["pid"], document["log"]) == ("detached", 7, "/a b/one/run.log")
