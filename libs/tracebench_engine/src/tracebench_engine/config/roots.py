"""What `--root` names: `DIR` for every suite that recognises the folder, `SUITE=DIR` for one suite."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean

_OF_ONE = re.compile(r"([A-Za-z]\w*)=(.+)", re.DOTALL)


def roots(root: Path | None, names: Collection[str]) -> Path | dict[str, Path] | None:
    """Return a folder for all plugins, or for one of `names`. A folder whose own name holds a `=` is a folder.

    Raises:
        UsageError: when no plugin has the name before the `=`.
    """
    of_one = None if root is None or root.exists() else _OF_ONE.fullmatch(str(root))
    if of_one is None:
        return root
    name, folder = of_one[1], _expanded(of_one[2])
    if name not in names:
        raise UsageError(
            f"`--root {root}` names the suite `{name}`, which is not installed.{did_you_mean(name, names)}",
            hint="trace-bench list-suites",
        )
    return {name: folder}


def absolute_root(root: Path | None) -> str | None:
    """Return what a run keeps of it, to go on from any folder."""
    of_one = None if root is None or root.exists() else _OF_ONE.fullmatch(str(root))
    if root is None or of_one is None:
        return None if root is None else str(root.resolve())
    return f"{of_one[1]}={_expanded(of_one[2]).resolve()}"


def _expanded(folder: str) -> Path:
    return Path(os.path.expanduser(folder))  # noqa: PTH111 - `Path.expanduser` raises where there is no such user
