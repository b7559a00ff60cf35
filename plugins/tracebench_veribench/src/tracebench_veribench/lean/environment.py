"""Finds a Lean, once per run: that of a Lake project, else `lean` on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tracebench_core.contracts import EnvironmentContext
from tracebench_core.errors import MissingRequirementError, quoted

INSTALL = "install Lean with elan (https://lean-lang.org/install) so that `lean` is on PATH, or set LEAN_PROJECT"


class LeanEnvironment:
    """Hands out how Lean is asked here, as the fields of `checker.Lean`."""

    def __init__(self, *, project: str = "", seconds: float = 120.0, memory_mb: int = 6144) -> None:
        self._project = project or os.environ.get("LEAN_PROJECT", "")
        self._limits = {"seconds": seconds, "memory_mb": memory_mb}

    def open(self, context: EnvironmentContext) -> dict[str, Any]:
        """Return the command, its version, its libraries and the limits."""
        if self._project:
            return self._of_project(Path(self._project).expanduser())
        if place := shutil.which("lean"):
            real = _real(place) or place
            return {"lean": real, "version": _version(real), **self._limits}
        raise MissingRequirementError("no Lean was found", hint=INSTALL)

    def close(self) -> None:
        """Do nothing: nothing stays open."""

    def _of_project(self, project: Path) -> dict[str, Any]:
        lake = shutil.which("lake")
        if lake is None or not project.is_dir():
            raise MissingRequirementError(f"no Lake project can be used at `{project}`", hint=INSTALL)
        libraries = subprocess.run(  # noqa: S603
            [lake, "env", "printenv", "LEAN_PATH"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        ).stdout.strip()
        if not libraries:
            raise MissingRequirementError(
                f"`lake env` fails in `{project}`", hint=f"cd {quoted(project)} && lake build"
            )
        lean = _real(lake, "env", "lean", cwd=project) or shutil.which("lean")
        if lean is None:
            raise MissingRequirementError(f"the Lake project at `{project}` has no `lean`", hint=INSTALL)
        return {"lean": lean, "version": _version(lean), "path": libraries, **self._limits}


def _real(*lean: str, cwd: Path | None = None) -> str | None:
    """Return the tool chain's own `lean`: elan's is a shim that picks one by the user's home, which a box does not see."""
    argv = [*lean, "--print-prefix"]
    said = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    place = Path(said.stdout.strip(), "bin", "lean")
    return str(place) if said.returncode == 0 and said.stdout.strip() and place.is_file() else None


def _version(lean: str) -> str:
    said = subprocess.run([lean, "--version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    return said.stdout.strip().split("\n")[0] or "unknown"
