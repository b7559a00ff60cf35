"""What `trace-bench autoresearch` shows of runs that are kept: the table, the best, its diff, the plot, and the branch of commits."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from plugins.tracebench_autoresearch.tests.dials import RUN, answer, write_dial
from tests import warm
from typer.testing import CliRunner

from tracebench_autoresearch.cli import app
from tracebench_autoresearch.history.progress import view
from tracebench_autoresearch.history.reading import read_history
from tracebench_autoresearch.trainer.loop import DRIFT
from tracebench_core.errors import OutputError, TraceBenchError, UsageError
from tracebench_core.specs.events import MetricLogged
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI

GOLDEN = Path(__file__).parents[3] / "tests/cli/golden/1fa27cb.zip"
"""Of runs on other tasks."""
TRAINER = "{id: Autoresearch, params_variants: [{num_experiments: 6}]}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run `r` of six experiments, and a run `two` of two jobs of which the first alone was begun."""
    folder = tmp_path_factory.mktemp("made")
    write_dial(folder / "root")
    with FakeOpenAI(reply=answer) as server:
        (folder / "run.yaml").write_text(RUN.format(url=server.base_url, task="dial", trainer=TRAINER))
        words = ("run", "--config", "run.yaml", "--root", "root", "-o", "run_id=r", "--runs-dir", "runs")
        done = warm.trace_bench(*words, folder=folder, environ=os.environ)
    assert done.returncode == 0, done.stderr
    config = {
        "run_id": "two",
        "runs_dir": str(folder / "runs"),
        "tasks": ["autoresearch:dial"],
        "trainers": ["NoOp"],
        "seeds": [1, 2],
        "uncalibrated": "score",
        "budget": {"evaluations": 1},
        "run_budget": {"evaluations": 1},
    }
    api.run(parse_config(config), root=folder / "root", stream=io.StringIO())
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(made, tmp_path / "made"))


def asked(folder: Path, *words: str) -> Result:
    done = CliRunner().invoke(app, [*words, "--runs-dir", str(folder / "runs")])
    assert done.exception is None, done.exception
    return done


def refused(folder: Path, *words: str) -> TraceBenchError:
    error = CliRunner().invoke(app, [*words, "--runs-dir", str(folder / "runs")]).exception
    assert isinstance(error, TraceBenchError), repr(error)
    return error


def only_job(folder: Path) -> str:
    return next((folder / "runs/r/jobs").iterdir()).name


def test_the_table_is_newest_first_and_in_files_oldest_first(made: Path) -> None:
    done = asked(made, "history", "r")
    columns, *shown = [line.split("\t") for line in done.stdout.splitlines()]
    assert columns == ["candidate", "loss (self-reported)", "runs", "memory_mb", "status", "description"]
    assert [row[0] for row in shown] == ["c5", "c4", "c3", "c2", "c1", "c0"]
    assert [row[4] for row in shown] == ["keep", "crashed", "discard", "discard", "keep", "baseline"]
    assert "autoresearch:dial, Autoresearch: 2 keep, 2 discard, 1 crashed" in done.stderr
    assert "loss, measured anew: of 2 kept, 2 confirmed, total gain 3.9" in done.stderr
    assert "the machine drifts" not in done.stderr

    oldest = [line.split("\t") for line in asked(made, "history", "r", "--oldest-first").stdout.splitlines()]
    assert oldest == [columns, *reversed(shown)]
    tsv = asked(made, "history", "r", "--tsv")
    assert [line.split("\t") for line in tsv.stdout.splitlines()] == [[columns[0], "loss", *columns[2:]], *oldest[1:]]
    assert tsv.stderr == ""
    records = [json.loads(line) for line in asked(made, "history", "r", "--jsonl").stdout.splitlines()]
    assert [one["candidate"] for one in records] == [row[0] for row in oldest[1:]]
    assert [one["confirmed"] for one in records] == [None, True, None, None, None, True]
    assert {one["self_reported"] for one in records} == {True}


def of_the_dial(folder: Path) -> list[Any]:
    return [spec for spec in api.load_run(folder / "runs/two").planned if spec.task_id == "autoresearch:dial"]


def test_what_was_only_measured_is_told_as_such(made: Path) -> None:
    first = of_the_dial(made)[0].job_id
    done = asked(made, "history", first)
    assert [line.split("\t")[4:] for line in done.stdout.splitlines()[1:]] == [["baseline", "initial"]]
    assert f"{first}: autoresearch:dial, NoOp: nothing tried yet" in done.stderr
    assert "anew" not in done.stderr + asked(made, "best", first).stdout
    assert asked(made, "history", "two", "--job", first).stdout == done.stdout


def test_which_job_is_meant_must_be_clear(made: Path, tmp_path: Path) -> None:
    error = refused(made, "best", "two")
    jobs = of_the_dial(made)
    listed = [f"`{spec.job_id}` (autoresearch:dial, NoOp, seed {spec.seed})" for spec in jobs]
    assert str(error) == f"Run `two` has 2 jobs: {', '.join(listed)}."
    assert error.hint == f"--job {jobs[0].job_id}"

    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(tmp_path)
    error = CliRunner().invoke(app, ["best", str(tmp_path / "whole")]).exception
    assert str(error).endswith("has no job on a task of `autoresearch`.")


def test_the_best_is_shown_with_what_led_to_it(made: Path) -> None:
    head, *kept, anew, first, last = asked(made, "best", "r").stdout.splitlines()
    assert head.startswith("loss: ")
    start, _, end = head.removeprefix("loss: ").removesuffix(" (minimize)").partition(" -> ")
    assert (round(float(start)), round(float(end))) == (5, 1)
    assert [line.split("\t")[0] for line in kept] == ["c0", "c1", "c5"]
    assert [line.split("\t")[3] for line in kept] == ["initial", "a smaller rate", "the best rate"]
    assert kept[0].endswith("initial")
    assert "evidence" in kept[1].split("\t")[4]
    assert anew.startswith("Measured anew: of 2 kept, 2 confirmed")
    assert [line.split("\t")[:2] for line in (first, last)] == [["c1", "confirmed"], ["c5", "confirmed"]]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ((), ["-rate=5", "+rate=3"]),
        (("--candidate", "c5"), ["-rate=4", "+rate=3"]),
        (("--candidate", "c3"), ["-rate=4", "+rate=9"]),
        (("--candidate", "c0"), []),
    ],
)
def test_a_diff_is_of_the_best_to_the_start_or_of_a_candidate_to_its_parent(
    made: Path, words: tuple[str, ...], lines: list[str]
) -> None:
    shown = asked(made, "diff", "r", *words).stdout.splitlines()
    assert [line for line in shown if line.startswith(("+rate", "-rate"))] == lines
    assert shown[:2] == (["--- a/dial.txt", "+++ b/dial.txt"] if lines else [])
    assert len(shown) == (8 if lines else 0), "three lines of context follow what differs"


def test_a_candidate_that_is_not_there_has_no_diff(made: Path) -> None:
    error = refused(made, "diff", "r", "--candidate", "c9")
    assert str(error) == f"Job `{only_job(made)}` has no candidate `c9`."
    assert error.hint == "trace-bench autoresearch history r"


def test_a_job_that_measured_nothing_has_neither_best_nor_diff_nor_commits(made: Path, tmp_path: Path) -> None:
    first, job = (spec.job_id for spec in of_the_dial(made))
    for name, *words in (("best",), ("diff",), ("export", "--repo", str(tmp_path))):
        error = refused(made, name, "two", "--job", job, *words)
        assert str(error) == f"Job `{job}` has measured nothing yet."
    assert view(api.load_run(made / "runs/two"), job) is None
    assert asked(made, "history", "two", "--job", job).stdout.splitlines()[1:] == []
    assert asked(made, "diff", "two", "--job", first).stdout == ""


def test_a_plot_is_written_where_it_is_wanted(made: Path, tmp_path: Path) -> None:
    done = asked(made, "plot", "r", "-o", str(tmp_path / "p.json"))
    assert done.stdout == f"{tmp_path / 'p.json'}\n"
    run = api.load_run(made / "runs/r")
    assert json.loads((tmp_path / "p.json").read_text()) == view(run, only_job(made))
    assert view(run, None) is None
    error = refused(made, "plot", "r", "-o", str(tmp_path / "none/p.json"))
    assert isinstance(error, OutputError)
    assert str(error) == f"`{tmp_path / 'none/p.json'}` cannot be written: No such file or directory."
    assert error.hint == "--output progress.svg"


def test_a_history_has_what_its_run_says(made: Path) -> None:
    run, job = api.load_run(made / "runs/r"), only_job(made)
    found = read_history(run, job)
    told = [event.value for event in run.events(job) if isinstance(event, MetricLogged) and event.name == DRIFT]
    assert (found.drift, found.drifts) == (max(told), False)
    assert (found.task, found.trainer, found.metric) == ("autoresearch:dial", "Autoresearch", "loss")
    assert (found.best, found.policy, found.revision[:7]) == ("c5", "edit_then_commit", "sha256:")
    assert [one.parents for one in found.experiments] == [(), ("c0",), ("c1",), ("c1",), ("c1",), ("c1",)]
    assert found.experiments[5].mean_of("memory_mb") == 30
    assert found.experiments[5].mean_of("gold") is None

    other = read_history(api.load_run(made / "runs/two"), of_the_dial(made)[0].job_id)
    assert (other.drift, other.best) == (1.0, "c0"), "without a word on drift, evidence is even"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "mine")], check=True)
    return tmp_path / "mine"


def test_what_was_kept_becomes_a_branch_and_all_of_it_two_tables(folder: Path, repo: Path, tmp_path: Path) -> None:
    words = ("export", "r", "--repo", str(repo), "--root", str(folder / "root"))
    done = asked(folder, *words, "--results", str(tmp_path / "new/results"))
    branch = f"autoresearch/{only_job(folder)}"
    name, commit = done.stdout.split()
    assert (name, commit) == (branch, git(repo, "rev-parse", branch).strip())
    assert done.stderr.splitlines()[-1] == f"Look at it:  git -C {repo} log --oneline {branch}"
    assert git(repo, "log", "--format=%s", branch).splitlines() == [
        "the best rate", "a smaller rate", "Base of the experiments",
    ]  # fmt: skip
    first, *rows = (tmp_path / "new/results/results.tsv").read_text().splitlines()
    assert first.split("\t") == ["commit", "metric", "runs", "memory_mb", "status", "description"]
    assert [row.split("\t")[0] for row in rows[2:5]] == ["c2", "c3", "c4"], "no commit, so its id"
    assert rows[5].split("\t")[0] == commit[:10]
    records = [json.loads(line) for line in (tmp_path / "new/results/results.jsonl").read_text().splitlines()]
    assert [one["commit"] is None for one in records] == [False, False, True, True, True, False]

    named = asked(folder, *words, "--branch", "kept").stdout
    assert named == f"kept\t{commit}\n", "the same job, the same commits"
    assert not [path for path in tmp_path.rglob("results.tsv") if "new" not in path.parts]


def test_an_experiment_that_changed_since_gives_no_commits(folder: Path, repo: Path) -> None:
    (folder / "root/dial/score.sh").write_text("echo loss: 1\n")
    words = ("export", "r", "--repo", str(repo), "--root", str(folder / "root"))
    error = refused(folder, *words)
    assert isinstance(error, UsageError)
    assert "have changed since the run" in str(error)
    assert git(repo, "for-each-ref") == ""


@pytest.mark.parametrize("name", ["results.tsv", "results.jsonl"])
def test_results_of_ones_own_are_not_written_over_and_no_branch_is_made(
    folder: Path, repo: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    words = ("export", "r", "--repo", str(repo), "--root", str(folder / "root"))
    done = CliRunner().invoke(app, [*words, "--results", str(tmp_path), "--runs-dir", str(folder / "runs")])
    assert (tmp_path / name).read_text() == "mine"
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"`{tmp_path / name}` is there already."
    assert done.exception.hint == f"--results {tmp_path / 'exported'}"
    assert git(repo, "branch", "--list") == ""
