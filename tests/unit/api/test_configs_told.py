"""`config`, `validate` and `replay`: what they print of a config or of a run that was repeated, and what they exit with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from tracebench_core.errors import ConfigError, NothingSelectedError, OutputError, UsageError
from tracebench_engine.cli.app import app
from tracebench_engine.cli.running.reading import config_words, read_config
from tracebench_engine.cli.running.replay import tell_differences

Cli = Callable[[str], Result]
CONFIG = "tasks: ['internal:numeric_param']\ntrainers: [{id: NoOp}]\nseeds: [1, 2]\n"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("c.yaml").write_text(CONFIG)
    return lambda line: CliRunner().invoke(app, line.split())


def test_the_schema_of_configs_is_one_of_json(cli: Cli) -> None:
    told = json.loads(cli("config schema").stdout)
    assert {"tasks", "trainers", "seeds", "budget"} <= told["properties"].keys()


def test_a_config_is_shown_in_full_and_with_its_changes(cli: Cli) -> None:
    shown = cli("config show c.yaml -o seeds=[3]").stdout
    assert not shown.endswith("\n\n")
    found = yaml.safe_load(shown)
    assert (found["seeds"], found["mode"], found["tasks"][0]["id"]) == ([3], "stub", "internal:numeric_param")
    told = json.loads(cli("config show c.yaml --json").stdout)
    assert (told["kind"], told["config"]["seeds"]) == ("config", [1, 2])


def test_a_config_of_today_is_upgraded_to_itself_and_may_be_written(cli: Cli) -> None:
    done = cli("config upgrade c.yaml -o new.yaml")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "As they were: 4. Left to you, marked with `!`: 0.", "Next:  trace-bench validate --config new.yaml",
    ]  # fmt: skip
    again = cli("config upgrade c.yaml")
    assert again.stdout == Path("new.yaml").read_text()
    assert again.stderr.splitlines() == ["As they were: 4. Left to you, marked with `!`: 0."]
    with_json = cli("config upgrade c.yaml -o json.yaml --json")
    assert json.loads(with_json.stdout)["config"] == Path("json.yaml").read_text()


@pytest.mark.parametrize(
    ("out", "words", "hint"),
    [
        ("c.yaml", "`c.yaml` cannot be written: File exists.", "trace-bench config upgrade c.yaml -o c-new.yaml"),
        ("no/n.yaml", "`no/n.yaml` cannot be written: No such file or directory.", "trace-bench config upgrade c.yaml -o no/n-new.yaml"),
    ],
)  # fmt: skip
def test_a_file_that_is_there_is_not_written_over(cli: Cli, *, out: str, words: str, hint: str) -> None:
    done = cli(f"config upgrade c.yaml -o {out}")
    assert isinstance(done.exception, OutputError)
    assert (str(done.exception), done.exception.hint) == (words, hint)
    assert Path("c.yaml").read_text() == CONFIG


def test_what_became_of_each_field_is_a_line_and_what_is_left_marked(cli: Cli) -> None:
    Path("old.yaml").write_text(
        "seed: 3\ntasks: [numeric_param]\ntrainers:\n- {id: NoOp, params: {loud: 1}}\nmax_workers: many\n"
    )
    done = cli("config upgrade old.yaml -o new.yaml")
    assert done.exit_code == 1
    *lines, last = done.stderr.splitlines()
    assert lines[0] == "  line 1: `seed` is `seeds` now."
    assert "  line 2: `tasks[0]`: `numeric_param` is called `internal:numeric_param` now." in lines
    assert "! line 4: `trainers[0].params.loud`: `NoOp` has no such setting." in lines
    assert any(line.startswith("! `old.yaml`: `max_workers` must be a whole number") for line in lines)
    assert last == "As they were: 2. Left to you, marked with `!`: 2."


@pytest.mark.parametrize(("seeds", "more"), [("1..10", []), ("1..11", ["1 more job"]), ("1..12", ["2 more jobs"])])
def test_a_config_that_would_run_is_told_job_by_job_up_to_ten(cli: Cli, seeds: str, more: list[str]) -> None:
    Path("c.yaml").write_text(CONFIG.replace("[1, 2]", seeds))
    done = cli("validate --config c.yaml --strict -o tags=[a]")
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("[OK] job ")]) == 10
    every = "trace-bench validate --config c.yaml -o 'tags=[a]' --strict --json"
    assert [line for line in lines if line.startswith("[OK] and ")] == [
        f"[OK] and {n}; all of them: {every}" for n in more
    ]
    assert done.stderr.splitlines()[-1] == "Next:  trace-bench run --config c.yaml -o 'tags=[a]'"
    assert not Path("runs").exists()


def test_the_run_directory_is_written_where_it_is_asked_for(cli: Cli) -> None:
    done = cli("validate --config c.yaml --manifest --runs-dir there")
    (folder,) = Path("there").iterdir()
    assert done.stdout.splitlines()[-1] == f"[OK] manifest written: {folder}/meta/manifest.json"
    assert done.stderr.splitlines()[-1] == "Next:  trace-bench run --config c.yaml --runs-dir there"
    told = json.loads(cli("validate --config c.yaml --strict --json").stdout)
    assert len([check for check in told["checks"] if check["subject"].startswith("job ")]) == 2
    assert (told["kind"], told["ok"], told["manifest"]) == ("validation", True, None)
    assert {check["level"] for check in told["checks"]} <= {"OK", "WARN", "SKIP"}


def test_only_the_tasks_of_some_suites_are_checked(cli: Cli) -> None:
    done = cli("validate --config c.yaml --bench internal")
    assert done.exit_code == 0
    none = cli("validate --config c.yaml --bench trace_examples")
    assert isinstance(none.exception, NothingSelectedError)
    assert (str(none.exception), none.exception.hint) == (
        "The config has no task of `trace_examples`.", "leave `--bench` out",
    )  # fmt: skip


def test_wrong_fields_and_wrong_names_are_told_together(cli: Cli) -> None:
    Path("c.yaml").write_text(CONFIG.replace("NoOp", "NoOpp") + "max_workers: many\n")
    with pytest.raises(ConfigError) as caught:
        read_config(Path("c.yaml"), [])
    assert "`max_workers` must be a whole number" in str(caught.value)
    assert "NoOpp" in str(caught.value)
    Path("c.yaml").write_text(CONFIG + "max_workers: many\n")
    with pytest.raises(ConfigError, match="must be a whole number") as caught:
        read_config(Path("c.yaml"), [])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"root": None, "runs_dir": None, "override": None}, []),
        ({"root": Path("r"), "runs_dir": None, "override": []}, ["--root", "r"]),
        (
            {"root": None, "runs_dir": "", "override": ["a=1", "b=2"]},
            ["--runs-dir", "", "-o", "a=1", "-o", "b=2"],
        ),
    ],
)  # fmt: skip
def test_the_same_config_is_read_again_by_the_same_words(given: Any, words: list[str]) -> None:
    assert config_words(Path("c.yaml"), **given) == ["--config", "c.yaml", *words]


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("replay", "Name a recorded run.", "trace-bench demo"),
        ("replay --demo", "Recorded runs that are installed are shown by `demo`.", "trace-bench demo"),
        ("replay x --demo", "Recorded runs that are installed are shown by `demo`.", "trace-bench demo x"),
    ],
)
def test_what_names_no_recording_is_refused(cli: Cli, line: str, words: str, hint: str) -> None:
    done = cli(line)
    assert isinstance(done.exception, UsageError)
    assert (str(done.exception), done.exception.hint) == (words, hint)


def difference(job: str, field: str = "score", one: object = 1, other: object = 2) -> Any:
    spec = SimpleNamespace(job_id=job, task_id="s:t", trainer_id="A", seed=3)
    return SimpleNamespace(job=spec, field=field, one=one, other=other)


def test_a_replay_that_came_out_the_same_or_differently_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    places: Any = {"recorded": Path("a"), "replayed": Path("b")}
    tell_differences([], **places, as_json=False)
    assert capsys.readouterr() == ("", "The same results as recorded, apart from times and the jobs' ids.\n")
    found = [difference("j1"), difference("j1", "text", "x" * 60, "y" * 61), *[difference("j2")] * 20]
    tell_differences(found, **places, as_json=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "2 jobs came out differently than recorded:", "  s:t x A, seed 3: score was 1, is 2",
        f"  s:t x A, seed 3: text was {'x' * 60}, is {'y' * 59}…",
    ]  # fmt: skip
    assert len(lines) == 21
    tell_differences(found[:1], **places, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["recorded"], told["replayed"], "page" in told) == ("replay", "a", "b", False)
    assert told["differences"] == [
        {"task": "s:t", "trainer": "A", "seed": 3, "field": "score", "recorded": 1, "replayed": 2}
    ]
    tell_differences([], **places, as_json=True, page="p.html")
    assert json.loads(capsys.readouterr().out)["page"] == "p.html"
