"""The many spellings of a config as one, and where the user wrote each field."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_engine.config.canonical import Canonical, is_bare_setting, level_of

FORMS: list[tuple[Any, ...]] = [
    ({"model": "m"}, ({"llm": {"model": "m"}}, {("llm", "model"): ("model",)}, [])),
    ({"model": "m", "llm": {"model": "n"}}, ({"llm": {"model": "n"}}, {}, [(("model",), "and `llm.model` say different things.")])),
    ({"model": "m", "llm": {"model": "m"}}, ({"llm": {"model": "m"}}, {}, [])),
    ({"model": "m", "llm": {"model": None}}, ({"llm": {"model": "m"}}, {("llm", "model"): ("model",)}, [])),
    ({"llm": "m"}, ({"llm": {"model": "m"}}, {("llm", "model"): ("llm",)}, [])),
    ({"llm": "m", "base-url": "u"}, ({"llm": {"base_url": "u", "model": "m"}}, {("llm", "model"): ("llm",), ("llm", "base_url"): ("llm",
        "base-url")}, [])),
    ({"llm": None, "api_base": "u"}, ({"llm": {"base_url": "u"}}, {("llm", "base_url"): ("llm", "api_base")}, [])),
    ({"llm": {}}, ({"llm": {}}, {}, [])), ({"llm": [1], "model": "m"}, ({"llm": [1]}, {}, [])), ({"model": None}, ({}, {}, [])),
    ({"llm": "m", "model": "n"}, ({"llm": {"model": "m"}}, {("llm", "model"): ("llm",)}, [(("model",),
        "and `llm.model` say different things.")])),
    ({"llm": {"api-base": "x"}, "base_url": "x"}, ({"llm": {"base_url": "x"}}, {("llm", "base_url"): ("llm", "api-base")}, [])),
    ({"threads": 3}, ({"trainer_kwargs": {"threads": 3}}, {("trainer_kwargs", "threads"): ("threads",)}, [])),
    ({"threads": 3, "trainer_kwargs": {"a": 1}}, ({"trainer_kwargs": {"a": 1, "threads": 3}}, {("trainer_kwargs", "threads"):
        ("threads",)}, [])),
    ({"threads": 3, "trainer_kwargs": 5}, ({"trainer_kwargs": 5}, {}, [])),
    ({"my_setting": 1}, ({"trainer_kwargs": {"my_setting": 1}}, {("trainer_kwargs", "my_setting"): ("my_setting",)}, [])),
    ({"max_worker": 1}, ({"max_worker": 1}, {}, [])), ({"a b": 1}, ({"a b": 1}, {}, [])), ({"threads": None}, ({}, {}, [])),
    ({"zzz": None}, ({"zzz": None}, {}, [])),
    ({"trainer_kwargs": {"optimizer_kwargs": {"a": 1, "b": 2}, "x": 1}, "optimizer_kwargs": {"a": 5}}, ({"trainer_kwargs": {"x": 1},
        "optimizer_kwargs": {"a": 5, "b": 2}}, {("optimizer_kwargs", "b"): ("trainer_kwargs", "optimizer_kwargs", "b")}, [])),
    ({"trainer_kwargs": {"eval_kwargs": {"n": 1}, "optimizer_kwargs": 3}}, ({"trainer_kwargs": {"optimizer_kwargs": 3}, "eval_kwargs":
        {"n": 1}}, {("eval_kwargs", "n"): ("trainer_kwargs", "eval_kwargs", "n")}, [])),
    ({"max_workers": 0}, ({"max_workers": 1}, {}, [])), ({"max_workers": False}, ({"max_workers": False}, {}, [])),
    ({"n-concurrent": 2}, ({"max_workers": 2}, {("max_workers",): ("n-concurrent",)}, [])),
    ({"max_workers": 1, "n_concurrent": 2}, ({"max_workers": 1}, {}, [(("n_concurrent",), "and `max_workers` say different things.")])),
    ({"max_workers": 2, "n_concurrent": 2}, ({"max_workers": 2}, {("max_workers",): ("n_concurrent",)}, [])),
    ({"seed": 3}, ({"seeds": [3]}, {("seeds", 0): ("seed",), ("seeds",): ("seed",)}, [])),
    ({"seed": 3, "seeds": [3]}, ({"seeds": [3]}, {("seeds", 0): ("seed",), ("seeds",): ("seed",)}, [])),
    ({"seed": 3, "seeds": [4]}, ({"seeds": [3]}, {("seeds", 0): ("seed",), ("seeds",): ("seed",)}, [(("seeds",),
        "and `seed` say different things.")])),
    ({"seeds": "1..3"}, ({"seeds": [1, 2, 3]}, {("seeds", 0): ("seeds",), ("seeds", 1): ("seeds",), ("seeds", 2): ("seeds",)}, [])),
    ({"seeds": ["1..2", 5, "x"]}, ({"seeds": [1, 2, 5, "x"]}, {("seeds", 0): ("seeds", 0), ("seeds", 1): ("seeds", 0), ("seeds", 2):
        ("seeds", 1), ("seeds", 3): ("seeds", 2)}, [])),
    ({"seeds": ["1..3", 2]}, ({"seeds": [1, 2, 3]}, {("seeds", 0): ("seeds", 0), ("seeds", 1): ("seeds", 0), ("seeds", 2): ("seeds",
        0)}, [(("seeds", 1), "holds seed 2, which `seeds[0]` holds, too.")])),
    ({"seeds": [2, "2..3"]}, ({"seeds": [2, 3]}, {("seeds", 0): ("seeds", 0), ("seeds", 1): ("seeds", 1)}, [(("seeds", 1),
        "holds seed 2, which `seeds[0]` holds, too.")])),
    ({"seeds": ["3..1"]}, ({"seeds": []}, {}, [(("seeds", 0), "counts down; `1..3` holds each seed from 1 to 3.")])),
    ({"seeds": [1, 1]}, ({"seeds": [1, 1]}, {}, [])),
    ({"seeds": ["1..2", True]}, ({"seeds": [1, 2, True]}, {("seeds", 0): ("seeds", 0), ("seeds", 1): ("seeds", 0), ("seeds", 2):
        ("seeds", 1)}, [])),
    ({"trainers": []}, ({}, {}, [])), ({"trainers": ["X"]}, ({"trainers": [{"id": "X"}]}, {("trainers", 0, "id"): ("trainers", 0)}, [])),
    ({"trainers": [{"name": "X", "threads": 2}]}, ({"trainers": [{"id": "X", "params_variants": [{"threads": 2}]}]}, {("trainers", 0,
        "id"): ("trainers", 0, "name"), ("trainers", 0, "params_variants", 0, "threads"): ("trainers", 0, "threads")}, [])),
    ({"trainers": [{"name": "X", "params": {"a": 1}}]}, ({"trainers": [{"id": "X", "params_variants": [{"a": 1}]}]}, {("trainers", 0,
        "id"): ("trainers", 0, "name"), ("trainers", 0, "params_variants", 0): ("trainers", 0, "params"), ("trainers", 0,
        "params_variants"): ("trainers", 0, "params")}, [])),
    ({"trainers": [{"id": "X", "params_variants": 3, "threads": 1}]}, ({"trainers": [{"id": "X", "params_variants": 3}]}, {}, [])),
    ({"trainers": [{"id": "X", "name": "Y"}]}, ({"trainers": [{"id": "X"}]}, {}, [(("trainers", 0, "name"),
        "and `trainers[0].id` say different things. What tables are to call it is its `label`.")])),
    ({"trainers": [{"key": "X", "trainer": "Y"}]}, ({"trainers": [{"id": "X"}]}, {("trainers", 0, "id"): ("trainers", 0, "key")},
        [(("trainers", 0, "trainer"), "and `trainers[0].key` say different things.")])),
    ({"trainers": [{"id": "X", "params_variants": [{"optimizer_kwargs": {}, "eval_kwargs": None, "a": {}}, {"optimizer_kwargs": {"b":
        1}}]}]}, ({"trainers": [{"id": "X", "params_variants": [{"a": {}}, {"optimizer_kwargs": {"b": 1}}]}]}, {}, [])),
    ({"trainers": [3]}, ({"trainers": [3]}, {}, [])), ({"tags": [1, 2.5, True, "x"]}, ({"tags": ["1", "2.5", True, "x"]}, {}, [])),
    ({"tasks": ["a:b", {"task": "c:d"}, 3]}, ({"tasks": [{"id": "a:b"}, {"id": "c:d"}, 3]}, {("tasks", 0, "id"): ("tasks", 0), ("tasks",
        1, "id"): ("tasks", 1, "task")}, [])),
    ({"llm": {"roles": {"judge": {"api_base": "u"}, "agent": 3}}}, ({"llm": {"roles": {"judge": {"base_url": "u"}, "agent": 3}}},
        {("llm", "roles", "judge", "base_url"): ("llm", "roles", "judge", "api_base")}, [])),
    ({"llm_variants": ["a", {"api_base": "u"}, 3]}, ({"llm_variants": [{"model": "a"}, {"base_url": "u"}, 3]}, {("llm_variants", 0,
        "model"): ("llm_variants", 0), ("llm_variants", 1, "base_url"): ("llm_variants", 1, "api_base")}, [])),
    ({"models": ["a"]}, ({"llm_variants": [{"model": "a"}]}, {("llm_variants",): ("models",), ("llm_variants", 0, "model"): ("models",
        0)}, [])),
    ({"runs_root": "r"}, ({"runs_dir": "r"}, {("runs_dir",): ("runs_root",)}, [])),
]  # fmt: skip
ORIGINS: list[tuple[Any, ...]] = [
    ({"seed": 3}, ("seeds", 0), ("seed",)), ({"trainers": [{"name": "X"}]}, ("trainers", 0, "id"), ("trainers", 0, "name")),
    ({"trainers": [{"params": {"a": 1}}]}, ("trainers", 0, "params_variants", 0, "a"), ("trainers", 0, "params", "a")),
    ({}, ("a", "b"), ("a", "b")),
]  # fmt: skip
LEVELS: list[tuple[Any, ...]] = [
    ((), "run"), (("tasks", 0), "task"), (("tasks", "x"), None), (("trainers", 1), "trainer"), (("llm",), "model"),
    (("llm", "roles", "j"), "model"), (("llm_variants", 0), "model"), (("llm_variants", 0, "roles", "j"), "model"), (("budget",), None),
]  # fmt: skip
BARE: list[tuple[Any, ...]] = [
    ("threads", (), True), ("threads", ("tasks", 0), False), ("foo_bar_baz", ("trainers", 0), True), ("parms", ("trainers", 0), False),
    ("a-b", (), False), ("seeds", (), False),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "found"), FORMS)
def test_every_spelling_is_brought_to_one_that_tells_where_it_was_written(raw: Any, found: Any) -> None:
    form = Canonical(raw)
    assert (form.data, form.written, [(problem.loc, problem.text) for problem in form.problems]) == found
    if not form.problems:
        assert Canonical(form.data).data == form.data


@pytest.mark.parametrize(("raw", "loc", "written"), ORIGINS)
def test_a_field_is_traced_to_what_it_was_written_as(raw: Any, loc: Any, written: Any) -> None:
    assert Canonical(raw).origin_of(loc) == written


@pytest.mark.parametrize(("loc", "level"), LEVELS)
def test_a_place_has_the_aliases_of_its_level(loc: Any, level: str | None) -> None:
    assert level_of(loc) == level


@pytest.mark.parametrize(("name", "loc", "is_one"), BARE)
def test_a_bare_setting_is_like_no_field_of_its_place(name: str, loc: Any, is_one: bool) -> None:
    assert is_bare_setting(name, loc) is is_one
