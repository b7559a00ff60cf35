import csv
import json

import pytest
from tests.unit.store.conftest import JOBS
from tests.unit.store.samples import job_spec, whole_job

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import finished_jobs
from tracebench_runs.meta.meta import write_job_meta
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.lock import RunLock
from tracebench_runs.storage.seal import seal_of

ID = JOBS[0].job_id


def codes(findings):
    return sorted({finding.code for finding in findings})


def test_a_run_reads_back(run):
    read = load_run(str(run.path))
    assert (read.run_id, read.manifest["config_hash"]) == ("run", "abc")
    assert list(read.planned) == JOBS
    assert [result.status for result in read.results.values()] == ["ok", "ok", "ok", "not_run"]
    assert [event.kind for event in read.events(ID)][-1] == "job_finished"
    assert read.events(JOBS[3].job_id) == ()
    assert [(c.id, c.parents, c.values.get("text", "")[:5]) for c in read.candidates_of(ID)] == [
        ("c0", (), ""),
        ("c1", ("c0",), "long "),
    ]


def test_a_missing_or_foreign_folder_is_refused_with_words(tmp_path):
    with pytest.raises(RunDirError, match="does not exist"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(RunDirError, match="not a run directory"):
        load_run(tmp_path)
    (tmp_path / "meta").mkdir()
    for content in ("", "[]", "{}", '{"jobs": []}', "\x00"):
        (tmp_path / "meta" / "manifest.json").write_text(content)
        with pytest.raises(RunDirError, match="not the manifest"):
            load_run(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError):
        load_run(tmp_path / "file")


def test_an_unknown_job_is_refused_with_the_nearest_id(run):
    with pytest.raises(RunDirError, match="Did you mean `000000000001`"):
        load_run(run.path).events("00000000001")


def test_a_newer_format_is_refused_by_name_and_an_older_one_read(run):
    text = run.manifest.read_text()
    run.manifest.write_text(text.replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(RunDirError, match=r"format version 2; .* reads up to 1") as caught:
        load_run(run.path)
    assert "upgrade" in caught.value.hint
    run.manifest.write_text(text.replace('"format_version": 1', '"format_version": 0'))
    with Journal(run) as journal:
        declare_meta(run, journal)
    assert len(load_run(run.path).planned) == 4


def test_a_torn_or_foreign_line_is_skipped_and_counted(run):
    events = run.job(ID).events
    before = len(read_events(run.job(ID)).events) + 1  # a kind that is not known here is kept
    with events.open("ab") as log:
        log.write(b'{"kind":"from the future","v":9}\n\xff\xfe\n{"v":1,"seq":14')
    log = read_events(run.job(ID))
    assert (len(log.events), log.unreadable) == (before, 2)


def test_a_sound_run_has_no_findings(run):
    assert check_run(run.path) == []
    assert repair_run(run.path) == []


def damage(path, content=b"{}"):
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        (lambda run: run.job(ID).results.unlink(), ["stale-index", "stale-result", "stale-table"]),
        (lambda run: damage(run.job(ID).results), ["stale-index", "stale-result", "stale-table"]),
        (lambda run: damage(run.job(ID).best_state), ["stale-index", "stale-states"]),
        (lambda run: run.job(ID).state_history.unlink(), ["stale-index", "stale-states"]),
        (lambda run: write_job_meta(run.job(ID), JOBS[0], status="running"), ["stale-index", "stale-meta"]),
        (lambda run: damage(run.results_csv, b""), ["stale-index", "stale-table"]),
        (lambda run: run.leaderboard_csv.unlink(), ["stale-index", "stale-table"]),
        (lambda run: damage(run.summary), ["stale-index", "stale-table"]),
        (lambda run: run.files_index.unlink(), ["stale-index"]),
        (lambda run: damage(run.path / "new file"), ["stale-index"]),
        (lambda run: damage(run.path / ".results.csv.1-1.tmp"), ["leftover"]),
    ],
)
def test_everything_derived_is_missed_and_rebuilt(run, break_it, expected):
    def content():
        return {
            path.relative_to(run.path): path.read_bytes()
            for path in run.path.rglob("*")
            if path.is_file()
            and path.name != ".lock"
            and not path.name.startswith(("journal-", "files_index", "new file"))
            and not path.is_relative_to(run.lost_and_found)
        }

    before = content()
    break_it(run)
    assert codes(check_run(run.path)) == expected
    assert repair_run(run.path) == []
    after = content()
    assert {path: data for path, data in after.items() if path.name != "summary.json"} == {
        path: data for path, data in before.items() if path.name != "summary.json"
    }
    assert finished_jobs(run) == {job.job_id: "ok" for job in JOBS[:3]}
    assert json.loads(run.summary.read_bytes())["counts"]["ok"] == 3


def test_torn_logs_are_ended_and_stay_a_fact(run):
    for path in (run.control, run.journal("main")):
        with path.open("ab") as log:
            log.write(b'{"v":1,"se')
    found = check_run(run.path)
    assert {f.path: f.mended_by for f in found if f.code == "torn-line"} == {
        "control.jsonl": "repair",
        "journal-main.jsonl": "nothing",
    }
    assert [(f.code, f.mended_by) for f in repair_run(run.path)] == [("torn-line", "nothing"), ("torn-line", "nothing")]
    assert run.control.read_bytes().endswith(b"\n")


def test_a_declared_job_whose_folder_or_result_is_gone_is_left_to_resume(run):
    run.job(ID).fresh()
    (run.jobs / JOBS[1].job_id).rename(run.path / "elsewhere")
    left = [f for f in repair_run(run.path) if f.code == "lost-result"]
    assert [(f.path, f.mended_by) for f in left] == [(f"jobs/{job.job_id}/results.json", "resume") for job in JOBS[:2]]
    with run.results_csv.open(newline="") as lines:
        assert [row["status"] for row in csv.DictReader(lines)] == ["not_run", "not_run", "ok", "not_run"]


def test_a_job_under_way_is_no_finding(run):
    writer = EventWriter(run.job(JOBS[3].job_id).fresh())
    writer.write(whole_job(JOBS[3])[0])
    writer.close()
    write_files_index(run)
    with Journal(run) as journal:
        journal.indexed(seal_of(run.files_index))
    assert check_run(run.path) == []


def test_what_nothing_can_rebuild_is_set_aside_named_and_accepted_by_a_person(run):
    events = run.job(ID).events
    lines = events.read_bytes().splitlines(keepends=True)
    broken = b"".join(lines[:5] + lines[6:])
    events.write_bytes(broken)
    blob = next(path for path in run.job(JOBS[1].job_id).blobs.rglob("*") if path.is_file())
    blob.unlink()
    run.job(JOBS[2].job_id).events.unlink()
    results = [run.job(job.job_id).results.read_bytes() for job in JOBS[:3]]
    assert {(f.code, f.mended_by) for f in check_run(run.path)} >= {("damaged", "repair"), ("lost", "accept")}
    left = repair_run(run.path)
    assert {f.code for f in left} == {"lost", "missing-blob"}
    assert (run.lost_and_found / "jobs" / ID / "events.jsonl.1").read_bytes() == broken
    with pytest.raises(RunDirError, match="vouches for"):
        load_run(run.path).events(ID)
    assert {f.path for f in accept_losses(run.path)} == {f.path for f in left if f.mended_by == "accept"}
    assert [f.code for f in check_run(run.path) if f.mended_by != "nothing"] == []
    assert load_run(run.path).events(ID) == ()
    assert [run.job(job.job_id).results.read_bytes() for job in JOBS[:3]] == results


def test_a_folder_that_the_manifest_does_not_know_is_a_fact(run):
    (run.jobs / "ffffffffffff").mkdir()
    assert [(f.code, f.mended_by) for f in repair_run(run.path)] == [("orphan-job", "nothing")]


def test_a_changed_result_that_events_bear_out_is_committed_anew(run):
    result = run.job(ID).results
    good = result.read_bytes()
    damage(result, good.replace(b'"score_test": 1.5', b'"score_test": 9.9'))
    assert codes(check_run(run.path)) == ["stale-index", "stale-result", "stale-table"]
    repair_run(run.path)
    assert content_hash(result.read_bytes()) == content_hash(good)


def test_repair_waits_for_no_run_that_is_under_way(run):
    with RunLock(run), pytest.raises(RunDirError, match="in use"):
        repair_run(run.path)


@pytest.mark.parametrize("way", ["jobs/x/../../..", "jobs/..", "llm/blobs/../../..", "jobs//..", "jobs/./../.."])
def test_a_repair_of_a_strangers_run_moves_nothing_that_lies_elsewhere(run, way):
    """Whoever hands a run on may have written into its index whatever he likes."""
    index, rest = run.path / "meta/files_index.json", run.path.parent
    (rest / "thesis.txt").write_text("years")
    (run.path / "thesis.txt").write_text("years")
    repair_run(run.path)
    entry = json.dumps({"path": f"{way}/thesis.txt", "size": 1, "sha256": "0" * 64})
    index.write_text(index.read_text().replace('"files": [\n', f'"files": [\n    {entry},\n', 1))
    with Journal(run) as journal:
        journal.indexed(seal_of(index))
    repair_run(run.path)
    assert (rest / "thesis.txt").read_text() == "years"
    assert (run.path / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize("job_id", ["", ".", "..", "../../mine", "/mine", "a/b", "a\0b"])
def test_a_job_is_called_as_a_folder_can_be(job_id):
    with pytest.raises(ValueError, match="no folder can be called so"):
        job_spec(job_id=job_id)


def test_a_manifest_whose_jobs_lead_elsewhere_is_refused(run):
    manifest = run.path / "meta/manifest.json"
    manifest.write_text(manifest.read_text().replace(ID, "../../../mine"))
    with pytest.raises(RunDirError):
        list(load_run(run.path).planned)
