"""What a resume with nothing to run does not do anew: files of jobs that nobody wrote since, and the tables of a large run."""

import json
import os
from pathlib import Path

import pytest
from tests.unit.store.conftest import JOBS

from tracebench_runs.check.checks import differences
from tracebench_runs.journal.index import iter_files, read_files_index, write_files_index
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.results import kept
from tracebench_runs.results.kept import are_kept
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.seal import seal_of

END = RunEnd(0, 7.0, 8.0)
COUNTS = {"ok": 3, "not_run": 1}


@pytest.fixture
def aged(run):
    """The run an hour later: every file of it is older than its index."""
    for path in run.path.rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))
    os.utime(run.files_index)
    return run


def continued(run):
    write_files_index(run, trust=read_trust(run), is_continued=True)
    return {entry.path: entry.seal for entry in read_files_index(run)}


def made_anew(run):
    return {entry.path: entry.seal for entry in iter_files(run)}


def rewritten(path, old, new):
    """Change a file as damage does: size and time stay."""
    stat, data = path.stat(), path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new, 1))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_an_index_that_is_continued_is_the_one_that_would_be_made(aged):
    (aged.job(JOBS[1].job_id).path / "notes.txt").write_text("new")
    aged.job(JOBS[0].job_id).meta.unlink()
    (aged.path / "mine.txt").write_text("new")
    assert continued(aged) == made_anew(aged)


def test_it_reads_no_file_of_a_job_that_is_older_than_the_index(aged, monkeypatch):
    read = []

    def noted(path, **_):
        read.append(path)
        return Path(path).open("rb")

    monkeypatch.setattr("tracebench_runs.journal.index.open_regular", noted)
    continued(aged)
    assert read
    assert not [path for path in read if "/jobs/" in str(path)]


def test_damage_that_left_size_and_time_is_no_content_of_the_next_index(aged):
    job = aged.job(JOBS[0].job_id)
    before = {entry.path: entry.seal for entry in read_files_index(aged)}
    rewritten(job.events, b'"c1"', b'"c7"')
    after = continued(aged)
    name = job.events.relative_to(aged.path).as_posix()
    assert after[name] == before[name] != seal_of(job.events)
    assert differences(aged, read_files_index(aged))[name] == "has changed"


def test_what_was_written_since_is_measured_and_changed_events_are_told(aged):
    job = aged.job(JOBS[0].job_id)
    job.events.write_bytes(job.events.read_bytes().replace(b'"c1"', b'"c7"'))
    after = continued(aged)
    assert after[job.events.relative_to(aged.path).as_posix()] == seal_of(job.events)
    assert JOBS[0].job_id in json.loads(aged.files_index.read_bytes())["undeclared"]


def test_files_of_a_job_that_began_since_are_measured_whatever_their_time_says(aged):
    job = aged.job(JOBS[0].job_id)
    rewritten(job.events, b'"c1"', b'"c7"')
    with Journal(aged) as journal:
        journal.job_started(JOBS[0].job_id)
    assert continued(aged)[job.events.relative_to(aged.path).as_posix()] == seal_of(job.events)


def test_what_only_the_index_vouches_for_stays_listed_changed_or_gone(aged):
    blobs = [path for path in aged.job(JOBS[0].job_id).blobs.rglob("*") if path.is_file()]
    name = blobs[0].relative_to(aged.path).as_posix()
    before = {entry.path: entry.seal for entry in read_files_index(aged)}
    blobs[0].write_bytes(b"other")
    assert continued(aged)[name] == before[name]
    with Journal(aged) as journal:
        journal.indexed(seal_of(aged.files_index))
    blobs[0].unlink()
    assert continued(aged)[name] == before[name]
    with Journal(aged) as journal:
        journal.indexed(seal_of(aged.files_index))
        journal.accepted(name, None)
    assert name not in continued(aged)


def test_an_index_that_the_journal_does_not_vouch_for_is_not_continued(aged):
    job = aged.job(JOBS[0].job_id)
    name = job.events.relative_to(aged.path).as_posix()
    data = aged.files_index.read_bytes()
    aged.files_index.write_bytes(data.replace(seal_of(job.events).sha256.encode(), b"0" * 64))
    assert continued(aged)[name] == seal_of(job.events)


@pytest.fixture
def large(run, monkeypatch):
    """The run, taken for one of many jobs."""
    monkeypatch.setattr(kept, "MANY", 3)
    return run


def tables(run):
    writer = TableWriter(run, JOBS)
    writer.load()
    writer.complete()
    return writer.render(END)


def test_tables_of_a_large_run_are_left_and_its_summary_tells_its_new_end(large):
    stamps = {path: path.stat().st_mtime_ns for path in (large.results_csv, large.leaderboard_csv)}
    assert are_kept(large, END, trust=read_trust(large), counts=COUNTS)
    assert {path: path.read_bytes() for path in tables(large)} == tables(large)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def _edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def _other_columns(run):
    _edit(run.results_csv, b"job_id", b"job")
    write_files_index(run, trust=read_trust(run))
    with Journal(run) as journal:
        journal.indexed(seal_of(run.files_index))


def _other_fields(run):
    _edit(run.summary, b'"evaluations"', b'"measurements"')
    write_files_index(run, trust=read_trust(run))
    with Journal(run) as journal:
        journal.indexed(seal_of(run.files_index))


def _begun_again(run):
    with Journal(run) as journal:
        journal.job_started(JOBS[0].job_id)


DOUBTS = {
    "a row was edited": lambda run: _edit(run.results_csv, b",ok,", b",OK,"),
    "the leaderboard was edited": lambda run: _edit(run.leaderboard_csv, b"Climber", b"Charlatan"),
    "a table is gone": lambda run: run.summary.unlink(),
    "the index is gone": lambda run: run.files_index.unlink(),
    "it was made by a version with other columns": _other_columns,
    "it was made by a version with other fields": _other_fields,
    "logs for TensorBoard came": lambda run: run.job(JOBS[0].job_id).tensorboard.mkdir(),
    "a ledger came": lambda run: (run.llm.mkdir(), run.ledger.write_text("{}\n")),
    "a job began since": _begun_again,
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_tables_in_doubt_are_to_be_made_anew(large, doubt):
    DOUBTS[doubt](large)
    assert not are_kept(large, END, trust=read_trust(large), counts=COUNTS)


def test_so_are_those_of_other_counts_and_of_a_small_run(large, monkeypatch):
    assert not are_kept(large, END, trust=read_trust(large), counts={"ok": 4})
    monkeypatch.setattr(kept, "MANY", 4)
    assert not are_kept(large, END, trust=read_trust(large), counts=COUNTS)
