"""A large run is shown from its tables where the journal vouches for them, and from its results where it does not."""

import json

import pytest
from tests.unit.store.conftest import JOBS

from tracebench_core.errors import RunDirError
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.results.kept import vouched_tables
from tracebench_runs.results.overview import read_overview
from tracebench_runs.results.tables import TableWriter, read_end


def found(run):
    return read_overview(run, JOBS, trust=read_trust(run))


def tables(run):
    return vouched_tables(run, (run.leaderboard_csv, run.summary), trust=read_trust(run))


def edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def restarted(run):
    with Journal(run) as journal:
        journal.job_started(JOBS[0].job_id)


def ended_elsewhere(run):
    with Journal(run, "other") as journal:
        journal.job_finished(JOBS[3].job_id, "failed", digest="0" * 64)


def reindexed_in_silence(run):
    edit(run.leaderboard_csv, b"Climber", b"Charlatan")
    write_files_index(run)


DOUBTS = {
    "a row was edited": lambda run: edit(run.leaderboard_csv, b"Climber", b"Charlatan"),
    "the summary was edited": lambda run: edit(run.summary, b'"ok": 3', b'"ok": 4'),
    "a table is gone": lambda run: run.summary.unlink(),
    "the index is gone": lambda run: run.files_index.unlink(),
    "the index was written anew": reindexed_in_silence,
    "the index was cut short": lambda run: edit(run.files_index, b'"leaderboard.csv"', b'"leaderbored.csv"'),
}


def test_tables_that_the_journal_vouches_for_are_taken_without_a_result(run):
    before = found(run)
    for job in JOBS[:3]:
        run.job(job.job_id).results.unlink()

    assert tables(run) is not None
    assert found(run) == before
    assert before.counts == {"ok": 3, "not_run": 1}
    assert before.board[0]["trainer_id"] == "Climber"


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_table_in_doubt_is_made_anew(run, doubt):
    before = found(run)
    DOUBTS[doubt](run)

    assert tables(run) is None
    assert found(run) == before


def test_a_result_whose_end_an_edited_journal_no_longer_tells_is_refused(run):
    edit(run.journal("main"), b'"ok"', b'"no"')
    assert tables(run) is None
    with pytest.raises(RunDirError, match="vouches for"):
        found(run)


@pytest.mark.parametrize("since", [restarted, ended_elsewhere])
def test_tables_of_before_are_not_taken_for_what_the_run_is_now(run, since):
    since(run)
    assert tables(run) is None


def test_a_damaged_result_is_refused_where_it_has_to_be_read(run):
    run.summary.unlink()
    edit(run.job(JOBS[1].job_id).results, b'"ok"', b'"OK"')
    with pytest.raises(RunDirError, match="vouches for"):
        found(run)


def test_a_result_that_the_journal_does_not_vouch_for_makes_no_row_where_trust_is_asked(run):
    result = run.job(JOBS[0].job_id).results
    told = json.loads(result.read_bytes())
    result.write_text(json.dumps({**told, "score_val_best": 99.0}))
    trust = read_trust(run)
    writer = TableWriter(run, JOBS, trust=trust)
    writer.load()
    with pytest.raises(RunDirError):
        writer.render(read_end(run, trust=trust))
