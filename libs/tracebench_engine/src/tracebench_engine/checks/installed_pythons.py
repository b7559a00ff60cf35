"""Find a Python that is installed here and of a version that is asked for, on PATH or among those of pyenv, before one is downloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ASKED = "import sys, venv, ensurepip; print('.'.join(map(str, sys.version_info[:3])))"
SECONDS = 20.0
"""How long one may take to tell its version; a shim that starts nothing ends at once."""


def installed_python(wanted: str) -> str | None:
    """Return the path of an installed Python whose version satisfies a specifier such as `>=3.12`; None where there is none.

    This very Python comes first, then those on PATH, then pyenv's, newest last name first. Each tells its version itself: a name promises
    none, and one that cannot build environments (`venv`, `ensurepip`) is passed over.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - only where something is built

    fits = SpecifierSet(wanted)
    return next((path for path in _candidates() if (told := _version(path)) and fits.contains(told)), None)


def _candidates() -> Iterator[str]:
    yield sys.executable
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    folders += sorted(pyenv.glob("*/bin"), reverse=True)
    for folder in folders:
        for path in sorted(folder.glob("python3*"), reverse=True):
            if path.name.removeprefix("python3").removeprefix(".").isdigit() or path.name == "python3":
                yield str(path)


def _version(path: str) -> str:
    """Return what an interpreter says its version is; nothing where it says none."""
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter that is installed here
            [path, "-I", "-c", ASKED], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
