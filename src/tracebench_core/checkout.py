"""The checkout that the bench is installed from, and its extras: an index need not have the plugins that they bring."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join, quote, split
from typing import Any
from urllib.parse import unquote, urlsplit

from tracebench_core.forwarding import BENCH


def checkout() -> Path | None:
    """Return the folder that the core is installed from, when that is a checkout (PEP 610)."""
    try:
        text = distribution("tracebench-core").read_text("direct_url.json")
        address = urlsplit(json.loads(text or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError):
        return None
    folder = Path(unquote(address.path))
    return folder if address.scheme == "file" and folder.is_dir() else None


def is_here(name: str) -> bool:
    """Return whether a distribution is installed."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _project(project: Path) -> Mapping[str, Any]:
    try:
        return _parsed(project.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        return {}


@lru_cache(64)  # every extra asks for all of them
def _parsed(text: str) -> Mapping[str, Any]:
    told: Mapping[str, Any] = tomllib.loads(text)["project"]
    return told


def name_of(project: Path) -> str:
    """Return the distribution's name that a `pyproject.toml` gives; an empty one where it gives none."""
    return str(_project(project).get("name", ""))


def offered(project: Path, group: str) -> set[str]:
    """Return the names of the entry points that a `pyproject.toml` adds to a group."""
    return {*_project(project).get("entry-points", {}).get(group, {})}


def _requires() -> list[str]:
    try:
        return distribution(BENCH).requires or []
    except PackageNotFoundError:
        return []


def lines(extra: str) -> list[tuple[str, str, str]]:
    """Return name, extras and bounds of what an extra of the bench requires."""
    named = re.compile(rf"([\w.-]+)(\[[\w,.-]+\])?([^;]*);.*extra == ['\"]{re.escape(extra)}['\"]")
    found = filter(None, map(named.match, _requires()))
    return [(each[1], each[2] or "", each[3].strip(" ()")) for each in found]


def extras() -> list[str]:
    """Return the extras of the bench that bring a part of it."""
    named = re.compile(r"tracebench[-_.].*extra == ['\"]([\w-]+)['\"]")
    return [found[1] for line in _requires() if (found := named.match(line))]


def from_checkout(extra: str) -> str | None:
    """Return what to install for an extra of the bench in this checkout, as words of a command: an index may not have its plugins.

    None where the bench is not installed from a checkout, or no part of it is in the extra.
    """
    folder = checkout()
    if folder is None:
        return None
    homes = {name_of(project): project.parent for project in folder.glob("[lp]*s/*/pyproject.toml")}
    wanted = lines(extra)
    if not any(name in homes for name, _, _ in wanted):
        return None
    return " ".join(
        f"-e {quote(f'{homes[name]}{more}')}" if name in homes else quote(f"{name}{more}{bounds}")
        for name, more, bounds in wanted
    )


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
