"""An event that the disk refuses leaves a hole in the log, and the writer says so for good, whoever catches the exception."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.full_disk import full_disk
from tests.unit.store.samples import candidate, started

from tracebench_core.specs.events import MetricLogged
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import RunLayout


@pytest.fixture
def writer(tmp_path: Path) -> EventWriter:
    return EventWriter(RunLayout(tmp_path).job("0123456789ab").fresh())


def test_nothing_is_refused_on_a_disk_with_room(writer: EventWriter) -> None:
    writer.append(started())
    assert writer.refused is None
    writer.close()


@pytest.mark.parametrize("what", ["event", "blob"])
def test_what_the_disk_refuses_first_is_kept(writer: EventWriter, what: str) -> None:
    event = MetricLogged(name="m", value=1.0) if what == "event" else candidate(values={"a": "x" * 1_000_000})
    writer.append(started())
    with full_disk(writer.layout.events.stat().st_size), pytest.raises(OSError, match="large") as first:
        writer.append(event)
    assert first.value.errno == errno.EFBIG
    assert writer.refused is first.value
    with full_disk(0), pytest.raises(OSError, match="large") as second:
        writer.append(event)
    assert writer.refused is first.value is not second.value
    writer.append(MetricLogged(name="later", value=1.0))  # there is room again
    assert writer.refused is first.value
    writer.close()
    assert read_events(writer.layout).events[0].kind == "job_started"
