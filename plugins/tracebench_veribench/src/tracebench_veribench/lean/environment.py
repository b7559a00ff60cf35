"""Finds a Lean, once per run: a Kimina server, a Lake project, the REPL, or `lean` on PATH, in this order."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.contracts import EnvironmentContext
from tracebench_core.errors import MissingRequirementError
from tracebench_veribench.lean.checkers.command import Bounds, LeanCommand, Repl
from tracebench_veribench.lean.checkers.kimina import Kimina
from tracebench_veribench.lean.checkers.protocol import LeanChecker

INSTALL = "install Lean with elan (https://lean-lang.org/install) so that `lean` is on PATH, or set LEAN_PROJECT or KIMINA_URL"


class LeanEnvironment:
    """Hands out how Lean is asked here, as data."""

    def __init__(
        self, *, kimina_url: str = "", project: str = "", repl: str = "", seconds: float = 120.0, memory_mb: int = 6144
    ) -> None:
        self._kimina_url = kimina_url or os.environ.get("KIMINA_URL", "")
        self._project = project or os.environ.get("LEAN_PROJECT", "")
        self._repl = repl or os.environ.get("LEAN_REPL", "")
        self._limits = {"seconds": seconds, "memory_mb": memory_mb}

    def open(self, context: EnvironmentContext) -> dict[str, Any]:
        """Return `kind`, `version`, the limits, and `argv` or `url`."""
        if self._kimina_url:
            return {"kind": "kimina", "url": self._kimina_url, "version": "of the server", **self._limits}
        if self._project:
            return self._of_project(Path(self._project).expanduser())
        if self._repl and (place := shutil.which(self._repl)):
            return {"kind": "repl", "argv": [place], "version": "of the REPL", **self._limits}
        if place := shutil.which("lean"):
            real = _real(place) or place
            return {"kind": "lean", "argv": [real], "version": _version([real]), **self._limits}
        raise MissingRequirementError("no Lean was found", hint=INSTALL)

    def close(self) -> None:
        """Do nothing: nothing stays open."""

    def _of_project(self, project: Path) -> dict[str, Any]:
        lake = shutil.which("lake")
        if lake is None or not project.is_dir():
            raise MissingRequirementError(f"no Lake project can be used at `{project}`", hint=INSTALL)
        lean_path = subprocess.run(  # noqa: S603
            [lake, "env", "printenv", "LEAN_PATH"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        ).stdout.strip()
        if not lean_path:
            raise MissingRequirementError(f"`lake env` fails in `{project}`", hint=f"cd {project} && lake build")
        lean = _real(lake, "env", "lean", cwd=project) or shutil.which("lean")
        if lean is None:
            raise MissingRequirementError(f"the Lake project at `{project}` has no `lean`", hint=INSTALL)
        argv = ["env", f"LEAN_PATH={lean_path}", lean]
        return {"kind": "lake", "argv": argv, "version": _version([lean]), **self._limits}


def build_checker(handle: Mapping[str, Any]) -> LeanChecker:
    """Return the checker that a handle describes."""
    if handle["kind"] == "kimina":
        return Kimina(handle["url"], handle["seconds"])
    bounds = Bounds(handle["seconds"], handle["memory_mb"])
    return (Repl if handle["kind"] == "repl" else LeanCommand)(tuple(handle["argv"]), bounds)


def _real(*lean: str, cwd: Path | None = None) -> str | None:
    """Return the tool chain's own `lean`: elan's is a shim that picks one by the user's home, which a box does not see."""
    argv = [*lean, "--print-prefix"]
    said = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    place = Path(said.stdout.strip(), "bin", "lean")
    return str(place) if said.returncode == 0 and said.stdout.strip() and place.is_file() else None


def _version(argv: list[str]) -> str:
    said = subprocess.run([*argv, "--version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    return said.stdout.strip().split("\n")[0] or "unknown"
