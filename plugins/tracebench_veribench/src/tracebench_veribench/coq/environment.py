"""Finds the Coq of this machine, once per run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tracebench_core.contracts import EnvironmentContext
from tracebench_core.errors import MissingRequirementError


class CoqEnvironment:
    """Hands out where `coqc`, `coqtop` and `coqchk` are, and their version."""

    def __init__(self, *, seconds: float = 40.0, memory_mb: int = 2048) -> None:
        self._limits = {"seconds": seconds, "memory_mb": memory_mb}

    def open(self, context: EnvironmentContext) -> dict[str, Any]:
        """Return the fields of `checker.Coq`."""
        places = {name: shutil.which(name) for name in ("coqc", "coqtop")}
        if missing := [name for name, place in places.items() if place is None]:
            raise MissingRequirementError(f"`{missing[0]}` is not on PATH", hint="apt-get install coq")
        found = {"coqc": places["coqc"], "coqtop": places["coqtop"], "version": _version(str(places["coqc"]))}
        return found | {"coqchk": shutil.which("coqchk") or "", "findlib": _findlib()} | self._limits

    def close(self) -> None:
        """Do nothing: nothing stays open."""


def _version(coqc: str) -> str:
    said = subprocess.run([coqc, "--print-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    return said.stdout.split()[0] if said.stdout else "unknown"


def _findlib() -> str:
    place = Path(os.environ.get("OCAMLFIND_CONF", "/etc/ocamlfind.conf"))
    return place.read_text(encoding="utf-8") if place.is_file() else ""
