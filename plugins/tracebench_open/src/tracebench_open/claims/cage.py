"""Runs other people's programs in the sandbox, by a Python of the user's choice, each seed in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_core.specs.sandbox import Limits
from tracebench_sandbox import LocalSandbox, open_sandbox

PATIENCE = 60.0
_PREFIXES = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))"


class MissingError(UsageError):
    """The Python that was given lacks a library, so that what follows from it cannot be asked."""


class Cage:
    """Programs, files and a seed in; data out. `say` is told of every process that ended."""

    def __init__(self, python: Path | None = None, *, say: Callable[[str], None] = lambda _: None) -> None:
        self._python, self._say = str(python or sys.executable), say
        self._sandbox: LocalSandbox | None = None

    def run(
        self, driver: str, given: Mapping[str, str], argv: Sequence[object] = (), *, seed: int, seconds: float = 300.0
    ) -> dict[str, Any]:
        """Return what a driver of `caged` prints as its last line; hashes, `random` and numpy start from the seed.

        Raises:
            MissingError: a library is not installed there.
            TraceBenchError: the program failed or took too long.
        """
        program = (files(__package__) / "caged" / f"{driver}.py").read_text(encoding="utf-8")
        words = ["/usr/bin/env", f"PYTHONHASHSEED={seed}", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", self._python]
        done = self._open().command(
            [*words, "-P", "-B", "-s", "driver.py", str(seed), *map(str, argv)],
            files={**given, "driver.py": program},
            limits=Limits(seconds=seconds, memory_mb=4096, patience=8),
        )
        value = done.value or {}
        if done.status != "ok" or value.get("returncode"):
            lines = (value.get("stderr") or done.error or done.status).strip().splitlines()
            if lines and lines[-1].startswith("ModuleNotFoundError"):
                raise MissingError(f"`{self._python}` lacks a library: {lines[-1]}.", hint="--python FILE")
            raise TraceBenchError(f"`{driver}` with seed {seed} ended as {done.status}: {' '.join(lines[-1:])[:300]}")
        self._say(f"{driver}, seed {seed}")
        told: dict[str, Any] = json.loads(value["stdout"].strip().splitlines()[-1])
        return told

    def close(self) -> None:
        """End the sandbox. Idempotent."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def __enter__(self) -> Cage:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    def _open(self) -> LocalSandbox:
        if self._sandbox is None:
            try:
                told = subprocess.run(  # noqa: S603 - the Python that the user names
                    [self._python, "-I", "-c", _PREFIXES], capture_output=True, text=True, timeout=PATIENCE, check=True
                )
                prefixes: list[str] = json.loads(told.stdout)
            except (OSError, subprocess.SubprocessError, ValueError) as err:
                raise UsageError(f"`{self._python}` is no Python that runs: {err}.", hint="--python FILE") from err
            self._sandbox = open_sandbox(require="strong", readable=[Path(p) for p in dict.fromkeys(prefixes)])
        return self._sandbox
