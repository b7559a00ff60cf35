"""Start an adapter in the library's interpreter, serve it, and translate how it ended into the engine's own words."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel

from tracebench_core.contracts import Problem
from tracebench_core.errors import MissingRequirementError, ModelError, NotApplicableError, ProgramError, UsageError
from tracebench_trainers_ext.applicability import Rule
from tracebench_trainers_ext.libraries import Library, find_interpreter
from tracebench_trainers_ext.surroundings import build_environ

ADAPTERS = Path(__file__).with_name("foreign")
"""Holds the package that runs in the other interpreter."""
GRACE = 1.0
"""Seconds that a library may go on after a cap turned it away; with the looks at the gateway, it is gone within two."""
REPORT = "ended.json"
LONGEST_REPORT = 1 << 20


class ForeignTrainer:
    """A trainer whose algorithm is a library's own, in a process of its own."""

    def __init__(
        self,
        adapter: str,
        library: Library | None,
        settings: BaseModel,
        *,
        rules: Sequence[Rule] = (),
    ) -> None:
        self.settings = settings
        self._adapter = adapter
        self._library = library
        self._rules = rules

    def train(self, problem: Problem) -> None:
        """Train by the library.

        Raises:
            NotApplicableError: before anything is spent, when it cannot serve this task.
            MissingRequirementError: when the library is not here, or in a version that was never tried.
            ModelError: when the model could not be asked.
            UsageError: before anything is spent, when a setting of the library is none of its own.
            ProgramError: when the library failed, or ended without a word.
        """
        from tracebench_engine.api import Program, run_program  # noqa: PLC0415 - in the job's process alone

        for rule in self._rules:
            if why := rule(problem):
                raise NotApplicableError(why)
        interpreter = find_interpreter(self._library, getattr(self.settings, "python", None))
        with tempfile.TemporaryDirectory(prefix="foreign-", dir=Path.cwd(), ignore_cleanup_errors=True) as folder:
            argv = (interpreter, "-m", "tracebench_adapters", self._adapter)
            own = build_environ(Path(folder), os.environ, adapters=ADAPTERS)
            own |= self._order(self._prepare(problem, Path(folder)), Path(folder))
            program = Program(
                argv, folder=Path(folder), environ={}, own=own, name=self._name, grace=GRACE, **self._held()
            )
            code = run_program(problem, program)
            if problem.budget.refusal() is None:
                self._judge(code, Path(folder) / REPORT)

    @property
    def _name(self) -> str:
        return self._library.distribution if self._library else self._adapter

    def _held(self) -> dict[str, Any]:
        """Return what the settings say of how the process is held; what a command names is shown to it."""
        said = {
            name: getattr(self.settings, name)
            for name in ("network", "files", "readable", "copied")
            if hasattr(self.settings, name)
        }
        return said | {"shown": (ADAPTERS, *_named(getattr(self.settings, "argv", ())))}

    def _prepare(self, problem: Problem, folder: Path) -> dict[str, Any]:
        """Make ready what the adapter needs in its folder, and return the settings for it."""
        return self.settings.model_dump(mode="json")

    def _order(self, settings: Mapping[str, Any], folder: Path) -> dict[str, str]:
        library = self._library
        bounds = [library.distribution, library.low, library.high] if library else None
        order = {"settings": settings, "library": bounds, "report": str(folder / REPORT)}
        return {"TRACEBENCH_ORDER": json.dumps(order)}

    def _judge(self, code: int, path: Path) -> None:
        """Return when the adapter said that it was done; raise what it says else."""
        report = _read(path)
        end, words = report.get("end"), str(report.get("words", ""))
        if end == "done" and code == 0:
            return
        if end == "model":
            raise ModelError(words, kind="server")
        if end == "not applicable":
            raise NotApplicableError(words)
        if end == "settings":
            raise UsageError(words)
        if end == "library":
            raise MissingRequirementError(words, hint=self._library.hint if self._library else "")
        self._blame(code, words)

    def _blame(self, code: int, words: str) -> NoReturn:
        how = words or f"it ended with code {code} and without a word"
        raise ProgramError(f"`{self._name}` failed: {how}; what it wrote is in the job's `stdout.log`.")


def _named(argv: Sequence[str]) -> Iterator[Path]:
    """Yield what an agent's command needs: its program, with what belongs to it, and the files that it names."""
    from tracebench_engine.api.programs import belongings  # noqa: PLC0415 - in the job's process alone

    if argv and (program := shutil.which(argv[0])) is not None:
        yield from belongings(Path(program))
    for word in argv:
        if (place := Path(word)).is_absolute() and place.is_file():
            yield place


def _read(path: Path) -> Mapping[str, Any]:
    try:
        fd = os.open(
            path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )  # the program may have put a link or a pipe there
        with os.fdopen(fd) as file:
            report = json.loads(file.read(LONGEST_REPORT))
    except (OSError, ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}
