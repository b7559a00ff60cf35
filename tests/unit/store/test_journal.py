import json
import re
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.samples import job_spec, whole_job
from tests.whole import HEAVY

from tracebench_core.specs.events import CandidateSeen, JobFinished
from tracebench_runs.check.recovery import settle
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.states import StateHistory, write_history
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.journal.trust import Ends, end_records, finished_jobs, is_settled, read_trust
from tracebench_runs.results.results import write_result
from tracebench_runs.storage.files import FileSystem, installed
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import Seal


@pytest.fixture
def run(tmp_path):
    return RunLayout(tmp_path / "run").create()


def finish(run, job_id, status="ok"):
    """Leave a job's events and result, and return the result's digest."""
    layout = run.job(job_id).fresh()
    writer = EventWriter(layout)
    for event in whole_job(job_spec(job_id=job_id)):
        writer.write(event.model_copy(update={"status": status}) if isinstance(event, JobFinished) else event)
    writer.close()
    return write_result(layout, reduce_job(read_events(layout).events)).digest


def test_only_end_records_count(run):
    with Journal(run) as journal:
        journal.job_started("a")
        journal.job_started("b")
        journal.job_finished("a", "ok", digest="d")
    assert finished_jobs(run.path) == {"a": "ok"}
    assert end_records(run) == {"a": EndRecord("a", "ok", "d")}


def test_a_run_without_journals_has_no_finished_jobs(run):
    assert finished_jobs(run) == {}


def test_a_torn_record_costs_only_itself(run):
    with Journal(run) as journal:
        journal.job_finished("a", "ok")
        journal.job_finished("b", "ok")
    path = run.journal("main")
    path.write_bytes(path.read_bytes()[:-20])
    with Journal(run) as journal:
        journal.job_finished("c", "failed")
    assert finished_jobs(run) == {"a": "ok", "c": "failed"}


@pytest.mark.parametrize("kept", [1, 6, 40, 150])
def test_deaths_one_after_another_in_the_middle_of_a_record_cost_no_record_that_was_written(run, kept):
    with Journal(run) as journal:
        journal.job_finished("a", "ok")
    path = run.journal("main")
    for job in ("b", "c", "d"):
        whole = path.read_bytes()
        with Journal(run) as journal:
            journal.job_finished(job, "ok")
        path.write_bytes(path.read_bytes()[: len(whole) + 1 + kept])
        trust = read_trust(run)
        assert (trust.damage, set(trust.ends)) == ([], {"a"})
    with Journal(run) as journal:
        journal.job_finished("e", "ok")
    assert (read_trust(run).damage, finished_jobs(run)) == ([], {"a": "ok", "e": "ok"})


@pytest.mark.parametrize(
    "junk",
    [
        b"[1]",
        b'"job_finished"',
        b'{"kind":"job_finished"}',
        b'{"kind":"job_finished","t":1,"job":[],"status":{},"digest":2}',
    ],
)
def test_foreign_records_are_skipped(run, junk):
    with Journal(run) as journal:
        journal.job_finished("a", "ok")
    with run.journal("main").open("ab") as log:
        log.write(junk + b"\n")
    run.journal("other").write_bytes(junk + b"\n")
    assert finished_jobs(run) == {"a": "ok"}


def test_the_latest_record_of_any_writer_counts(run):
    def record(at, status):
        return (
            json.dumps({"t": at, "kind": "job_finished", "job": "a", "status": status, "digest": ""}).encode() + b"\n"
        )

    run.journal("one").write_bytes(record("2026-01-02", "ok"))
    run.journal("two").write_bytes(record("2026-01-01", "failed"))
    assert finished_jobs(run) == {"a": "ok"}


def test_several_ends_are_one_flush(run):
    with Journal(run) as journal:
        journal.jobs_finished([EndRecord("a", "ok"), EndRecord("b", "timeout")])
        journal.jobs_finished([])
    assert finished_jobs(run) == {"a": "ok", "b": "timeout"}


def test_a_finished_job_with_its_result_is_skipped(run):
    with Journal(run) as journal:
        journal.job_finished("aa", "ok", digest=finish(run, "aa"))
        finish(run, "bb", "timeout")
        journal.job_finished("bb", "timeout")
    settled = settle(run.path, ["aa", "bb", "cc"])
    assert (settled.finished, settled.adopted, settled.distrusted) == ({"aa": "ok", "bb": "timeout"}, (), {})


def test_a_result_whose_end_record_is_missing_is_adopted_once(run):
    digest = finish(run, "aa", "failed")
    with Journal(run) as journal:
        settled = settle(run.path, ["aa"], journal=journal)
        assert (settled.finished, settled.adopted) == ({"aa": "failed"}, ("aa",))
        assert settle(run.path, ["aa"], journal=journal).adopted == ()
    assert end_records(run)["aa"].digest == digest


@pytest.mark.parametrize(
    ("start", "is_adopted"),
    [("flushed", True), ("lost", False), ("leans", False), ("lost and the journal accepted", True)],
)
def test_a_result_whose_start_no_journal_knows_is_not_adopted(run, start, is_adopted):
    with Journal(run) as journal:
        journal.opened({"meta/config.snapshot.json": Seal(size=1, sha256="ff")})
        if start in {"flushed", "leans"}:
            journal.job_started("aa", leans=start == "leans")
        if "accepted" in start:
            journal.accepted(run.journal("main").name, None)
        finish(run, "aa")
        assert settle(run.path, ["aa"], journal=journal).adopted == (("aa",) if is_adopted else ())


@pytest.mark.parametrize("with_digest", [True, False])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.unlink(), "results.json"),
        (lambda path: path.write_bytes(b""), "results.json"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "results.json"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b'"ok"', b'"failed"')), "results.json"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b'"aa"', b'"bb"')), "results.json"),
    ],
)
def test_a_result_that_is_missing_torn_or_not_the_declared_one_is_distrusted(run, damage, words, with_digest):
    digest = finish(run, "aa")
    with Journal(run) as journal:
        journal.job_finished("aa", "ok", digest=digest if with_digest else "")
    damage(run.job("aa").results)
    settled = settle(run.path, ["aa"])
    assert settled.finished == {}
    assert words in settled.distrusted["aa"]


@pytest.mark.parametrize("lost", ["events", "end", "blob"])
def test_a_result_without_an_end_record_that_its_events_do_not_bear_out_is_not_adopted(run, lost):
    layout = run.job("aa").fresh()
    writer = EventWriter(layout)
    for event in whole_job(job_spec(job_id="aa")):
        writer.write(event)
    writer.write(CandidateSeen(id="c2", parents=(), origin="", values={"x": "long " * 500}, step=None))
    writer.close()
    write_result(layout, reduce_job(read_events(layout).events))
    assert settle(run.path, ["aa"]).finished == {"aa": "ok"}
    match lost:
        case "events":
            layout.events.write_bytes(b"")
        case "end":
            layout.events.write_bytes(layout.events.read_bytes()[:-40])
        case "blob":
            next(layout.blobs.glob("*/*")).write_bytes(b"")
    assert settle(run.path, ["aa"]).finished == {}


def test_a_damaged_result_without_an_end_record_is_just_not_finished(run):
    finish(run, "aa")
    run.job("aa").results.write_bytes(b"{")
    settled = settle(run.path, ["aa", "bb"])
    assert (settled.finished, settled.distrusted) == ({}, {})


def test_a_moved_attempt_is_not_finished(run):
    with Journal(run) as journal:
        journal.job_finished("aa", "failed", digest=finish(run, "aa", "failed"))
    run.job("aa").fresh()
    assert set(settle(run.path, ["aa"]).distrusted) == {"aa"}


def test_the_holder_of_the_lock_sweeps_what_a_crash_left(run):
    (run.path / ".results.csv.1-1.tmp").touch()
    (run.meta / ".manifest.json.1-1.tmp").touch()
    settle(run.path, [])
    assert (run.path / ".results.csv.1-1.tmp").exists()
    with Journal(run) as journal:
        settle(run.path, [], journal=journal)
    assert not list(run.path.rglob("*.tmp"))


@HEAVY
def test_a_hundred_thousand_records_are_read_whole(run):
    with Journal(run) as journal:
        journal.jobs_finished([EndRecord(f"{n:012x}", "ok", "0" * 64) for n in range(100_000)])
    assert len(finished_jobs(run)) == 100_000


def test_states_are_written_anew_only_after_the_machine_was_started(run):
    class Machine(FileSystem):
        boot = "one"

        def boot_id(self):
            return self.boot

    job = run.job("aa").fresh()
    writer = EventWriter(job)
    for event in whole_job(job_spec(job_id="aa")):
        writer.write(event)
    writer.close()
    write_history(job, StateHistory(read_events(job).events), writer.blobs)
    good = job.best_state.read_bytes()
    with installed(Machine()) as machine, Journal(run) as journal:
        journal.job_finished("aa", "ok", digest=write_result(job, reduce_job(read_events(job).events)).digest)
        settle(run.path, ["aa"], journal=journal)
        job.best_state.write_bytes(b"")
        settle(run.path, ["aa"], journal=journal)
        assert job.best_state.read_bytes() == b""
        machine.boot = "two"
        settle(run.path, ["aa"], journal=journal)
        assert job.best_state.read_bytes() == good
        machine.boot = ""
        assert not is_settled(run)


def test_threads_that_write_at_once_lose_no_record(run):
    """Jobs are begun in one thread and declared finished in another."""
    with Journal(run) as journal:
        threads = [
            threading.Thread(
                target=lambda part=part: [journal.job_finished(f"{part}-{n}", "ok", digest="d") for n in range(200)]
            )
            for part in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(finished_jobs(run)) == 800
    assert read_trust(run).damage == []


@given(
    changes=st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=3)), max_size=4),
    lines=st.permutations(range(9)),
)
def test_end_records_read_by_their_form_are_what_json_makes_of_them(tmp_path_factory, changes, lines):
    run = RunLayout(tmp_path_factory.mktemp("run"))
    with Journal(run) as journal:
        for n in range(4):
            journal.job_started(f"{n:012x}")
        journal.jobs_finished([EndRecord(f"{n:012x}", "ok", "0" * 64, Seal(n, "a" * 64)) for n in range(3)])
        journal.jobs_finished([EndRecord("0" * 12, "timeout"), EndRecord("f", "failed", "ab")])
    text = run.journal("main").read_bytes().splitlines(keepends=True)
    data = bytearray(b"".join(text[i] for i in (sorted(lines) if changes else lines)))
    for place, new in changes:
        data[place : place + len(new)] = new
    run.journal("main").write_bytes(data)

    quick = read_trust(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracebench_runs.journal.lines._FINISHED", re.compile("nothing"))
        assert read_trust(run) == quick


def test_journals_that_have_not_changed_are_not_read_again(run):
    with Journal(run) as journal:
        journal.job_finished("a", "ok", digest="d")
        known = read_trust(run)
        assert read_trust(run, known=known) is known
        journal.job_started("b")
    assert read_trust(run, known=known).begun_since == {"b"}
    with Journal(run, "other") as journal:
        journal.job_finished("c", "ok")
    assert set(read_trust(run, known=known).ends) == {"a", "c"}


def test_a_journal_is_continued_behind_a_long_line(run):
    with Journal(run) as journal:
        journal.job_started("a")
    with run.journal("main").open("ab") as log:
        log.write(b"x" * (1 << 17))
    with Journal(run) as journal:
        journal.job_started("b")
    trust = read_trust(run)
    assert trust.restarted == {"a", "b"}
    assert (trust.damage, trust.torn) == ([], ["journal-main.jsonl"])


def test_ends_are_let_go_of_at_once_however_many_there_are() -> None:
    ends = Ends()
    for number in range(200):
        ends[str(number)] = EndRecord(str(number), "ok", "0" * 64, Seal(number, "1" * 64))
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _arg: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        ends.clear()
    finally:
        sys.setprofile(None)

    assert len(ends) == 0
    assert calls == ["clear"]
