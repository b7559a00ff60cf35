"""`evaluate TASK FILE…`: given values on a task, side by side, without a run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
from threading import Barrier
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

class Length:
    objective = "be long"
    meeting = Barrier(2)
    splits = {"train": (Example(id="a"), Example(id="b")), "test": (Example(id="t"),)}
    def __init__(self, more=0):
        self.more = more
        self.parameters = (Parameter(name="text", initial="ab"), Parameter(name="n", initial=1, kind="number", maximum=9))
    def run(self, values, example, context):
        if "bad" in values["text"]:
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text="that is bad"))
        if "meet" in values["text"]:
            self.meeting.wait(20)
        return len(values["text"].strip()) * values["n"] + self.more + (100 if example.id == "t" else 0)
    def guide(self, example, output, context):
        return Feedback(score=output, text=f"words on {example.id}", metrics={"length": output})

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Mine")

@hookimpl
def tracebench_tasks(): return [TaskSpec(name="length", loader="mine:Length", title="Length")]
"""


@pytest.fixture
def mine(plugin_path: Install) -> Mapping[str, str]:
    return {"TRACEBENCH_PLUGINS": "mine", **plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")}


def test_files_are_scored_side_by_side_with_their_feedback(cli: Cli, mine: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("abcdef\n")
    (tmp_path / "twice.json").write_text(json.dumps({"text": "abc", "n": 4}))
    files = [str(tmp_path / "long.txt"), str(tmp_path / "twice.json")]
    shown = cli("evaluate", "mine:length", *files, env=mine)
    data = json.loads(cli("evaluate", "mine:length", *files, "--split", "test", "--json", env=mine).stdout)

    assert shown.returncode == 0, shown.stderr
    assert [line.split("\t")[1] for line in shown.stdout.splitlines()[:3]] == ["score", "6", "12"]
    assert "words on b" in shown.stdout
    assert [entry["score"] for entry in data["files"]] == [106, 112]
    assert data["files"][0]["results"][0]["example"] == "t"


def test_without_files_the_initial_values_are_scored_and_options_reach_the_task(
    cli: Cli, mine: Mapping[str, str]
) -> None:
    data = json.loads(cli("evaluate", "mine:length", "--eval-kwargs", '{"more": 5}', "--json", env=mine).stdout)

    assert [(entry["file"], entry["score"]) for entry in data["files"]] == [("(initial)", 7)]


def test_examples_are_under_way_at_a_time_without_a_run(cli: Cli, mine: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "meet.txt").write_text("meet")
    done = cli("evaluate", "mine:length", str(tmp_path / "meet.txt"), "--in-flight", "2", "--json", env=mine)

    assert [entry["score"] for entry in json.loads(done.stdout)["files"]] == [4], done.stdout


def test_a_metric_to_compare_by_is_refused_where_nothing_is_compared(cli: Cli, mine: Mapping[str, str]) -> None:
    done = cli("evaluate", "mine:length", "--metric", "lenght", env=mine)

    assert (done.returncode, done.stdout) == (2, "")
    assert "`--metric` is for runs" in done.stderr


def test_a_file_that_earns_no_score_is_a_dash_and_exit_1(cli: Cli, mine: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("bad")
    done = cli("evaluate", "mine:length", str(tmp_path / "bad.txt"), env=mine)

    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split("\t")[1:3] == ["-", "2 invalid"]
    assert "that is bad" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[1]", "no object"),
        ('{"nn": 1}', "no parameter `nn`"),
        ('{"n": 10}', "`n`"),
    ],
)
def test_values_that_do_not_fit_are_refused_before_anything_runs(
    text: str, words: str, cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text(text)
    done = cli("evaluate", "mine:length", str(tmp_path / "x.json"), env=mine)

    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file_and_an_empty_split_are_one_sentence(cli: Cli, mine: Mapping[str, str], tmp_path: Path) -> None:
    missing = cli("evaluate", "mine:length", str(tmp_path / "none.txt"), env=mine)
    empty = cli("evaluate", "mine:length", "--split", "validation", env=mine)

    assert (missing.returncode, empty.returncode) == (2, 2)
    assert "cannot be read" in missing.stderr
    assert "no examples to evaluate on in `validation`" in empty.stderr


def test_a_run_on_an_empty_split_is_told_and_names_no_row(cli: Cli, mine: Mapping[str, str]) -> None:
    done = cli("evaluate", "mine:length", "--split", "validation", "--limit", "1", env=mine)

    assert done.returncode == 1
    assert "no examples to evaluate on in `validation`, but in `test` and `train`" in done.stderr
    assert "--evaluation" not in done.stderr


TEN_WAYS = {
    "a pipe that nobody fills": "it is a pipe or a device",
    "a device without an end": "it is a pipe or a device",
    "a file larger than memory": "it has more than 67,108,864 bytes",
    "a link to itself": "cannot be read",
    "bytes that are no text": "cannot be read",
    "JSON that is cut off": "cannot be read",
    "JSON nested without an end": "cannot be read",
    "a list in place of an object": "holds no object of values by parameter",
    "a parameter that there is none of": "cannot be evaluated",
    "an empty folder": "holds nothing for the task",
}


def bad_data(way: str, folder: Path) -> Path:
    """Return something of that kind."""
    place = folder / ("bad.json" if "JSON" in way or "list" in way or "parameter" in way else "bad.txt")
    if way == "a pipe that nobody fills":
        os.mkfifo(place)
    elif way == "a device without an end":
        return Path("/dev/zero")
    elif way == "a file larger than memory":
        with place.open("wb") as file:
            file.truncate(1 << 42)
    elif way == "a link to itself":
        place.symlink_to(place)
    elif way == "an empty folder":
        place.mkdir()
    else:
        kept = {
            "bytes that are no text": b"\xff\xfe\x00",
            "JSON that is cut off": b'{"n',
            "JSON nested without an end": b'{"n":' * 100_000,
        }
        place.write_bytes(kept.get(way, b"[1, 2]" if "list" in way else b'{"nn": 1}'))
    return place


@pytest.mark.parametrize("way", TEN_WAYS)
def test_ten_ways_to_give_bad_data_are_one_sentence_each_and_cost_themselves_alone(
    way: str, cli: Cli, mine: Mapping[str, str], tmp_path: Path
) -> None:
    bad = bad_data(way, tmp_path)
    good = tmp_path / "good.json"
    good.write_text("{}")
    alone = cli("evaluate", "mine:length", str(bad), env=mine)
    beside = cli("evaluate", "mine:length", str(bad), str(good), env=mine)

    assert (alone.returncode, beside.returncode) == (2, 1), alone.stderr
    for done in (alone, beside):
        assert TEN_WAYS[way] in done.stderr
        assert "Traceback" not in done.stderr
    assert "good.json" in beside.stdout


def test_an_option_that_the_task_does_not_know_is_one_sentence(cli: Cli, plugin_path: Install) -> None:
    source = SUITE.replace('loader="mine:Length"', 'loader="mine:Length", options="mine:Options"')
    options = "\nfrom pydantic import BaseModel\nclass Options(BaseModel, extra='forbid'):\n    more: int = 0\n"
    env = plugin_path("mine", source + options, group="tracebench", entry="mine", target="mine")
    done = cli("evaluate", "mine:length", "--eval-kwargs", '{"moer": 5}', env={"TRACEBENCH_PLUGINS": "mine", **env})

    assert (done.returncode, "`--eval-kwargs`" in done.stderr, "`more`" in done.stderr) == (2, True, True)


SEVERAL = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

class Tree:
    objective = "be long"
    splits = {"train": (Example(id="a"),)}
    def __init__(self, *paths, **texts):
        files = (Parameter(name="files", kind="files", initial={path: "ab" for path in paths}),) if paths else ()
        self.parameters = (*files, *(Parameter(name=name, initial=text) for name, text in texts.items()))
    def run(self, values, example, context):
        return [*values.get("files", {}).items(), *((k, v) for k, v in values.items() if k != "files")]
    def guide(self, example, output, context):
        return Feedback(score=sum(len(text) for _, text in output), text=" ".join(f"{p}:{len(t)}" for p, t in output))

def one(): return Tree("main.py")
def many(): return Tree("main.py", "lib/part.py", "other/part.py")
def roles(): return Tree(encoder="ab", decoder="ab")

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Mine")
@hookimpl
def tracebench_tasks(): return [TaskSpec(name=n, loader=f"mine:{n}", title=n) for n in ("one", "many", "roles")]
"""


@pytest.mark.parametrize(
    ("task", "file", "said"),
    [
        ("one", "better.py", "main.py:5"),
        ("many", "main.py", "main.py:5 lib/part.py:2 other/part.py:2"),
        ("many", "lib/part.py", "main.py:2 lib/part.py:5 other/part.py:2"),
        ("roles", "decoder.txt", "encoder:2 decoder:5"),
    ],
)
def test_one_file_is_that_of_its_name_among_the_task_s_own(
    cli: Cli, plugin_path: Install, tmp_path: Path, *, task: str, file: str, said: str
) -> None:
    env = {
        "TRACEBENCH_PLUGINS": "mine",
        **plugin_path("mine", SEVERAL, group="tracebench", entry="mine", target="mine"),
    }
    given = tmp_path / file
    given.parent.mkdir(exist_ok=True)
    given.write_text("abcde")

    shown = cli("evaluate", f"mine:{task}", str(given), env=env)

    assert shown.returncode == 0, shown.stderr
    assert said in shown.stdout


@pytest.mark.parametrize(
    ("task", "file", "said", "then"),
    [
        ("many", "mine.py", "it has the name of none: `lib/part.py`", "lib/part.py:5"),
        ("many", "part.py", "it may be any of these: `lib/part.py`, `other/part.py`", "lib/part.py:5"),
    ],
)
def test_one_file_that_fits_no_name_is_told_what_to_type(
    cli: Cli, plugin_path: Install, tmp_path: Path, *, task: str, file: str, said: str, then: str
) -> None:
    env = {
        "TRACEBENCH_PLUGINS": "mine",
        **plugin_path("mine", SEVERAL, group="tracebench", entry="mine", target="mine"),
    }
    (tmp_path / file).write_text("abcde")

    refused = cli("evaluate", f"mine:{task}", str(tmp_path / file), env=env)

    assert refused.returncode == 2
    assert said in refused.stderr
    hint = refused.stderr.partition("hint: ")[2].strip()
    *shell, command = hint.split(" && ")
    for typed in shell:
        subprocess.run(typed, shell=True, check=True, cwd=tmp_path)  # what the hint says is what is typed
    assert then in cli(*command.split()[1:], env=env).stdout
