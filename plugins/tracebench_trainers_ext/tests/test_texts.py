"""A parameter that consists of one file is that file to a library that evolves files; one of several is JSON."""

from __future__ import annotations

import importlib.util
import sys
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


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", "2"), (' "2" ', "2"), ("1", 1), ('"1"', '"1"'), ("null", None), ("true", "true"), ("7", 7), ("x", "x")],
)
def test_a_choice_is_taken_by_its_word_also_where_that_is_a_number_in_json(text: str, value: Any) -> None:
    parameter = SimpleNamespace(kind="choice", initial="2", choices=("2", 1, None, "true"))
    assert texts().from_text(parameter, text) == (value if text != '"1"' else "1")


@pytest.mark.parametrize("initial", ["x = 1", "x = 1\n"])
def test_code_ends_as_the_initial_value_does_whatever_a_library_puts_behind_it(initial: str) -> None:
    parameter = SimpleNamespace(kind="code", initial=initial)
    for text in ("x = 1", "x = 1\n", "x = 1\n\n", "```python\nx = 1\n```"):
        assert texts().from_text(parameter, text) == initial
    assert texts().from_text(parameter, "") == ""


def test_a_search_begins_with_the_initial_numbers_and_choices() -> None:
    sys.path.insert(0, str(PLACE.parents[1]))
    from tracebench_adapters import leaves

    choice = SimpleNamespace(kind="choice", initial="b", choices=("a", "b"))
    number = SimpleNamespace(kind="number", initial=2.0, minimum=None, maximum=None)
    task = SimpleNamespace(parameters={"c": choice, "n": number}, problem=SimpleNamespace(initial={"c": "b", "n": 2.0}))
    assert dict(leaf.first for leaf in leaves.find_leaves(task, 1.0)) == {"c#": 1, "n": 2.0}
