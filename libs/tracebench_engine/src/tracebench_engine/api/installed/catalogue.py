"""What every listing prints: the catalogue of all plugins as plain data, taken from the last listing where that still holds."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tracebench_core.plugins.interpreters import READY, pythons_folder

if TYPE_CHECKING:
    from tracebench_core.plugins.catalog import Catalog, Kind
    from tracebench_core.specs import Component, SuiteSpec, TaskSpec

Row = Mapping[str, Any]
TASK_FIELDS = ("title", "description", "groups", "tags", "metric", "direction", "licence", "self_reported")
PARTS: tuple[Kind, ...] = ("trainer", "optimizer", "guide", "logger")
"""The kinds that have a list of their own."""


def read_catalogue(root: Path | None = None) -> dict[str, Any]:
    """Return `suites`, `tasks` and the kinds of PARTS, each a list of rows with an `id`; of what is excluded only parts are in it.

    A plugin that fails to load is told of each time, so nothing is kept then; nor is what depends on a folder of the user's.
    """
    kept = DocumentCache("catalogue")
    if root is None and (found := kept.read()) is not None:
        listed: dict[str, Any] = found
        return listed
    readings = Readings()
    from tracebench_engine.builtin.hosting import open_host  # noqa: PLC0415 - what was kept needs none

    host = open_host(root=root)
    document = describe_catalogue(host.catalog())
    if root is None and all(record.status in {"loaded", "disabled"} for record in host.records.values()):
        kept.write(document, readings)
    return document


def describe_catalogue(catalog: Catalog) -> dict[str, Any]:
    """Return a catalogue as plain data."""
    tasks = [
        {"id": id_, **_needs(spec), **spec.model_dump(mode="json", include={*TASK_FIELDS})}
        for id_, spec in catalog.tasks.items()
        if id_ not in catalog.excluded
    ]
    counts = dict.fromkeys(catalog.suites, 0)
    for task in tasks:
        suite = task["id"].partition(":")[0]
        counts[suite] = counts.get(suite, 0) + 1
    document: dict[str, Any] = {
        "tasks": tasks,
        "suites": [{"name": name, "tasks": n, **_suite(catalog.suites.get(name))} for name, n in counts.items()],
    }
    for kind in PARTS:
        document[kind] = [
            {"id": name, "title": spec.title, "excluded": catalog.excluded.get(name, ""), **_needs(spec)}
            for name, spec in sorted(catalog.components[kind].items())
        ]
    return document


def unavailable(row: Row) -> str:
    """Return why a row's task or part cannot run on this machine, looked up now; nothing where it can."""
    from tracebench_core.plugins.requirements import why_unavailable  # noqa: PLC0415 - as above

    requirements: list[Any] = [SimpleNamespace(**each) for each in row["requires"]]
    return why_unavailable(row["broken"], requirements)


def _suite(spec: SuiteSpec | None) -> dict[str, Any]:
    return {"title": "", "aliases": []} if spec is None else spec.model_dump(mode="json")


def _needs(spec: TaskSpec | Component) -> dict[str, Any]:
    return spec.model_dump(mode="json", include={"requires", "broken"})


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
