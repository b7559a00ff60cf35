"""Writes the events of one job, one line each, numbered and timed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from tracebench_core.specs.events import EVENTS_VERSION, CandidateSeen, Event
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.clock import timestamp_of
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.files import AppendLog, last_lines
from tracebench_runs.storage.layout import JobLayout

E = TypeVar("E", bound=Event)


class Stamp(NamedTuple):
    """What the writer sets of an event, in the order in which every line begins with it."""

    v: int
    seq: int
    t: str
    mono: float


_STAMPED = set(Stamp._fields)


class EventWriter:
    """The one writer of a job's `events.jsonl`; safe to use from several threads.

    An existing log is continued: `seq` goes on where it stopped, and a torn last line stays one bad line. That is how a runner adds
    the end to the log of a job process that died. A new attempt of a job starts on an empty folder: see `JobLayout.fresh`.
    """

    def __init__(
        self,
        job_dir: JobLayout,
        *,
        clock: Callable[[], int] = time.time_ns,
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
        written, stamp = self.append(event)
        return written.model_copy(update=stamp._asdict())

    def append(self, event: E) -> tuple[E, Stamp]:
        """Append the event, for who has no use for it as written; return what was written of it, and what was set."""
        try:
            if isinstance(event, CandidateSeen) and (values := self.blobs.shrink(event.values)) != event.values:
                event = event.model_copy(update={"values": values})
            body, event = _encode(event)
            with self._lock:
                mono = round(self._monotonic() - self._zero, 6)
                stamp = Stamp(EVENTS_VERSION, self._seq, timestamp_of(self._clock()), mono)
                self._log.append(_head(stamp) + body)
                self._seq += 1
        except OSError as err:
            self.refused = self.refused or err
            raise
        return event, stamp

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


def _head(stamp: Stamp) -> bytes:
    return b'{"v":%d,"seq":%d,"t":"%b","mono":%b,' % (stamp.v, stamp.seq, stamp.t.encode(), to_json(stamp.mono))


def _encode(event: E) -> tuple[bytes, E]:
    """Return what follows the stamp in an event's line, and the event as that reads back."""
    try:
        return escaped(event.model_dump_json(exclude=_STAMPED))[1:].encode(), event
    except PydanticSerializationError:  # a lone surrogate, which no UTF-8 text can hold
        printable = type(event).model_validate(_printable(event.model_dump()))
        return escaped(printable.model_dump_json(exclude=_STAMPED))[1:].encode(), printable


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
    for line in last_lines(job_dir.events):
        try:
            record = json.loads(line)
            return int(record["seq"]), float(record["mono"])
        except (ValueError, TypeError, KeyError):
            continue
    return -1, 0.0
