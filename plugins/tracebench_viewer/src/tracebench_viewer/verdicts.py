"""What the comparison of each run says, found beside the pages, and kept in the index for as long as a run does not change."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracebench_engine.api.verdicts import verdict_at_end
from tracebench_viewer.index import Index

MOST = 200
"""Runs of one list that are compared, the first ones."""


class Verdicts:
    """The verdicts of a folder's runs. Thread-safe; one for all sessions."""

    def __init__(self, runs_dir: Path, index: Index) -> None:
        self._runs_dir = runs_dir
        self._index = index
        self._lock = threading.Lock()
        self._wanted: dict[str, str] = {}
        self._thread: threading.Thread | None = None

    def of(self, runs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Return the verdicts that are known, by run; those of the first that have ended and are not known are found from now on."""
        known = {row["name"]: row for row in self._index.rows("select * from verdicts")}
        told = {}
        missing = {}
        for run in runs:
            kept = known.get(run["name"])
            if kept is not None and kept["stamp"] == run["stamp"]:
                told[run["name"]] = kept["sentence"]
            elif run["state"] in {"ended", "stopped"}:
                missing[run["name"]] = run["stamp"]
        with self._lock:
            self._wanted = dict([*missing.items()][:MOST])
            if self._wanted and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._find, name="verdicts", daemon=True)
                self._thread.start()
        return told

    def are_pending(self) -> bool:
        """Tell whether verdicts are being found."""
        with self._lock:
            return bool(self._wanted)

    def _find(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._thread = None
                    return
                name, stamp = next(iter(self._wanted.items()))
            sentence = verdict_at_end(self._runs_dir / name).sentence
            self._index.note_verdict(name, stamp, sentence)
            with self._lock:
                self._wanted.pop(name, None)
