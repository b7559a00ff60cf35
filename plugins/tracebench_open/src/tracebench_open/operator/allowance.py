"""What a person allowed to be spent, kept in a file beside the runs: set aside before a run starts, given back as its ledger allows.

All that may have been spent counts: of a run under way the whole share, of an ended one what its ledger tells, or the whole share where the
ledger does not tell. So no order of requests, no second server and no kill can spend more.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tracebench_core.errors import RunDirError, UsageError
from tracebench_engine.api.records import RunLayout, holder_of, iter_lines, load_run

NAME = "allowance.json"
LEAST = 0.0001
"""USD below which nothing is started."""


class Allowance:
    """An amount in USD and the runs that draw on it."""

    def __init__(self, folder: Path, usd: float) -> None:
        self._path = folder / NAME
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with self._locked() as file:
            kept = _read(file, self._path)
            if kept is not None and kept["usd"] != usd:
                raise UsageError(
                    f"`{self._path}` allows {kept['usd']:g} USD, of which runs have drawn; it is not changed to {usd:g} by a second start.",
                    hint="another --runs-dir, or a person removes the file",
                )
            if kept is None:
                _write(file, {"usd": usd, "shares": {}})

    def left(self) -> float:
        """Return what nobody has spent or may still spend."""
        with self._locked() as file:
            return self._left(self._kept(file))

    def told(self) -> dict[str, Any]:
        """Return the whole account."""
        with self._locked() as file:
            kept = self._kept(file)
            shares = {
                run: {"share": share, "counted": self._counted(run, share)} for run, share in kept["shares"].items()
            }
            return {"allowed_usd": kept["usd"], "left_usd": self._left(kept), "runs": shares}

    def draw(self, run_id: str, usd: float) -> float:
        """Set a share aside for a run and return it: what was asked, or what is left where that is less.

        Raises:
            UsageError: nothing is left, or the run has a share already.
        """
        with self._locked() as file:
            kept = self._kept(file)
            share = min(usd, self._left(kept))
            if run_id in kept["shares"]:
                raise UsageError(f"Run `{run_id}` has its share already.")
            if not share >= LEAST:  # nan too
                raise UsageError(f"Of the {kept['usd']:g} USD that were allowed, {self._left(kept):.6f} are left.")
            kept["shares"][run_id] = share
            _write(file, kept)
            return share

    def give_back(self, run_id: str) -> None:
        """Let go of the share of a run that never began, so that it asked nobody."""
        with self._locked() as file:
            kept = self._kept(file)
            if not (self._folder / run_id).exists() and kept["shares"].pop(run_id, None) is not None:
                _write(file, kept)

    def _kept(self, file: TextIO) -> dict[str, Any]:
        kept = _read(file, self._path)
        if kept is None:
            raise UsageError(f"`{self._path}` was removed: nothing is allowed any more.")
        return kept

    def _left(self, kept: dict[str, Any]) -> float:
        counted = sum(self._counted(run, share) for run, share in kept["shares"].items())
        return max(0.0, float(kept["usd"]) - counted)

    def _counted(self, run_id: str, share: float) -> float:
        """Return what counts of a share: all of it until the run has ended and its ledger tells of every call."""
        folder = self._folder / run_id
        try:
            if not (folder / "summary.json").is_file() or holder_of(RunLayout(folder)) is not None:
                return share
            run, ledger = load_run(folder), folder / "llm" / "ledger.jsonl"
            asked = any(result.used.llm_calls for result in run.results.values())
            if run.run_id != run_id or (asked and not ledger.exists()):
                return share
            spent = 0.0
            for line in iter_lines(ledger):
                record = json.loads(line)
                if record.get("kind") == "llm_call":
                    if not isinstance(record.get("usd"), float | int):
                        return share
                    spent += record["usd"]
        except (OSError, RunDirError, ValueError):
            return share
        return max(0.0, spent)

    @contextmanager
    def _locked(self) -> Iterator[TextIO]:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _read(file: TextIO, path: Path) -> dict[str, Any] | None:
    file.seek(0)
    text = file.read()
    if not text:
        return None
    try:
        kept: dict[str, Any] = json.loads(text)
        kept["usd"], kept["shares"] = float(kept["usd"]), {str(k): float(v) for k, v in kept["shares"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise UsageError(f"`{path}` cannot be read; nothing is allowed until a person has looked at it.") from err
    return kept


def _write(file: TextIO, kept: dict[str, Any]) -> None:
    text = json.dumps(kept, indent=1) + "\n"
    file.seek(0)
    file.write(text)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())
