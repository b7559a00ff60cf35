"""A run directory as the engine leaves it, which the tests of reader, checks and exports begin with."""

import pytest
from tests.unit.store.samples import job_spec, whole_job

from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.states import StateHistory, write_history
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.journal.commit import commit
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.meta.meta import write_job_meta
from tracebench_runs.results.results import write_result
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import seal_of

JOBS = [job_spec(job_id=f"{n:012x}", seed=n) for n in range(4)]


def _with_text(event):
    return event.model_copy(update={"values": {"x": 2.5, "text": "long " * 1000}})


def finish_run(folder, jobs=JOBS):
    """Return a finished run of some jobs, of which the last was not run."""
    layout = RunLayout(folder).create()
    write_manifest(layout, {"config_hash": "abc"}, jobs)
    tables = TableWriter(layout, jobs)
    with Journal(layout) as journal:
        declare_meta(layout, journal)
        for job in jobs[:-1]:
            folder = layout.job(job.job_id).fresh()
            writer = EventWriter(folder)
            for event in whole_job(job):
                writer.write(_with_text(event) if event.kind == "candidate" and event.id == "c1" else event)
            writer.close(durable=False)
            events = read_events(folder).events
            write_history(folder, StateHistory(events), writer.blobs)
            result = reduce_job(events)
            write_job_meta(folder, job, status=result.status)
            stored = write_result(folder, result)
            commit(layout, [EndRecord(job.job_id, result.status, stored.digest)], journal=journal)
            tables.add(job, result)
        journal.run_ended(exit_code=0, wall_seconds=1.0, cpu_seconds=1.0)
        tables.finish(RunEnd(0, 1.0, 1.0))
        write_files_index(layout)
        journal.indexed(seal_of(layout.files_index))
    return layout


@pytest.fixture
def run(tmp_path):
    return finish_run(tmp_path / "run")
