"""A parameter that consists of one file is that file to a library that evolves files; one of several is JSON."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tracebench_trainers_ext

PLACE = Path(tracebench_trainers_ext.__file__).parent / "foreign/tracebench_adapters/texts.py"


def texts() -> Any:
    spec = importlib.util.spec_from_file_location("adapters_texts", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_file_goes_there_and_back_as_its_text() -> None:
    codec, parameter = texts(), SimpleNamespace(kind="files", initial={"a.py": "x = 1\n"})

    assert codec.to_text(parameter, {"a.py": "x = 2\n"}) == "x = 2\n"
    assert codec.from_text(parameter, "```python\nx = 3\n```") == {"a.py": "x = 3\n"}
    assert codec.to_text(parameter, {"a.py": "", "b.py": ""}) == '{"a.py": "", "b.py": ""}'


def test_several_files_are_json() -> None:
    codec, files = texts(), {"a.py": "x = 1\n", "b.py": "y\n"}
    parameter = SimpleNamespace(kind="files", initial=files)

    assert codec.from_text(parameter, codec.to_text(parameter, files)) == files


def test_worked_examples_are_named_as_the_task_names_them() -> None:
    fields_of = texts().fields_of
    assert fields_of([{"q": 1, "a": 2}], "") == ("q", "a")
    assert fields_of([], 'Worked questions: [{"question": "…", "answer": "…"}, …].') == ("question", "answer")
    assert fields_of([], "Worked questions.") == ("input", "output")


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "[1, NaN]", "[" * 100_000, "many"])
def test_a_number_that_is_none_stays_a_text_and_the_door_refuses_it_in_words(text: str) -> None:
    assert texts().from_text(SimpleNamespace(kind="number", initial=0.0), text) == text
