"""A document that is kept for the next call of the command, for as long as nothing has changed that was read to make it."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracebench_core.plugins.interpreters import READY, pythons_folder

_PROCESS_START = 2_000_000_000
"""Nanoseconds: a file that changed this shortly before it was read may have been read as it was before."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")
_OF_THE_SHELL = {"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES"}
"""Variables that change from call to call, and that no plugin goes by."""
_SECONDS = 86400.0
"""How long a document is kept at most: that a path merely exists is a question that Python reports to nobody."""


class Readings:
    """Notes which files and folders this process reads, until `paths` is asked for; Python reports them to its audit hooks."""

    def __init__(self) -> None:
        self._seen: set[str] | None = set()
        self._since = time.time_ns() - _PROCESS_START
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._seen is None or event not in {"open", "os.listdir", "os.scandir"}:
            return
        path = arguments[0] if arguments[0] is not None else "."
        changed = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if isinstance(path, str | bytes | os.PathLike) and not changed:
            self._seen.add(os.fsdecode(path))

    def paths(self) -> set[str]:
        """Return what was read, the source of every module, and where modules, commands and interpreters are looked for. Note no more."""
        seen, self._seen = self._seen or set(), None
        sources = {file for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
        read = {path for path in seen if not path.endswith(".pyc") and not path.startswith(_NO_FILES)}
        prepared = pythons_folder()
        looked_in = {
            *filter(None, sys.path),
            *os.get_exec_path(),
            str(prepared),
            *map(str, prepared.glob(f"*/{READY}")),
        }
        return read | sources | looked_in

    def is_settled(self, states: Iterable[str]) -> bool:
        """Tell whether all that was read had been left alone for a while."""
        return all(int(state.partition(" ")[0] or 0) < self._since for state in states)


class DocumentCache:
    """One document in the user's cache, a file for each interpreter. What cannot be read, or not be written, is not kept."""

    def __init__(self, name: str) -> None:
        given = os.environ.get("XDG_CACHE_HOME", "")
        cache = given if os.path.isabs(given) else os.path.expanduser("~/.cache")  # noqa: PTH111, PTH117 - `~` stays where there is no home
        interpreter = hashlib.sha256(sys.executable.encode()).hexdigest()[:16]
        self._process = _process()  # now: plugins may set variables as they load
        self._file = Path(cache) / "trace-bench" / f"{name}-{interpreter}.json"

    def read(self) -> Any:
        """Return the document; None when there is none, or when anything has changed that it was made from."""
        try:
            if time.time() - self._file.stat().st_mtime > _SECONDS:
                return None
            kept = json.loads(self._file.read_bytes())
            document, files = kept["document"], kept["files"]
            same_process = kept["process"] == self._process and kept["folder"] in (None, str(Path.cwd()))
            whole = kept["digest"] == digest(document, files)
            return document if same_process and whole and all(_state(p) == s for p, s in files.items()) else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def write(self, document: Any, readings: Readings) -> None:
        """Keep a document that was made while `readings` took notes; not where a file changed only just."""
        from tracebench_runs.storage.files import write_whole  # noqa: PLC0415 - reading needs none

        paths = readings.paths()
        files = {path: _state(path) for path in sorted(paths)}
        if not readings.is_settled(files.values()):
            return
        kept = {"process": self._process, "files": files, "document": document, "digest": digest(document, files)}
        try:
            kept["folder"] = None if all(map(os.path.isabs, paths)) else str(Path.cwd())
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(kept).encode())
        except OSError:
            return


def _process() -> list[Any]:
    """Return what else a plugin may go by, besides files: the interpreter, the module path, and the variables, as one digest."""
    variables = sorted(each for each in os.environ.items() if each[0] not in _OF_THE_SHELL)
    return [sys.version, sys.path, digest(variables)]


def _state(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116 - hundreds of them, for each call
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def digest(*parts: Any) -> str:
    """Return a digest of plain data."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
