"""Writes the events of one job, one line each, numbered and timed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError

from tracebench_core.specs.events import EVENTS_VERSION, CandidateSeen, Event
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.clock import timestamp, utc_now
from tracebench_core.store.files import AppendLog, read_lines
from tracebench_core.store.inert import inert
from tracebench_core.store.layout import JobLayout

E = TypeVar("E", bound=Event)


class EventWriter:
    """The one writer of a job's `events.jsonl`; safe to use from several threads.

    An existing log is continued: `seq` goes on where it stopped, and a torn last line stays one bad line. That is how a runner adds
    the end to the log of a job process that died. A new attempt of a job starts on an empty folder: see `JobLayout.fresh`.
    """

    def __init__(
        self,
        job_dir: JobLayout,
        *,
        clock: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.layout = job_dir
        self.blobs = BlobStore(job_dir.blobs)
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        last_seq, last_mono = _last_event(job_dir)
        self._seq = last_seq + 1
        self._zero = monotonic() - last_mono
        self._log = AppendLog(job_dir.events)
        self.refused: OSError | None = None
        """What first kept an event from being written: the log has a hole, whatever became of the exception."""

    def write(self, event: E) -> E:
        """Append the event and return it as written: numbered, timed, and with large candidate values as blob references."""
        try:
            return self._write(event)
        except OSError as err:
            self.refused = self.refused or err
            raise

    def _write(self, event: E) -> E:
        common: dict[str, object] = {"v": EVENTS_VERSION}
        if isinstance(event, CandidateSeen):
            common["values"] = self.blobs.shrink(event.values)
        with self._lock:
            written = event.model_copy(
                update=common
                | {
                    "seq": self._seq,
                    "t": timestamp(self._clock()),
                    "mono": round(self._monotonic() - self._zero, 6),
                }
            )
            line, written = _encode(written)
            self._log.append(line)
            self._seq += 1
        return written

    def sync(self) -> None:
        """Make everything written so far, blobs included, survive a power cut."""
        with self._lock:
            self.blobs.sync()
            self._log.sync()

    def close(self, *, durable: bool = True) -> None:
        """Close the log; with `durable` it and its blobs survive a power cut once this returns."""
        if durable:
            self.sync()
        self._log.close()


def _encode(event: E) -> tuple[bytes, E]:
    """Return an event's line, and the event as that line reads back."""
    try:
        return inert(event.model_dump_json()).encode(), event
    except PydanticSerializationError:  # a lone surrogate, which no UTF-8 text can hold
        printable = type(event).model_validate(_printable(event.model_dump()))
        return inert(printable.model_dump_json()).encode(), printable


def _printable(value: JsonValue) -> JsonValue:
    """Return `value` with lone surrogates spelled out as `\\udXXX`."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {str(_printable(k)): _printable(v) for k, v in value.items()}
        case list() | tuple():
            return [_printable(v) for v in value]
        case _:
            return value


def _last_event(job_dir: JobLayout) -> tuple[int, float]:
    for line in reversed(read_lines(job_dir.events).lines):
        try:
            record = json.loads(line)
            return int(record["seq"]), float(record["mono"])
        except (ValueError, TypeError, KeyError):
            continue
    return -1, 0.0
