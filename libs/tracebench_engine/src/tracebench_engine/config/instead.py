"""What people write where a config has words or places of its own: `mode: live`, `sandbox: docker`, `llm.model: [a, b]`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tracebench_core.specs.models import LLMConfig
from tracebench_engine.config.problems import Loc

LONGEST = 200
"""Letters of a line that is shown."""
_OFF = ("false", "no", "off", "none", "0")
_ON = ("true", "yes", "on", "1")
_REAL = ("live", "online", "prod", "production", "api", "llm", "openai", "anthropic", "gemini")
_STUB = ("test", "dry", "dry-run", "dry_run", "dryrun", "mock", "fake", "offline", "dummy", "none")
_REPLAY = ("recorded", "recording", "playback", "cassette")
_CHOICES: dict[Loc, dict[str, str]] = {
    ("mode",): {**dict.fromkeys(_REAL, "real"), **dict.fromkeys(_STUB, "stub"), **dict.fromkeys(_REPLAY, "replay")},
    ("resume",): {**dict.fromkeys(_ON, "auto"), **dict.fromkeys((*_OFF, "force", "all"), "none"), "retry": "failed"},
    ("share",): {**dict.fromkeys(_OFF, "private"), **dict.fromkeys((*_ON, "public", "all", "everybody"), "world")},
    ("llm", "cache"): {**dict.fromkeys(_ON, "run"), **dict.fromkeys((*_OFF, "never"), "off"), "global": "shared"},
    ("sandbox", "require"): {**dict.fromkeys(_OFF, "process"), **dict.fromkeys(_ON, "auto"), "landlock": "strong"},
}
"""Words for a choice, by the choice that has this meaning here."""
_UNPROTECTED = "runs code of models unprotected where nothing better is there"
_OWN = "isolates candidates with this machine's own means: there is no container to choose"
_HOST = re.compile(r"[\w.-]+(:[0-9]+)?(/\S*)?")
_VARIABLE = re.compile(r"\$?\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?")
_KEY = ("key", "api_key_name", "key_env", "api_key_variable", "key_name")
_PLAIN = re.compile(r"[A-Za-z][-./:\w]*")
_ROLES = ("optimizer", "agent", "judge")


class Instead(NamedTuple):
    """The value that works in its place, and what to say beside it."""

    text: str
    words: str = ""


def value_instead(loc: Loc, value: Any) -> Instead | None:
    """Return what works at `loc` in place of a value that it does not take; None where nothing is likely."""
    plain = str(value).strip().casefold() if isinstance(value, str | int | float) else ""
    if loc in _CHOICES:
        found = _CHOICES[loc].get(plain)
        return None if found is None else Instead(found)
    if loc == ("sandbox",) and plain:
        return _sandbox(plain)
    if loc == ("retries",) and type(value) is int and value >= 0:
        return Instead(f"{{failed: {value}}}")
    if loc[-1:] == ("base_url",) and isinstance(value, str) and "." in value + "." and _HOST.fullmatch(value):
        local = value.startswith(("127.", "localhost"))
        return Instead(f"{'http' if local else 'https'}://{value}")
    if loc == ("run_id",) and isinstance(value, str) and (name := re.sub(r"[^\w.-]+", "-", value).strip("-.")):
        return Instead(name)
    return None


def place_instead(loc: Loc, value: Any) -> str:
    """Return in a sentence where a value belongs that is written at another place; empty when nothing is likely."""
    name = str(loc[-1])
    if loc[:1] == ("llm",) and len(loc) == 2:  # noqa: PLR2004 - the place and the field in it
        if name in {"model", "models"} and isinstance(value, list) and all(isinstance(each, str) for each in value):
            return _said("Several models are an axis beside `llm`:", f"llm_variants: [{', '.join(value)}]")
        if name in _ROLES and isinstance(value, dict):
            return _said("It is written", f"roles: {{{name}: {{…}}}}")
        if name in _KEY:
            known = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
            return _said("It is written", f"api_key_env: {known[1] if known else 'NAME'}")
    return ""


def of_models(name: str, value: Any) -> str:
    """Return in a sentence how a field of models is written that stands outside of `llm`; empty when it is none."""
    if name not in LLMConfig.model_fields:
        return ""
    taken = value_instead(("llm", name), value)
    shown = taken.text if taken is not None else str(value).lower() if isinstance(value, bool) else str(value)
    plain = isinstance(value, bool | int | float) or _PLAIN.fullmatch(shown)
    return _said("Of models it is written", f"llm: {{{name}: {shown if plain else '…'}}}")


def _sandbox(plain: str) -> Instead | None:
    if plain in {*_OFF, "process", "unprotected"}:
        return Instead("{require: process}", _UNPROTECTED)
    if plain in {*_ON, "auto", "strong", "landlock"}:
        return Instead(f"{{require: {'auto' if plain in {*_ON, 'auto'} else 'strong'}}}")
    return Instead("{require: auto}", _OWN) if plain in {"docker", "podman", "container", "oci"} else None


def _said(words: str, line: str) -> str:
    return f" {words} `{line}`." if len(line) <= LONGEST else ""
