"""One task, trainer or part in full, with the settings that a config may give it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracebench_engine.cli.app import app


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_trainer_shows_every_setting_with_type_default_and_meaning() -> None:
    document = json.loads(said("list-trainers", "RandomSearch", "--json"))

    settings = {row["name"]: row for row in document["settings"]}
    assert document["id"] == "RandomSearch"
    assert settings["num_steps"]["type"].startswith("integer")
    assert all(row.keys() == {"name", "type", "default", "meaning"} for row in document["settings"])


def test_a_task_shows_its_options() -> None:
    document = json.loads(said("list-tasks", "internal:multiobjective_convex", "--json"))

    modes = next(row for row in document["settings"] if row["name"] == "objective_mode")
    assert (modes["type"], modes["default"]) == ("weighted | pareto", "weighted")


def test_a_task_without_options_says_so() -> None:
    assert "No settings." in said("list-tasks", "internal:code_param")


@pytest.mark.parametrize(("command", "name"), [("list-optimizers", "Reflective"), ("list-loggers", "ConsoleLogger")])
def test_parts_are_listed_and_shown(command: str, name: str) -> None:
    assert name in said(command)
    assert said(command, name).startswith("id:")


def test_no_guide_is_no_error() -> None:
    assert json.loads(said("list-guides", "--json"))["guides"] is not None


@pytest.mark.parametrize("command", ["list-tasks", "list-trainers", "list-optimizers", "list-guides", "list-loggers"])
def test_a_misspelt_name_is_no_traceback(command: str) -> None:
    result = CliRunner().invoke(app, [command, "internal:nope" if command == "list-tasks" else "Nope"])

    assert result.exit_code != 0
    assert "Traceback" not in result.output


ODD = """
from collections.abc import Callable
from pydantic import BaseModel, ConfigDict, Field
class Thing: ...
class Settings(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    steps: int = 3
    twice: int = Field(default_factory=lambda data: 2 * data["steps"])
    weigh: Callable[[int], int] = abs
    thing: Thing | None = None
class Mine:
    def __init__(self, settings: Settings) -> None: ...
    def train(self, problem) -> None: ...
"""


def test_settings_that_json_has_no_form_for_are_shown_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.py").write_text(ODD)
    document = json.loads(said("list-trainers", "./odd.py:Mine", "--json"))
    assert [(row["name"], row["type"], row["default"]) for row in document["settings"]] == [
        ("steps", "integer", "3"),
        ("twice", "integer", "computed"),
        ("weigh", "any", "<built-in function abs>"),
        ("thing", "any | null", "None"),
    ]
