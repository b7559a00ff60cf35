"""The environment that `uv tool install` made: what it was asked to hold, and the command that has it hold more."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from shlex import join, split
from typing import Any

RECEIPT = "uv-receipt.toml"
"""Where `uv` keeps, in the environment, what was asked for."""


def ask_for_more(words: str, *, uv: str) -> str | None:
    """Return the command that installs the tool with more, given as to `pip install`: what came another way is lost at `uv tool upgrade`.

    None where `uv` made no tool of this environment, and for options of `pip` that this command has no like of.
    """
    try:
        tool = tomllib.loads((Path(sys.prefix) / RECEIPT).read_text(encoding="utf-8"))["tool"]
        first, *others = map(_requirement, tool["requirements"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    wanted = [word for word in split(words) if word != "-e"]
    if any(word.startswith("-") for word in wanted):
        return None
    python = ["--python", tool["python"]] if "python" in tool else []
    links = [word for found in tool.get("options", {}).get("find-links", ()) for word in ("--find-links", str(found))]
    more = [word for each in dict.fromkeys([*others, *wanted]) for word in ("--with", each)]
    return join([uv, "tool", "install", *python, *links, first, *more])


def _requirement(told: Mapping[str, Any]) -> str:
    extras = f"[{','.join(told['extras'])}]" if told.get("extras") else ""
    local = next((str(told[kind]) for kind in ("directory", "editable", "path") if told.get(kind)), "")
    if local:
        return f"{local}{extras}"
    far = told.get("url") or (f"git+{told['git']}" if "git" in told else "")
    return f"{told['name']}{extras}{f' @ {far}' if far else told.get('specifier', '')}"
