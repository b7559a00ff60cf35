"""Secrets in configs are told by the name of their field, never repeated, and nothing else is taken for one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracebench_core.errors import ConfigError
from tracebench_engine.config import load_config, parse_config
from tracebench_engine.config.problems import KEY

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
