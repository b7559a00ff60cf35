"""An external coding agent as the proposer: a command in a folder that holds the files, with the gateway as its model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_autoresearch.edits.applying import Proposal
from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_core.contracts import Problem
from tracebench_core.errors import ProgramError
from tracebench_engine.api.agents import Silence, find_preset, spoken, start_of
from tracebench_engine.api.programs import (
    Hold,
    Streams,
    find_program,
    model_variables,
    passed,
    scratch_folder,
    start_held,
)
from tracebench_engine.api.records import open_regular

_LOOK_SECONDS = 0.5
_LOG_TAIL = 300
_MOST_BYTES, _MOST_IN_ALL = 1 << 20, 64 << 20
"""Of one file that an agent leaves, and of all."""
_PROMPT, _HYPOTHESIS = "prompt.md", "hypothesis.txt"


def run_agent(problem: Problem, settings: AutoresearchSettings, words: str, files: Mapping[str, str]) -> Proposal:
    """Let the agent work, and return the files as it left them. Its hypothesis is what it wrote to `$AGENT_NOTES/hypothesis.txt`.

    Raises:
        ProgramError: when the command cannot be started.
        UnusableEdit: when it failed, took too long, changed nothing, or left something that is no text file.
        BudgetExhausted: when the time of the job is over.
    """
    with scratch_folder("agent") as scratch:
        folder, notes = scratch / "files", scratch / "notes"
        notes.mkdir()
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="")
        (notes / _PROMPT).write_text(words, encoding="utf-8")
        _work(problem, settings, folder, notes, _command(problem, settings, folder, notes, words=words, files=files))
        left = _left(folder)
        hypothesis = _said(notes / _HYPOTHESIS)
    if left == dict(files):
        raise UnusableEdit("the agent changed nothing")
    return Proposal(" ".join(hypothesis.split()) or f"by {called(settings)}", left)


def called(settings: AutoresearchSettings) -> str:
    """Return what the agent is called."""
    return settings.agent if isinstance(settings.agent, str) else settings.agent[0]


def _is_result(path: Path, folder: Path) -> bool:
    """Say whether a path counts: tools' own folders (`.git`, `.aider…`) and caches do not."""
    parts = path.relative_to(folder).parts
    return not path.is_dir() and not any(part.startswith(".") or part == "__pycache__" for part in parts)


def _left(folder: Path) -> dict[str, str]:
    """Return the files that an agent left, by their paths."""
    found: dict[str, str] = {}
    room = _MOST_IN_ALL
    for path in sorted(path for path in folder.rglob("*") if _is_result(path, folder)):
        text = _read(path)
        if (room := room - len(text)) < 0:
            raise UnusableEdit(f"the agent left more than {_MOST_IN_ALL >> 20} MiB")
        found[path.relative_to(folder).as_posix()] = text
    return found


def _read(path: Path) -> str:
    try:
        with open_regular(path, largest=_MOST_BYTES) as file:
            return file.read().decode()
    except OSError as err:
        raise UnusableEdit(f"the agent left `{path.name}`, which is a link, no file, or too large") from err
    except UnicodeDecodeError as err:
        raise UnusableEdit(f"the agent left `{path.name}`, which is no text") from err


def _said(path: Path) -> str:
    """Return the beginning of what an agent wrote of its idea, whatever lies in its place."""
    try:
        with open_regular(path, largest=_MOST_BYTES) as file:
            return file.read().decode(errors="replace")[:_LOG_TAIL]
    except OSError:
        return ""


class _Command(NamedTuple):
    """How the agent is started."""

    name: str
    argv: Sequence[str]
    environ: Mapping[str, str]
    shown: Sequence[Path]


def _command(
    problem: Problem, settings: AutoresearchSettings, folder: Path, notes: Path, *, words: str, files: Mapping[str, str]
) -> _Command:
    if isinstance(settings.agent, str):
        home = notes.parent / "home"
        start = start_of(find_preset(settings.agent), problem, workdir=folder, home=home)
        argv = spoken(start.argv, task=words, files=sorted(files))
        return _Command(start.name, argv, {**start.environ, "HOME": str(home)}, start.shown)
    argv = [word.replace("{prompt}", str(notes / _PROMPT)) for word in settings.agent]
    named = [place for word in argv if (place := Path(word)).is_absolute() and place.is_file()]
    return _Command(settings.agent[0], argv, {}, named)


def _work(problem: Problem, settings: AutoresearchSettings, folder: Path, notes: Path, command: _Command) -> None:
    environ = {**passed(os.environ), **model_variables(problem), **command.environ, "AGENT_NOTES": str(notes)}
    first = command.argv[0]
    with tempfile.TemporaryFile() as log:
        try:
            started = find_program(first, folder, path=environ.get("PATH", os.defpath))
            process = start_held(
                problem,
                [sys.executable if first == "python" else started, *command.argv[1:]],
                _hold(settings, command, own=notes.parent),
                folder=folder,
                environ=environ,
                streams=Streams(stdin=subprocess.DEVNULL, stdout=log, stderr=log),
            )
        except OSError as err:
            raise ProgramError(f"The agent `{command.name}` cannot be started: {err.strerror}.") from err
        try:
            _wait(problem, process, settings.agent_seconds, Silence(problem, command.name, limit=None))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL))
            tail = log.read().decode(errors="replace").strip()
            raise UnusableEdit(f"the agent ended with exit code {process.returncode}: {tail}")


def _hold(settings: AutoresearchSettings, command: _Command, *, own: Path) -> Hold:
    """Return how far the command reaches; files that its words name are shown to it."""
    return Hold(
        f"{command.name} (agent)",
        network=settings.agent_network,
        files=settings.agent_files,
        own=own,
        readable=settings.agent_readable,
        copied=settings.agent_copied,
        shown=command.shown,
    )


def _wait(problem: Problem, process: subprocess.Popen[bytes], seconds: float, silence: Silence) -> None:
    end = time.monotonic() + seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
            return
        problem.budget.check_time()
        silence.look()
        if time.monotonic() > end:
            raise UnusableEdit(f"the agent was ended after {seconds:g} s")
