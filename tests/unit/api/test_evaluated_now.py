"""`evaluate` without a run: what it prints of each file, what it exits with, and what it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tracebench_core.errors import UsageError
from tracebench_engine.cli.app import app

SUITE = """
from pydantic import BaseModel
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

class Options(BaseModel, extra="forbid"):
    more: float = 0

class Length:
    objective = "be long"
    splits = {"train": (Example(id="a"), Example(id="b")), "test": (Example(id="t"),)}
    parameters = (Parameter(name="text", initial="ab"),)
    def __init__(self, more=0):
        self.more = more
    def run(self, values, example, context):
        text = values["text"].strip()
        if "bad" in text and example.id == "b":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text="that is bad\\x1b[31m"))
        return len(text) + self.more + (100 if example.id == "t" else 0)
    def guide(self, example, output, context):
        metrics = {"length": output} | ({"first": 1.0} if example.id == "a" else {})
        return Feedback(score=output, text=f"words on {example.id}, seed {context.seed}", metrics=metrics)

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Measured")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="length", loader="measured_now:Length", title="Length", options="measured_now:Options")]
"""
Cli = Callable[..., Result]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "measured_now.py").write_text(SUITE)
    info = folder / "measured_now-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: measured_now\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\nmeasured = measured_now\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder))
        patched.setenv("TRACEBENCH_PLUGINS", "measured")
        yield
    sys.modules.pop("measured_now", None)


@pytest.fixture
def cli(site: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.txt").write_text("abcdef")
    (tmp_path / "bad.txt").write_text("bad")
    return lambda *words: CliRunner().invoke(app, ["evaluate", "measured:length", *words])


def test_each_file_is_a_row_with_its_metrics_and_each_example_its_feedback(cli: Cli) -> None:
    done = cli("long.txt", "bad.txt")
    assert done.exit_code == 1  # one earns no score
    table, *rest = done.stdout.split("\n\n")
    head, *rows = [line.split("\t") for line in table.splitlines()]
    assert head == ["file", "score", "examples", "length", "first", "seconds"]
    assert [row[:-1] for row in rows] == [
        ["long.txt", "6", "2 ok", "6", "-"],
        ["bad.txt", "-", "1 ok, 1 invalid", "-", "-"],
    ]
    assert all(row[-1].partition(".")[2].isdigit() and len(row[-1].partition(".")[2]) == 2 for row in rows)
    assert [each.splitlines()[0] for each in rest] == [
        "long.txt on a: ok", "long.txt on b: ok", "bad.txt on a: ok", "bad.txt on b: invalid",
    ]  # fmt: skip
    assert rest[0].splitlines()[1].startswith("words on a, seed ")
    assert "that is bad" in rest[-1]
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "name", "score", "examples"),
    [
        ((), "(initial)", 2.0, ["a", "b"]),
        (("--split", "test"), "(initial)", 102.0, ["t"]),
        (("long.txt", "--eval-kwargs", '{"more": 0.5}'), "long.txt", 6.5, ["a", "b"]),
        (("long.txt", "--seed", "7"), "long.txt", 6.0, ["a", "b"]),
    ],
)
def test_scores_as_data_have_each_example_of_the_split(
    cli: Cli, *, words: tuple[str, ...], name: str, score: float, examples: list[str]
) -> None:
    done = cli(*words, "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert (told["kind"], told["task"], told["split"]) == (
        "scores",
        "measured:length",
        "test" if "test" in words else "train",
    )
    (file,) = told["files"]
    assert (file["file"], file["score"], [r["example"] for r in file["results"]]) == (name, score, examples)
    assert told["seed"] == (7 if "7" in words else 0)


def test_the_same_seed_is_the_same_evaluation_and_another_is_another(cli: Cli) -> None:
    said = [cli("--seed", seed).stdout.split("\n\n")[1:] for seed in ("0", "0", "1")]
    assert said[0] == said[1] != said[2]
    assert cli().stdout.split("\n\n")[1:] == said[0]


def test_a_file_that_cannot_be_read_costs_itself_alone(cli: Cli) -> None:
    done = cli("long.txt", "none.txt", "--json")
    assert done.exit_code == 1
    told = {file["file"]: file for file in json.loads(done.stdout)["files"]}
    assert told["long.txt"]["score"] == 6
    assert (told["none.txt"]["score"], told["none.txt"]["results"]) == (None, [])
    assert "cannot be read" in told["none.txt"]["error"]


class Terminal:
    """Standard error that is a terminal."""

    def __init__(self) -> None:
        self.said = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.said += text
        return len(text)

    def flush(self) -> None:
        pass


def test_on_a_terminal_the_examples_are_counted(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracebench_engine.api.evaluating import open_workbench
    from tracebench_engine.api.installed.hosting import open_host
    from tracebench_engine.cli.parts.evaluate import _evaluate

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with open_workbench(open_host(), "measured:length") as bench:
        assert len(_evaluate(bench, {}, split="train", name="a\x1b", candidate="c1")) == 2
    counts = terminal.said.split("\r")[1:]
    assert [count.partition(": ")[2] for count in counts] == ["1 of 2 examples", "2 of 2 examples\n"]
    assert "\x1b" not in terminal.said


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--eval-kwargs", "{"), "`--eval-kwargs` is no JSON: ", "--eval-kwargs '{\"seed\": 7}'"),
        (("--eval-kwargs", "[1]"), "`--eval-kwargs` is no JSON object.", "--eval-kwargs '{\"seed\": 7}'"),
        (
            ("--split", "validation"), "`measured:length` has no examples to evaluate on in `validation`.",
            "trace-bench evaluate measured:length",
        ),
        (
            ("long.txt", "--metric", "length"),
            "`--metric` is for runs; without a run every metric is printed beside `score`.",
            "trace-bench evaluate measured:length long.txt",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_evaluation_is_refused_with_what_does(cli: Cli, words: Any, said: str, hint: str) -> None:
    done = cli(*words)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(said)
    assert (done.exception.hint, done.stdout) == (hint, "")


def test_an_option_that_the_task_does_not_know_is_refused(cli: Cli) -> None:
    done = cli("--eval-kwargs", '{"moer": 1}')
    assert "`--eval-kwargs`" in str(done.exception)
    assert "`more`" in f"{done.exception} {getattr(done.exception, 'hint', '')}"


@pytest.mark.parametrize("command", ["evaluate", "plan", "validate", "run"])
def test_a_folder_of_runs_may_have_any_name(cli: Cli, command: str) -> None:
    """The option after it is what is refused."""
    Path("c.yaml").write_text("tasks: [measured:length]\ntrainers: [NoOp]\n")
    of = {"evaluate": ["measured:length"], "plan": ["c.yaml"]}.get(command, ["--config", "c.yaml"])
    done = CliRunner().invoke(app, [command, *of, "--runs-dir", 'Läufe 😀 "x"\\', "-o", "seeds=[no]"])
    told = f"{done.exception} {done.output}"
    assert "Läufe" not in told
    assert "seeds" in told
