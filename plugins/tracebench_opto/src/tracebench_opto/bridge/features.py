"""What the installed opto can do, read from its files: builds that call themselves by one version differ, so features are looked for."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def location() -> Path | None:
    """Return the folder of the installed package `opto`, importing nothing; None without it."""
    try:
        spec = find_spec("opto")
    except (ImportError, ValueError):
        return None
    folders = [*(spec.submodule_search_locations or [])] if spec else []
    return Path(folders[0]) if folders else None


@cache
def optimizers() -> frozenset[str]:
    """Return the names that `opto.optimizers` exports, importing nothing."""
    folder = location()
    init = folder / "optimizers" / "__init__.py" if folder else None
    if init is None or not init.is_file():
        return frozenset()
    try:
        body = ast.walk(ast.parse(init.read_text(encoding="utf-8")))
    except (SyntaxError, UnicodeDecodeError):
        return frozenset()
    return frozenset(a.asname or a.name for node in body if isinstance(node, ast.ImportFrom) for a in node.names)


@cache
def anything() -> str | None:
    """Return the module of this build that offers `optimize_anything`, importing nothing; None where it has none."""
    folder = location()
    homes = [("optimize_anything",), ("features", "optimize_anything")] if folder else []
    return next((".".join(("opto", *home)) for home in homes if folder and folder.joinpath(*home).is_dir()), None)


def has_trainers() -> bool:
    """Tell whether this build ships `opto.trainer`."""
    folder = location()
    return folder is not None and (folder / "trainer").is_dir()
