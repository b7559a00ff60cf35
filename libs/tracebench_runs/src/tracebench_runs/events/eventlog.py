"""Reads the events of one job; what cannot be read is skipped and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tracebench_core.specs.events import EVENTS_VERSION, KNOWN, AnyEvent, Event
from tracebench_runs.storage.files import iter_lines, read_lines
from tracebench_runs.storage.layout import JobLayout

_EVENT: TypeAdapter[Event] = TypeAdapter(AnyEvent, config=ConfigDict(defer_build=True))
_OURS = re.compile(rb'\{"v":%d,"seq":\d+,"t":"[^"\\]*","mono":[\d.]+,"kind":"(\w+)"' % EVENTS_VERSION)
"""How the writer begins a line; its kind is then known without reading the line twice."""
_READ = {kind.encode(): event.model_validate_json for kind, event in KNOWN.items()}


@dataclass(frozen=True, slots=True)
class EventLog:
    """The events of a job that could be read, in order, and how many lines could not."""

    events: tuple[Event, ...]
    unreadable: int


def prepare() -> None:
    """Build now what reading the first event would build: a process that is about to be forked does it once for all."""
    _EVENT.rebuild()


def read_events(layout: JobLayout) -> EventLog:
    """Read a job's events. A torn or foreign line is skipped and counted; a job that never started has none."""
    lines = read_lines(layout.events).lines
    events = tuple(iter_events(lines))
    return EventLog(events, len(lines) - len(events))


def stream_events(layout: JobLayout) -> Iterator[Event]:
    """Yield a job's events one by one, held nowhere."""
    return iter_events(iter_lines(layout.events))


def iter_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events that lines hold; a line that is none is skipped."""
    for line in lines:
        begin = _OURS.match(line)
        read = _READ.get(begin[1]) if begin is not None and line.count(b'"v":') == line.count(b'"kind":') == 1 else None
        try:
            yield _EVENT.validate_json(line) if read is None else read(line)
        except ValidationError:
            continue
