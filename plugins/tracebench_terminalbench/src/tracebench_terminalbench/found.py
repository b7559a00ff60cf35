"""Find the Harbor command and tell its version from the files beside it, without starting anything."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.errors import MissingRequirementError
from tracebench_engine.api.interpreters import find_python, has_python
from tracebench_terminalbench.program import from_start

VARIABLE = "TRACE_BENCH_HARBOR"
LOWEST, BELOW = (0, 24), (0, 27)
RANGE = "harbor>=0.24,<0.27"
INSTALL = f"uv tool install --python 3.12 '{RANGE}'   (or: trace-bench pythons create harbor)"
_SHEBANG_BYTES = 600
_PYTHON = re.compile(r"(/[^\s'\"]*/python[0-9.]*)")


@dataclass(frozen=True, slots=True)
class Harbor:
    """An installed Harbor of a version that this plugin drives."""

    command: str
    version: str
    package: str
    """The folder of its Python package."""

    def template(self, parser: str) -> Path:
        """Return the file of Terminus-2's prompt for a parser, `json` or `xml`."""
        return Path(self.package, "agents", "terminus_2", "templates", f"terminus-{parser}-plain.txt")


def find_harbor(command: str | None = None, *, environ: Mapping[str, str] | None = None) -> Harbor:
    """Return Harbor as named by `command`, by `$TRACE_BENCH_HARBOR`, as `trace-bench pythons create harbor` made it, or on PATH.

    Raises:
        MissingRequirementError: when there is none, or none of a version that this plugin drives.
    """
    environ = os.environ if environ is None else environ
    named = command or environ.get(VARIABLE)
    place = from_start(named) if named and "/" in named else named
    path = shutil.which(place, path=environ.get("PATH")) if place else None
    if named and path is None:
        raise MissingRequirementError(f"`{named}` is no command, and Terminal-Bench needs Harbor.", hint=INSTALL)
    path = path or _prepared() or shutil.which("harbor", path=environ.get("PATH"))
    if path is None:
        raise MissingRequirementError(
            f"Terminal-Bench needs the command `harbor`, and neither `${VARIABLE}` nor PATH leads to one.", hint=INSTALL
        )
    return _inspect(Path(path))


def _prepared() -> str | None:
    """Return the command beside the interpreter `harbor`, where that was built."""
    return str(Path(find_python("harbor")).with_name("harbor")) if has_python("harbor") else None


def _inspect(command: Path) -> Harbor:
    python = _interpreter(command)
    if python is None:
        raise MissingRequirementError(f"`{command}` does not look like Harbor: it is no Python script.", hint=INSTALL)
    libraries = sorted(python.parent.parent.glob("lib/python3.*/site-packages/harbor-*.dist-info"))
    if not libraries:
        old = "" if _minor(python) is None or (_minor(python) or 0) >= 12 else ", and Harbor needs Python 3.12"  # noqa: PLR2004
        raise MissingRequirementError(f"No Harbor is installed beside `{command}`{old}.", hint=INSTALL)
    info = libraries[-1]
    version = info.name.removeprefix("harbor-").removesuffix(".dist-info")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not LOWEST <= numbers < BELOW:
        raise MissingRequirementError(f"`{command}` is Harbor {version}; this plugin drives `{RANGE}`.", hint=INSTALL)
    return Harbor(command=str(command), version=version, package=str(info.parent / "harbor"))


def _interpreter(command: Path) -> Path | None:
    """Return the Python in a console script's first lines, also where a long path is wrapped into a shell command."""
    with command.open("rb") as script:
        head = script.read(_SHEBANG_BYTES).decode(errors="replace")
    found = _PYTHON.search("\n".join(head.splitlines()[:3])) if head.startswith("#!") else None
    return Path(found.group(1)) if found else None


def _minor(python: Path) -> int | None:
    folders = sorted(python.parent.parent.glob("lib/python3.*"))
    return int(folders[-1].name.removeprefix("python3.").rstrip("t")) if folders else None
