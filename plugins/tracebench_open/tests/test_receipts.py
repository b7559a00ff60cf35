"""A receipt as the standard library reads it: what one of two jobs holds, and each way in which it is not what its journal sealed."""

from __future__ import annotations

import copy
import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_open.tests.forging import rechained

from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone import receipts
from tracebench_open.bench.alone.receipts import LARGEST, Receipt, WrongError, canonical, digest, merkle
from tracebench_open.bench.alone.what_if import WHAT_IF

Made = dict[str, Any]
BUDGET = {"llm_calls": 3, "usd": None, "strict": False}
USED = {"llm_calls": 2, "evaluations": 4, "usd": 0.75, "tokens": 9}
UNUSED = {"llm_calls": 0, "evaluations": 0, "usd": None, "tokens": 0}
JOBS = [
    {
        "job_id": id_, "task_id": "t", "trainer_id": "A", "seed": seed, "salt": "s", "label": "", "budget": BUDGET,
        "eval_kwargs": {}, "params": {"n": 1},
    }
    for id_, seed in (("a", 1), ("b", 2))
]  # fmt: skip
AT, SINCE = "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z"


def result_of(job: Made) -> Made:
    same = {name: job[name] for name in ("job_id", "task_id", "trainer_id", "seed")}
    return same | {"status": "ok", "stop_reason": "", "used": dict(USED)}


def call(job: str, usd: float | None, **more: Any) -> Made:
    return {"kind": "llm_call", "phase": "training", "status": "ok", "job_id": job, "usd": usd} | more


@pytest.fixture
def made() -> Made:
    """What a run was, before it is sealed."""
    return {
        "manifest": {
            "run_id": "r", "created_at": AT, "jobs": copy.deepcopy(JOBS), "tasks": {"t": {"source": "from here"}},
        },
        "results": {job["job_id"]: result_of(job) for job in JOBS},
        "ledger": [
            call("a", 0.25), call("b", 0.75), call("a", 0.5), call("b", None),
            call("a", 9, phase="judging"), call("a", 9, status="error"), call("a", 9, kind="other"),
        ],
        "events": {"a": b"{}\n"},
        "further": [],
        "budget": {"llm_calls": 3},
    }  # fmt: skip


def sealed(made: Made, to: Path, forge: Callable[[dict[str, bytes], list[Made]], None] | None = None) -> Receipt:
    """Write a run as a receipt whose journal vouches for it, forge what it vouches for, and read it."""
    members = {
        "meta/manifest.json": json.dumps(made["manifest"]).encode(),
        "llm/ledger.jsonl": "".join(json.dumps(one) + "\n" for one in made["ledger"]).encode(),
        **{f"jobs/{id_}/results.json": json.dumps(one).encode() for id_, one in made["results"].items()},
        **{f"jobs/{id_}/events.jsonl": data for id_, data in made["events"].items()},
    }
    seals = {name: [len(members[name]), digest(members[name])] for name in ("meta/manifest.json", "llm/ledger.jsonl")}
    records: list[Made] = [{"kind": "opened", "files": {"meta/manifest.json": seals["meta/manifest.json"]}}]
    for id_, one in made["results"].items():
        events = made["events"].get(id_, b"")
        records.append({
            "kind": "job_finished", "job": id_, "status": one["status"],
            "digest": digest(members[f"jobs/{id_}/results.json"]), "events": [len(events), digest(events)],
        })  # fmt: skip
    records += [*made["further"], {"kind": "sealed", "files": {"llm/ledger.jsonl": seals["llm/ledger.jsonl"]}}]
    if forge is not None:
        forge(members, records)
    head = rechained(members, records)
    with zipfile.ZipFile(to, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return Receipt({"head": head, "budget": made["budget"], "file": to.name, "run_id": "r"}, to)


def test_a_sound_receipt_tells_its_jobs_and_what_was_spent(made: Made, tmp_path: Path) -> None:
    found = sealed(made, tmp_path / "r.zip")
    assert [*found.results] == ["a", "b"]
    assert found.spent == {"llm_calls": 4, "usd": 1.5}, "calls of training that were answered"
    content = {**JOBS[0], "source": "from here"}
    for name in ("job_id", "salt", "label", "seed"):
        del content[name]
    assert next(found.marks()) == (digest(canonical([content, 1])), "t x A, seed 1")
    assert [words for _, words in found.marks()] == ["t x A, seed 1", "t x A, seed 2"]


def test_without_a_call_there_is_no_ledger(made: Made, tmp_path: Path) -> None:
    for one in made["results"].values():
        one["used"] = dict(UNUSED)
    made["ledger"] = []

    def none(members: dict[str, bytes], records: list[Made]) -> None:
        del members["llm/ledger.jsonl"]
        del records[-1]

    assert sealed(made, tmp_path / "r.zip", none).spent == {"llm_calls": 0, "usd": 0.0}


def changes(name: str, data: bytes) -> Callable[[dict[str, bytes], list[Made]], None]:
    return lambda members, _: members.update({name: data})


def drops(name: str) -> Callable[[dict[str, bytes], list[Made]], None]:
    return lambda members, _: (members.pop(name), None)[1]


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (changes("meta/manifest.json", b"{}"), "`meta/manifest.json` is not what the journal sealed"),
        (changes("llm/ledger.jsonl", b""), "`llm/ledger.jsonl` is not what the journal sealed"),
        (drops("llm/ledger.jsonl"), "`llm/ledger.jsonl` is not what the journal sealed"),
        (changes("jobs/b/results.json", b"{}"), "`jobs/b/results.json` is not what the journal sealed"),
        (changes("jobs/a/events.jsonl", b"{ \n"), "`jobs/a/events.jsonl` is not what the journal sealed"),
        (changes("jobs/a/events.jsonl", b""), "`jobs/a/events.jsonl` is not what the journal sealed"),
        (drops("jobs/b/results.json"), "`jobs/b/results.json` is missing"),
        (drops("meta/manifest.json"), "`meta/manifest.json` is missing"),
        (lambda _, records: records.pop(2) and None, "job b (t x A, seed 2) has not ended"),
        (lambda _, records: records.append({"kind": "accepted"}), "damage was accepted in this run"),
        (lambda _, records: records.append(dict(records[1])), "job a ended twice: somebody could choose"),
        (lambda _, records: records[1].update(status="not_run"), "job a (t x A, seed 1) has not ended"),
        (lambda _, records: records[1].update(status="unscored"), "job a (t x A, seed 1) has not ended"),
    ],
)  # fmt: skip
def test_what_the_journal_did_not_seal_is_told(made: Made, tmp_path: Path, forge: Any, words: str) -> None:
    with pytest.raises(WrongError) as error:
        sealed(made, tmp_path / "r.zip", forge)
    assert str(error.value) == words


def test_events_may_be_left_out_and_a_job_that_was_begun_again_after_it_was_skipped_ended_once(
    made: Made, tmp_path: Path
) -> None:
    def forge(members: dict[str, bytes], records: list[Made]) -> None:
        del members["jobs/a/events.jsonl"]
        records.insert(1, {"kind": "job_finished", "job": "a", "status": "skipped", "digest": "0", "events": []})

    assert [*sealed(made, tmp_path / "r.zip", forge).results] == ["a", "b"]


def skipped(one: Made, **more: Any) -> None:
    one.update({"status": "skipped", "stop_reason": "not applicable: x", "used": dict(UNUSED)} | more)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["results"]["a"].update(job_id="b"), "`jobs/a/results.json` is the result of another job"),
        (lambda m: m["results"]["a"].update(task_id="u"), "`jobs/a/results.json` is the result of another job"),
        (lambda m: m["results"]["a"].update(trainer_id="B"), "`jobs/a/results.json` is the result of another job"),
        (lambda m: m["results"]["a"].update(seed=3), "`jobs/a/results.json` is the result of another job"),
        (lambda m: m.update(budget={"llm_calls": 4}), "its jobs do not have the budget that bench.json tells"),
        (lambda m: m["manifest"]["jobs"][1].update(budget={}), "its jobs do not have the budget that bench.json tells"),
        (lambda m: skipped(m["results"]["a"], stop_reason="cap"), "job a (t x A, seed 1) was skipped"),
        (lambda m: skipped(m["results"]["a"]), "some jobs of A on t were not for it, others were"),
        (lambda m: m["results"]["a"]["used"].update(llm_calls=3), "job a tells 3 calls and 0.75 USD, the ledger others"),
        (lambda m: m["results"]["b"]["used"].update(usd=0.7500001), "job b tells 2 calls and 0.7500001 USD, the ledger others"),
        (lambda m: m["results"]["b"]["used"].update(usd=None), "job b tells 2 calls and None USD, the ledger others"),
    ],
)  # fmt: skip
def test_what_does_not_agree_with_itself_is_told(made: Made, tmp_path: Path, change: Any, words: str) -> None:
    change(made)
    with pytest.raises(WrongError) as error:
        sealed(made, tmp_path / "r.zip")
    assert str(error.value) == words


def test_rounding_of_a_billionth_is_none(made: Made, tmp_path: Path) -> None:
    made["results"]["b"]["used"]["usd"] = 0.75 + 5e-10
    assert sealed(made, tmp_path / "r.zip").spent["llm_calls"] == 4


def test_a_trainer_that_no_job_of_a_task_is_for_has_said_so_of_all(made: Made, tmp_path: Path) -> None:
    for one in made["results"].values():
        skipped(one)
    made["ledger"] = []
    assert sealed(made, tmp_path / "r.zip").spent["llm_calls"] == 0


def test_a_zip_that_is_too_large_or_holds_a_file_twice_is_not_read(tmp_path: Path) -> None:
    part = {"head": "0", "budget": {}}
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as file:
        file.writestr("a", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", b"")
    with pytest.raises(WrongError, match="it holds a file twice"):
        Receipt(part, tmp_path / "twice.zip")
    with zipfile.ZipFile(tmp_path / "large.zip", "w", zipfile.ZIP_STORED) as file:
        file.writestr("a", b"x")
    data = (tmp_path / "large.zip").read_bytes()
    at = data.index(b"PK\x01\x02") + 24  # where the directory tells how large it is unpacked
    (tmp_path / "large.zip").write_bytes(data[:at] + (LARGEST + 1).to_bytes(4, "little") + data[at + 4 :])
    with pytest.raises(WrongError, match="it is too large to be a receipt"):
        Receipt(part, tmp_path / "large.zip")
    with pytest.raises(WrongError, match=r"it cannot be read: .*No such file"):
        Receipt(part, tmp_path / "none.zip")


def registration(jobs: list[Made] = JOBS, **changed: Any) -> Made:
    told: Made = {
        "nonce": "n", "registered_at": SINCE, "plugins": ["p 1"], "configs": [{"name": "c.json", "sha256": "0"}],
        "jobs": [],
    }  # fmt: skip
    for job in jobs:
        content = {name: value for name, value in job.items() if name not in receipts.NOT_PROMISED}
        told["jobs"].append({"job": content | {"source": "from here"}, "seeds": [job["seed"]]})
    told |= changed
    leaves: list[Any] = [["nonce", told["nonce"]], ["registered_at", AT], ["plugins", told["plugins"]]]
    leaves += [["config", one["name"], one["sha256"]] for one in told["configs"]]
    leaves += [["job", one["job"], seed] for one in told["jobs"] for seed in one["seeds"]]
    return told | {"head": merkle([canonical(leaf) for leaf in leaves])}


def against(told: Made, runs: list[Receipt], *, head: str | None = None, **bench: Any) -> list[str]:
    known = {"registration": told["head"], "not_run": 0} | bench
    return [*receipts.promises(known, runs, json.dumps(told).encode(), head)]


def test_a_promise_is_kept_by_what_was_promised_once_each_and_after_it(made: Made, tmp_path: Path) -> None:
    run, told = sealed(made, tmp_path / "r.zip"), registration()
    assert against(told, [run]) == against(told, [run], head=told["head"]) == []
    published = f"registration.json: its head is {told['head']}, which is not the one that was published"
    assert against(told, [run], head="0") == against(told, [run], registration="0") == [published]
    assert against(told, [run, run]) == [f"r.zip: t x A, seed {n} was run twice, or nobody promised it" for n in (1, 2)]

    third = {**JOBS[0], "seed": 3}
    more = registration([*JOBS, third])
    assert against(more, [run]) == [
        "registration.json: 1 promised jobs are in no receipt, though others of the same task and budget are"
    ]
    other = registration([*JOBS, {**third, "task_id": "u"}, {**third, "budget": {"usd": 1}}])
    assert against(other, [run], not_run=2) == []
    assert against(other, [run]) == ["registration.json: 2 promised jobs were not begun, and the page tells 0"]


def test_what_json_has_not_has_no_text() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": float("nan")})


def test_a_run_that_is_another_or_began_before_is_told(made: Made, tmp_path: Path) -> None:
    made["manifest"]["created_at"] = "2025-12-31T23:59:59+00:00"
    made["manifest"]["run_id"] = "other"
    assert against(registration(), [sealed(made, tmp_path / "r.zip")]) == [
        "r.zip: the run began before the registration was written",
        "r.zip: it is the run other, not r",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plugins": ["p 2"]}, "registration.json was changed: its jobs do not have the head that it tells"),
        ({"nonce": "m"}, "registration.json was changed: its jobs do not have the head that it tells"),
        ({"registered_at": "2026-01-02T00:00:00Z"}, "registration.json was changed: its jobs do not have the head that it tells"),
        ({"configs": []}, "registration.json was changed: its jobs do not have the head that it tells"),
        ({"jobs": None}, "it is no registration (TypeError("),
        ({"registered_at": "soon"}, "it is no registration (ValueError("),
    ],
)  # fmt: skip
def test_a_registration_that_was_changed_is_none(change: Made, words: str) -> None:
    told = registration() | change
    (said,) = against(told, [])
    assert said.startswith(f"registration.json: {words}")
    (said,) = receipts.promises({}, [], b"{", None)
    assert said.startswith("registration.json: registration.json is no JSON: ")


@pytest.fixture
def bench(made: Made, tmp_path: Path) -> Path:
    """A folder of one receipt, without a page."""
    run = sealed(made, tmp_path / "r.zip")
    told = registration()
    (tmp_path / "registration.json").write_text(json.dumps(told))
    part = {"name": "p", "file": "r.zip", "run_id": "r", "head": run.part["head"], "budget": {"llm_calls": 3}}
    bench = {"parts": [part], "registration": told["head"], "not_run": 0, "release": None}
    (tmp_path / "bench.json").write_text(json.dumps(bench))
    return tmp_path


def told_by(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *more: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["check.py", str(folder), *more])
    code = shown.main()
    return code, capsys.readouterr().out.splitlines()


def test_receipts_are_checked_without_a_page(
    bench: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    head = json.loads((bench / "registration.json").read_text())["head"]
    names = ("bench.json", "registration.json", "r.zip")
    own = merkle([canonical([name, hashlib.sha256((bench / name).read_bytes()).hexdigest()]) for name in names])
    so = f"All of it is so: 1 runs, registration {head[:16]}, root {own[:16]}."
    assert told_by(bench, capsys, monkeypatch) == (0, [so])
    assert told_by(bench, capsys, monkeypatch, "--root", own, "--head", head) == (0, [so])
    assert told_by(bench, capsys, monkeypatch, "--root", "0", "--head", "0") == (1, [
        f"registration.json: its head is {head}, which is not the one that was published",
        f"the root of these receipts is {own}, which is not the one that was kept",
    ])  # fmt: skip
    (bench / "r.zip").write_bytes(b"torn")
    code, (first, *_) = told_by(bench, capsys, monkeypatch)
    assert (code, first) == (1, "r.zip: it cannot be read: File is not a zip file")
    (bench / "bench.json").write_text("[]")
    code, (only,) = told_by(bench, capsys, monkeypatch)
    assert code == 1
    assert only.startswith(f"{bench}: these are no receipts of the open bench, or not its page: TypeError(")


def test_the_page_with_sliders_is_what_the_receipts_give_where_prices_are_told(bench: Path) -> None:
    told = json.loads((bench / "bench.json").read_text())
    assert [*shown.beside(bench, told, {})] == []
    (bench / WHAT_IF).write_bytes(b"\xff")
    assert [*shown.beside(bench, told, {})] == [f"{WHAT_IF} is of no page of this version: bench.json tells no prices"]
    (words,) = shown.beside(bench, told | {"prices": {}}, {})
    assert words.startswith(f"{WHAT_IF}: it cannot be read: 'utf-8' codec")
    (bench / WHAT_IF).unlink()
    (words,) = shown.beside(bench, told | {"prices": {}}, {})
    assert "No such file" in words
