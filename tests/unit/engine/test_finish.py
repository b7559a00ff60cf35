"""From a job's events to its files, whoever was cut short before."""

from pathlib import Path

from tests.unit.store.samples import job_spec, whole_job

from tracebench_engine.job.finish import conclude, conclude_lost
from tracebench_runs.check.checks import leftovers
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import RunLayout


def test_who_concludes_a_job_removes_what_a_process_that_was_killed_at_it_left(tmp_path: Path) -> None:
    run, job = RunLayout(tmp_path).create(), job_spec()
    layout = run.job(job.job_id).fresh()
    writer = EventWriter(layout)
    for event in whole_job(job):
        writer.write(event)
    writer.close(durable=False)
    undisturbed = conclude(layout, job)
    (layout.blobs / "0a").mkdir(parents=True)
    left = [
        layout.path / ".job_meta.json.7-1.tmp",
        layout.artifacts / ".best_state.yaml.7-2.tmp",
        layout.blobs / "0a/.x.7-3.tmp",
    ]
    for path in left:
        path.write_bytes(b"{")
    assert leftovers(run) == sorted(left)

    assert conclude_lost(layout, job, detail="killed") == undisturbed
    assert leftovers(run) == []
