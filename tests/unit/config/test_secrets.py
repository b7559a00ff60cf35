"""Secrets in configs are told by the name of their field, never repeated, and nothing else is taken for one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine.config import load_config, parse_config
from tracebench_engine.config.problems import KEY, dotted, render
from tracebench_engine.config.secrets import cut, instead, is_secret_name, secret_of_line, secrets_in, without_secrets

SECRET = "Hunter2OfMine"
VALUE = r"api_key: ('[^']*'|\$\{\w+\}|[$\w]+)"


def refused(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config({"tasks": ["a:b"], "trainers": ["X"]}, overrides=overrides)
    return f"{caught.value}\n{caught.value.hint}"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("llm.api_key", SECRET, "`api_key_env: NAME`"),
        ("llm.api_key", SECRET.upper(), "`api_key_env: NAME`"),
        ("api_key", SECRET, "`llm: {api_key_env: NAME}`"),
        ("api_key", "12345678", "is a secret"),
        ("llm", f"{{api_key: {SECRET}}}", "`llm.api_key` is a secret"),
        ("llm", f"{{api_key: {SECRET}", "not valid YAML"),
        ("llm.roles", f"{{judge: {{api_key: {SECRET}}}}}", "`llm.roles.judge.api_key` is a secret"),
        ("llm_variants", f"[{{model: a, api_key: {SECRET}}}]", "`llm_variants[0].api_key` is a secret"),
        ("llm.modle", f"{{password: {SECRET}}}", "is a secret"),
        ("trainers[0].params.password", SECRET, "as a variable of the shell"),
        ("eval_kwargs", f"[OPENAI_API_KEY={SECRET}]", "looks like a secret key"),
        ("a..api_key", SECRET, "is not the name of a field"),
        ("max_workers", f"password {SECRET}", "a whole number"),
    ],
)
def test_an_override_with_a_secret_is_refused_and_not_repeated(path: str, value: str, says: str) -> None:
    said = refused(f"{path}={value}")
    assert says in said
    assert value.strip("{}[]").rpartition(" ")[2].rpartition("=")[2].casefold() not in said.casefold()


def test_a_word_in_braces_that_a_job_fills_in_is_no_secret() -> None:
    entry = {"id": "X", "params": {"env": {"MY_AGENT_KEY": "{key}"}}}
    config = parse_config({"tasks": ["a:b"], "trainers": [entry]})
    assert config.trainers[0].params_variants[0]["env"] == {"MY_AGENT_KEY": "{key}"}
    assert "is a secret" in refused(f"trainers[0].params.env.MY_AGENT_KEY={{{SECRET}}}")


def test_an_override_without_an_equals_sign_is_not_repeated_either() -> None:
    assert SECRET not in refused(f"api_key:{SECRET}")


@pytest.mark.parametrize("override", ["llm.extra_headers.x-api-key=MY_KEY", "llm.extra_headers={x-api-key: MY_KEY}"])
def test_headers_name_variables_by_an_override_too(override: str) -> None:
    assert parse_config({"tasks": ["a:b"]}, overrides=[override]).llm.extra_headers == {"x-api-key": "MY_KEY"}


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("api_key: OPENAI_API_KEY", "llm: {api_key_env: OPENAI_API_KEY}"),
        ("api_key: ${MINE}", "llm: {api_key_env: MINE}"),
        ("llm: {api_key: $OPENAI_API_KEY}", "api_key_env: OPENAI_API_KEY"),
        ("llm: {roles: {judge: {api_key: 'env:MINE'}}}", "api_key_env: MINE"),
        ("llm_variants: [{model: a, api_key: '${MINE}'}]", "api_key_env: MINE"),
    ],
)
def test_the_line_that_is_told_works_where_it_is_told(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(f"`{field}`")):
        load_config(path)
    path.write_text(re.sub(VALUE, field, text))
    load_config(path)


def test_names_and_prose_are_no_secrets() -> None:
    held = {
        "MONKEY": 1,
        "TURKEY": "roasted",
        "n_tokens": 5,
        "note": "the bearer straightforwardly-told of this",
        "models": ["pk-resnet18classifier-small", "rk-4thorderrungekutta45", "xai-explainable2022benchmark"],
        "secretary": "an optimal stopping problem",
        "api_key": None,
        "password": "",
    }
    assert parse_config({"tasks": ["a:b"], "eval_kwargs": held}).eval_kwargs == held


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdef0123456789",
        f"sk-{'aB3dE6gH9j' * 4}",
        f"gsk_{'aB3dE6gH9j' * 5}",
        f"xai-{'aB3dE6gH9j' * 8}",
        "rk_live_aB3dE6gH9jaB3dE6gH9j",
        "pk-lf-01234567-89ab-cdef-0123-456789abcdef",
        "Bearer aB3dE6gH9jaB3dE6",
    ],
)
def test_keys_of_providers_are_known_by_their_looks(key: str) -> None:
    assert KEY.search(key)


DOTTED: list[tuple[Any, ...]] = [
    (("a",), "a"), (("trainers", 0, "p", 1, "x"), "trainers[0].p[1].x"),
    (("llm", "prices", "gpt-4.1", "prompt"), "llm.prices[gpt-4.1].prompt"), ((), ""), ((0, "a"), "[0].a"),
]  # fmt: skip
NAMES: list[tuple[Any, ...]] = [
    ("api_key", True), ("API-KEY", True), ("OPENAI_API_KEY", True), ("apiKey", True), ("my password", True), ("tokens", False),
    ("TOKEN", True), ("n_tokens", False), ("secretary", False), ("OPENAIKEY", True), ("KEY", True), ("MONKEY", False),
    ("credential", True), ("keys", False),
]  # fmt: skip
WORDS: list[tuple[Any, ...]] = [
    ("api_key", "x", "Name its variable instead: `llm: {api_key_env: NAME}`."),
    ("api_key", "MY_KEY", "Name its variable instead: `llm: {api_key_env: MY_KEY}`."),
    ("OPENAI_API_KEY", "x", "Take the line out and set the variable in the shell: `export OPENAI_API_KEY=…`."),
    ("password", "x", "Take the line out and set it as a variable of the shell."),
    ("api_key", "x", ("llm",), "Name its variable instead: `api_key_env: NAME`."),
    ("api_key", "x", ("trainers", 0, "params_variants", 0), "Take the line out and set it as a variable of the shell."),
    ("MY_KEY", "x", ("eval_kwargs",), "Take the line out and set the variable in the shell: `export MY_KEY=…`."),
    ("token", "${MINE}", ("llm", "roles", "judge"), "Name its variable instead: `api_key_env: MINE`."),
    ("secret", "x", "Take the line out and set it as a variable of the shell."),
]  # fmt: skip
LINES: list[tuple[Any, ...]] = [
    ("api_key x", "Name its variable instead: `llm: {api_key_env: NAME}`"),
    ("  api_key x", "Name its variable instead: `api_key_env: NAME`"), ("api_key  # x", None), ("a: b", None), ("api_key:", None),
]  # fmt: skip
CUT: list[tuple[Any, ...]] = [
    ("api_key: hunter", "api_key…"), ("a: b", "a: b"), ("a sk-proj-abcdef0123456789", "a sk-…"), ("x password 'a'", "x password…"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "is_one"), NAMES)
def test_a_field_is_a_secret_by_its_name(name: str, is_one: bool) -> None:
    assert is_secret_name(name) is is_one


SK = "sk-proj-abcdef0123456789"


@pytest.mark.parametrize(
    ("raw", "places"),
    [
        ({"api_key": "x"}, [(("api_key",), ("api_key",))]), ({"api_key": ""}, []), ({"api_key": False}, []),
        ({"api_key": 0}, [(("api_key",), ("api_key",))]), ({"api_key": "{key}"}, []),
        ({"api_key": "{KEY}"}, [(("api_key",), ("api_key",))]), ({"llm": {"api_key_env": SK}}, []),
        ({"a": [SK]}, [(("a", 0), ("a", 0))]), ({"a": {SK: 1}}, [(("a", SK), ("a",))]),
        ({"a": "MY_KEY=x"}, [(("a",), ("a",))]), ({"MY_KEY: x": 1}, [(("MY_KEY: x",), ())]),
        ({"extra_headers": {"x-api-key": "V"}}, []), ({"a": "api_key=http"}, [(("a",), ("a",))]), ({"a": "KEY://x"}, []), (3, []),
    ],
)  # fmt: skip
def test_every_place_of_a_secret_is_found_and_one_in_a_name_is_told_by_what_it_stands_in(raw: Any, places: Any) -> None:
    assert [(secret.loc, secret.shown) for secret in secrets_in(raw)] == places


@pytest.mark.parametrize(("given", "words"), [(row[:-1], row[-1]) for row in WORDS])
def test_what_to_write_instead_follows_from_name_value_and_place(given: Any, words: str) -> None:
    assert instead(*given) == f"is a secret, and configs are published. {words}"


@pytest.mark.parametrize(("line", "words"), LINES)
def test_a_line_that_is_no_yaml_is_told_of_its_secret(line: str, words: str | None) -> None:
    said = secret_of_line(line)
    assert (said and said.partition("published. ")[2]) == words


@pytest.mark.parametrize(("line", "shown"), CUT)
def test_a_line_is_shown_up_to_its_secret(line: str, shown: str) -> None:
    assert cut(line) == shown


def test_a_secret_goes_and_an_item_of_a_list_keeps_its_place() -> None:
    assert without_secrets({"a": {"b": 1, "c": 2}, "d": 3}, [("a", "b")]) == {"a": {"c": 2}, "d": 3}
    assert without_secrets({"a": [{"k": 1}, {"k": 2}]}, [("a", 1, "k")]) == {"a": [{"k": 1}, {}]}
    assert without_secrets({"a": [1, 2], "b": 1}, [("a", 1), ("b",)]) == {"a": [1, 2]}


@pytest.mark.parametrize(("loc", "name"), DOTTED)
def test_a_field_is_named_as_an_override_takes_it(loc: Any, name: str) -> None:
    assert dotted(loc) == name


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"), ({}, "a mapping"), ([], "a list"), ((), "a list"), ("x" * 60, f"text `{'x' * 60}`"),
        ("x" * 61, f"text `{'x' * 60}…`"), (3, "`3`"), (True, "`true`"), (b"a", "a bytes"),
    ],
)  # fmt: skip
def test_a_value_is_shown_cut_to_a_line(value: Any, shown: str) -> None:
    assert render(value) == shown
