"""A model's name that nobody can have meant is refused before anything runs, with the name that was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tracebench_core.errors import ConfigError, typed
from tracebench_core.plugins.installing import install_hint
from tracebench_engine.api.configs import parse_config
from tracebench_engine.api.installed.hosting import open_host
from tracebench_engine.cli.app import app
from tracebench_engine.matrix.providers import refuse_unknown

BLANKS = "without blanks around it"
REFUSED = [
    ({"model": ""}, BLANKS),
    ({"model": " "}, BLANKS),
    ({"model": "openai/"}, BLANKS),
    ({"model": "/"}, BLANKS),
    ({"model": "openai/ gpt-4o"}, BLANKS),
    ({"model": "openai /gpt-4o"}, BLANKS),
    ({"model": " openai/gpt-4o"}, BLANKS),
    ({"model": "gpt-4o\n"}, BLANKS),
    ({"model": "gpt-4o", "provider": "openai "}, BLANKS),
    ({"model": "Openai/gpt-4o"}, "Did you mean `openai`?"),
    ({"model": "gpt-4o", "provider": "OpenAI"}, "Did you mean `openai`?"),
    ({"model": "antropic/claude"}, "Did you mean `anthropic`?"),
    ({"model": "/gpt-4o"}, "is no provider that is known"),
    ({"model": "openai/openai/gpt-4o"}, "names its provider twice"),
    ({"model": "anthropic/anthropic/claude"}, "names its provider twice"),
]
TAKEN = [
    {"model": "openrouter/openrouter/auto"},
    {"model": "openai/openai/gpt-oss-20b", "base_url": "http://127.0.0.1:9/v1"},
    {"model": "groq/openai/gpt-oss-20b"},
    {"model": "gpt-4o"},
]


LITELLM = """
import pathlib
pathlib.Path(__file__).with_name("asked").touch()
def validate_environment(**question):
    return {"missing_keys": []}
"""
"""It takes 4 s of a processor to import the real one; what that says is asked in `test_doctor.py`."""


def was_asked(folder: Path) -> bool:
    """Tell whether litellm was asked what a model needs."""
    return (folder / "site" / "asked").exists()


def validate(folder: Path, llm: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Return the exit code and the words of `validate`, an error's included."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY"):
        monkeypatch.setenv(name, "sk-0123456789")
    (folder / "site").mkdir()
    (folder / "site" / "litellm.py").write_text(LITELLM)
    monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
    config = folder / "c.json"
    config.write_text(json.dumps({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]}))
    done = CliRunner().invoke(app, ["validate", "--config", str(config)])
    return done.exit_code, f"{done.output} {done.exception or ''}"


@pytest.mark.parametrize(("llm", "words"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_name_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: dict[str, Any], words: str) -> None:
    code, told = validate(tmp_path, llm, monkeypatch)
    assert code != 0, told
    assert words in " ".join(told.split())
    assert not was_asked(tmp_path)


@pytest.mark.parametrize("llm", TAKEN, ids=lambda value: str(value)[:60])
def test_a_name_that_looks_odd_and_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: dict[str, Any]) -> None:
    code, told = validate(tmp_path, llm, monkeypatch)
    assert code == 0, told
    assert was_asked(tmp_path) == ("base_url" not in llm and "openrouter" not in llm["model"])


def test_a_provider_whose_plugin_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_PLUGINS", "internal")
    host = open_host()
    host.records.pop("local", None)  # it is installed here, and left out
    config = parse_config({"mode": "real", "llm": {"model": "local/smollm2-135m"}, "tasks": ["internal:numeric_param"]})
    with pytest.raises(ConfigError, match="The provider `local` comes with a plugin that is not installed") as caught:
        refuse_unknown(config, host)
    assert caught.value.hint == typed(install_hint("local"))
