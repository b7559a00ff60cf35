"""The journal's lines are chained and keyed: whatever somebody writes into it who has no key is named, and never taken for what was."""

from __future__ import annotations

import io
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.check.verifying import chain_of, verify_run
from tracebench_runs.journal import form as journal_form
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.keys import key_file, key_folder
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.results.results import trusted_result
from tracebench_runs.storage.layout import RunLayout

JOURNAL = "journal-main.jsonl"
Lines = list[bytes]


def make(folder: Path, *, seeds: list[int] | None = None) -> Path:
    config = {
        "tasks": ["internal:numeric_param"],
        "trainers": ["NoOp"],
        "seeds": seeds or [1, 2],
        "runs_dir": str(folder),
    }
    return api.run(parse_config(config), stream=io.StringIO()).run_dir


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("chain"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("other"), seeds=[3, 4])


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def lines(run: Path) -> Lines:
    return (run / JOURNAL).read_bytes().splitlines()


def write(run: Path, new: Lines) -> None:
    (run / JOURNAL).write_bytes(b"".join(line + b"\n" for line in new))


def told(run: Path) -> list[str]:
    return [f.message for f in check_run(run) if f.path == JOURNAL and f.code in {"damaged", "lost"}]


def record(line: bytes) -> dict[str, object]:
    plain = json.loads(line)
    return {name: value for name, value in plain.items() if name not in {"prev", "mac", "sum"}}


def place_of(found: Lines, kind: str) -> int:
    return next(n for n, line in enumerate(found) if json.loads(line)["kind"] == kind)


def resigned(found: Lines, place: int, changes: dict[str, object], *, key: bytes = b"guessed", to_end: bool) -> Lines:
    """Change a line, and compute all anew that needs no key: its sums, and with `to_end` the chain behind it."""
    new = list(found)
    before = journal_form.prev_of(new[place]) or ""
    for n in range(place, len(new) if to_end else place + 1):
        content = record(new[n]) | (changes if n == place else {})
        new[n] = journal_form.encode(content, before=before, key=key)
        before = journal_form.digest_of(new[n])
    return new


def without_chain(found: Lines) -> Lines:
    return [journal_form.encode(record(line)) for line in found]


def test_a_chain_is_kept_and_found_whole(run: Path) -> None:
    trust = read_trust(run)
    chain = trust.chains[JOURNAL]
    assert chain.n == len(lines(run)) - 1
    assert chain.head == journal_form.digest_of(lines(run)[-1])
    assert (chain.lost_keys, trust.damage, check_run(run)) == ((), [], [])
    key = key_file(json.loads(lines(run)[0])["key"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_folder().stat().st_mode) == 0o700
    secret = bytes.fromhex(key.read_text())
    for path in run.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert secret not in content
        assert secret.hex().encode() not in content


def _changed(run: Path, other: Path) -> Lines:
    found = lines(run)
    return resigned(found, place_of(found, "job_finished"), {"status": "failed"}, to_end=False)


def _changed_to_end(run: Path, other: Path) -> Lines:
    found = lines(run)
    return resigned(found, place_of(found, "job_finished"), {"status": "failed"}, to_end=True)


def _removed(run: Path, other: Path) -> Lines:
    found = lines(run)
    del found[place_of(found, "job_finished")]
    return found


def _moved(run: Path, other: Path) -> Lines:
    found = lines(run)
    a = place_of(found, "job_finished")
    found[a], found[a - 1] = found[a - 1], found[a]
    return found


def _doubled(run: Path, other: Path) -> Lines:
    found = lines(run)
    a = place_of(found, "job_started")
    return [*found, found[a]]


def _swapped(run: Path, other: Path) -> Lines:
    found, theirs = lines(run), lines(other)
    found[place_of(found, "job_finished")] = theirs[place_of(theirs, "job_finished")]
    return found


def _appended(run: Path, other: Path) -> Lines:
    found = lines(run)
    content = record(found[place_of(found, "job_finished")]) | {"n": len(found), "status": "failed"}
    return [*found, journal_form.encode(content, before=journal_form.digest_of(found[-1]), key=b"guessed")]


def _appended_plain(run: Path, other: Path) -> Lines:
    found = lines(run)
    content = record(found[place_of(found, "job_finished")]) | {"n": len(found), "status": "failed"}
    return [*found, journal_form.encode(content)]


FORGERIES: dict[str, Callable[[Path, Path], Lines]] = {
    "changed": _changed,
    "changed, chained to the end": _changed_to_end,
    "removed": _removed,
    "moved": _moved,
    "doubled": _doubled,
    "of another run": _swapped,
    "appended": _appended,
    "appended without a chain": _appended_plain,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_was_written_without_the_key_is_named_and_not_taken(run: Path, other: Path, forgery: str) -> None:
    head = read_trust(run).chains[JOURNAL].head
    write(run, FORGERIES[forgery](run, other))
    assert told(run), forgery
    assert "line" in told(run)[0].partition(":")[2]
    assert {end.status for end in read_trust(run).ends.values()} <= {"ok"}
    assert verify_run(run, head=head).verdict == "differs"

    resumed = api.resume(run, stream=io.StringIO())
    assert resumed.counts == {"ok": 2}
    assert told(run)
    accept_losses(run)
    assert told(run) == []
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert told(run) == []


def test_a_result_that_is_signed_anew_is_not_believed(run: Path) -> None:
    job = sorted((run / "jobs").iterdir())[0]
    results = job / "results.json"
    forged = json.loads(results.read_text()) | {"score_val_best": 99.0}
    results.write_text(json.dumps(forged, indent=2) + "\n")
    found = lines(run)
    place = next(n for n, line in enumerate(found) if record(line).get("job") == job.name and b"job_finished" in line)
    digest = content_hash(results.read_bytes())
    write(run, resigned(found, place, {"digest": digest}, to_end=True))

    assert f"`job_finished` of `{job.name}`" in told(run)[0]
    assert results.relative_to(run).as_posix() in {f.path for f in check_run(run)}
    with pytest.raises(RunDirError, match=r"results\.json. is not the file that the journal"):
        trusted_result(RunLayout(run).job(job.name), trust=read_trust(run))
    with pytest.raises(RunDirError, match=f"line {place}.*{job.name}"):
        api.load_run(run)
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert content_hash(results.read_bytes()) != digest


def test_a_chain_of_a_key_that_this_machine_never_drew_is_not_taken(finished: Path, run: Path) -> None:
    """The run is the one that was closed here: at its own place its keys are known."""
    found = lines(finished)
    forged = resigned(found, 0, {"key": "0" * 32}, to_end=True)
    assert read_trust(run).chains[JOURNAL].lost_keys == ()
    write(run, forged)
    assert read_trust(run).chains[JOURNAL].lost_keys == ("0" * 32,)  # a copy, of which nothing is known here: told
    kept = (finished / JOURNAL).read_bytes()
    try:
        write(finished, forged)
        assert told(finished)
        assert read_trust(finished).ends == {}
    finally:
        (finished / JOURNAL).write_bytes(kept)
    assert told(finished) == []


@pytest.mark.parametrize("loss", ["cut", "unchained"])
def test_a_run_that_was_put_back_is_told_where_it_was_closed(tmp_path: Path, loss: str) -> None:
    """Nothing in the run directory tells it: its index of files was cut with it."""
    run = make(tmp_path)
    found = lines(run)
    write(run, found[:-4] if loss == "cut" else without_chain(found))
    (run / "meta/files_index.json").unlink()
    assert "when the run was last closed here" in told(run)[0]
    repair_run(run)
    assert told(run)  # and goes on being told
    accept_losses(run)
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}


def test_a_lost_key_is_told_and_a_new_chain_begins_over_the_head_of_the_old(run: Path) -> None:
    old = read_trust(run).chains[JOURNAL]
    first = json.loads(lines(run)[0])["key"]
    key_file(first).rename(key_file(first).with_suffix(".away"))
    try:
        assert read_trust(run).chains[JOURNAL].lost_keys == (first,)
        assert check_run(run) == []
        assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
        begun = json.loads(lines(run)[old.n + 1])
        assert (begun["kind"], begun["prev"]) == ("chained", old.head)
        assert begun["key"] != first
        assert read_trust(run).chains[JOURNAL].lost_keys == (first,)
        assert check_run(run) == []
        write(run, _changed(run, run))  # the chain alone holds the old lines together
        assert told(run)
    finally:
        key_file(first).with_suffix(".away").rename(key_file(first))


def test_behind_a_process_that_was_cut_short_a_new_chain_begins(run: Path) -> None:
    with Journal(run) as journal:
        journal.job_started("a")
    with (run / JOURNAL).open("ab") as log:
        log.write(b'{"n":99,"t":"2026-')
    head = journal_form.digest_of(lines(run)[-2])
    with Journal(run) as journal:
        journal.job_started("b")
    begun = json.loads(lines(run)[-2])
    assert (begun["kind"], begun["prev"]) == ("chained", head)
    trust = read_trust(run)
    assert (trust.damage, trust.torn, trust.restarted >= {"a", "b"}) == ([], [JOURNAL], True)


def test_a_key_that_cannot_be_kept_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    run = make(tmp_path)
    assert "cannot be kept" in caplog.text
    chain = chain_of(run)
    assert chain is not None
    assert chain.lost_keys
    assert verify_run(run, head=chain.head).verdict == "match"
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert check_run(run) == []


def test_a_run_without_a_chain_stays_one(run: Path) -> None:
    kept = [record(line) for line in lines(run) if json.loads(line)["kind"] != "chained"]
    write(run, [journal_form.encode(content | {"n": n}) for n, content in enumerate(kept)])
    (run / "meta/files_index.json").unlink()
    assert chain_of(run) is None
    assert verify_run(run, head="0" * 64).verdict == "not chained"
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert chain_of(run) is None
    assert told(run) == []


def test_a_head_is_found_again_after_the_run_went_on(run: Path) -> None:
    head = read_trust(run).chains[JOURNAL].head
    assert verify_run(run, head=head).verdict == "match"
    assert verify_run(run).verdict == "whole"
    assert verify_run(run, head="f" * 64).verdict == "differs"
    api.resume(run, stream=io.StringIO())
    found = verify_run(run, head=head)
    assert (found.verdict, "gone on by" in found.words) == ("match", True)
    table = run / "results.csv"
    table.write_bytes(table.read_bytes().replace(b"NoOp", b"Best"))
    found = verify_run(run, head=head)
    assert (found.verdict, sorted(f.path for f in found.findings)) == (
        "differs",
        ["meta/files_index.json", "results.csv"],
    )
    (run / JOURNAL).unlink()
    assert verify_run(run, head=head).verdict == "lost"


def test_records_of_two_writers_are_chained_each(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path / "run").create()
    for worker in ("main", "other"):
        with Journal(layout, worker) as journal:
            journal.job_finished(worker, "ok")
    trust = read_trust(layout)
    assert {*trust.ends} == {"main", "other"}
    assert {*trust.chains} == {JOURNAL, "journal-other.jsonl"}
