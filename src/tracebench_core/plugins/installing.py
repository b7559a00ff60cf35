"""How a plugin that is not there is installed: a command that works when it is typed."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tracebench_core.errors import quoted
from tracebench_core.forwarding import BENCH
from tracebench_core.plugins.discovery import CORE, GROUP


def install_hint(plugin: str) -> str:
    """Return the command that installs a plugin, from this checkout or as an extra of the bench; else the one that lists plugins."""
    checkout = _checkout()
    if checkout is not None:
        for project in sorted(checkout.glob("plugins/*/pyproject.toml")):
            if plugin in _offered(project):
                return f"pip install -e {quoted(project.parent)}"
    extras = _extras()
    found = next((e for e in extras if e.replace("-", "_") == plugin.replace("-", "_")), None)
    return f'pip install "{BENCH}[{found}]"' if found is not None else "trace-bench plugins"


def _checkout() -> Path | None:
    """Return the folder that the core is installed from, when that is a checkout (PEP 610)."""
    try:
        text = distribution(CORE).read_text("direct_url.json")
        address = urlsplit(json.loads(text or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError):
        return None
    folder = Path(unquote(address.path))
    return folder if address.scheme == "file" and folder.is_dir() else None


def _offered(project: Path) -> set[str]:
    try:
        points = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
    except (OSError, ValueError, KeyError):
        return set()
    return {*points}


def _extras() -> list[str]:
    try:
        lines = distribution(BENCH).requires or []
    except PackageNotFoundError:
        return []
    named = re.compile(r"tracebench[-_.].*extra == ['\"]([\w-]+)['\"]")
    return [found[1] for line in lines if (found := named.match(line))]
