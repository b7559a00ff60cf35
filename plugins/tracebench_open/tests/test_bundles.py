"""Bundles, registrations and configs as files: what has a place in them, what is refused, and in which words."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.full_disk import full_disk

from tracebench_core.errors import UsageError
from tracebench_open import registration, submission
from tracebench_open.bench import gather, plan, recompute
from tracebench_open.submission import ABOUT, Verdict

JOB = {"task_id": "a:b", "trainer_id": "NoOp", "params": {}}
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def bundle(path: Path, **members: bytes | str) -> Path:
    about = json.dumps({"kind": submission.KIND, "run_id": "r"})
    with zipfile.ZipFile(path, "w") as file:
        for name, data in {ABOUT: about, **members}.items():
            file.writestr(name, data)
    return path


def refused(path: Path, place: Path) -> str:
    with pytest.raises(UsageError) as error:
        submission._unpack(path, place)
    assert error.value.hint == "trace-bench submit write RUN --to FILE"
    return str(error.value)


def test_a_bundle_is_laid_out_without_what_tells_of_it(tmp_path: Path) -> None:
    path = bundle(tmp_path / "b.zip", **{"meta/a.json": "{}", "b": b"\xff"})
    about = submission._unpack(path, tmp_path / "run")
    assert about == {"kind": "submission", "run_id": "r"}
    files = {file.relative_to(tmp_path / "run").as_posix() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    assert files == {"meta/a.json", "b"}
    assert (tmp_path / "run/b").read_bytes() == b"\xff"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "folder/"])
def test_what_lies_elsewhere_has_no_place(tmp_path: Path, name: str) -> None:
    said = refused(bundle(tmp_path / "b.zip", **{name: "x"}), tmp_path / "in/run")
    assert said == f"`{name}` has no place in a submission."
    assert not (tmp_path / "in/x").exists()


def test_a_link_and_a_file_that_comes_twice_have_no_place(tmp_path: Path) -> None:
    path = bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path, "a") as file:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = 0o120777 << 16
        file.writestr(entry, "/etc/passwd")
    assert refused(path, tmp_path / "run") == "`link` has no place in a submission."
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", "2")
    assert refused(path, tmp_path / "other") == "`a` has no place in a submission."


def test_what_is_no_bundle_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "none", tmp_path / "1") == f"`{tmp_path / 'none'}` is no file."
    assert refused(tmp_path, tmp_path / "1") == f"`{tmp_path}` is no file."
    (tmp_path / "t").write_text("x")
    assert (
        refused(tmp_path / "t", tmp_path / "1")
        == f"`{tmp_path / 't'}` cannot be read as a submission: File is not a zip file."
    )
    path = tmp_path / "b.zip"
    for number, about in enumerate(("[]", "{}", '{"kind": "other"}')):
        assert refused(bundle(path, **{ABOUT: about}), tmp_path / f"k{number}") == f"`{path}` is no submission."
    assert "cannot be read as a submission: " in refused(bundle(path, **{ABOUT: "{"}), tmp_path / "j")
    monkeypatch.setattr(submission, "MOST", 3)
    submission._unpack(bundle(path, a="", b=""), tmp_path / "few")
    assert refused(bundle(path, a="", b="", c=""), tmp_path / "many") == f"`{path}` is too large to be a submission."
    monkeypatch.setattr(submission, "LARGEST", 100)
    assert refused(bundle(path, a="x" * 100), tmp_path / "large") == f"`{path}` is too large to be a submission."


def test_a_folder_is_gone_through_by_name_and_told_bundle_by_bundle(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        submission.check_all(tmp_path)
    assert str(error.value) == f"`{tmp_path}` holds no bundle."
    assert error.value.hint == "trace-bench submit write RUN --to FOLDER/NAME.zip"
    for name in ("b.zip", "a.zip", ".c.zip", "d.txt"):
        (tmp_path / name).write_text("x")
    found = submission.check_all(tmp_path)
    assert [*found] == ["a.zip", "b.zip"]
    assert "cannot be read as a submission" in found["a.zip"].refused["receipts"][0]


def test_scores_are_beside_those_of_the_same_options_and_caps() -> None:
    verdict = Verdict()
    submission._alarm({("T", "a:b", "[]"): [1.0]}, None, verdict)
    assert verdict.told == ["a:b x T: no reference under these options and caps, so that the alarm could not be asked"]
    assert not verdict.refused


def made(*jobs: tuple[dict[str, Any], int], folder: Path) -> registration.Registration:
    (folder / "c.json").write_text("{}")
    return registration.promise([folder / "c.json"], jobs, ["q 2", "p 1", "p 1"], now=NOW)


def test_a_registration_has_its_jobs_in_series_and_is_read_as_it_was_written(tmp_path: Path) -> None:
    other = {**JOB, "params": {"n": 1}}
    found = made((JOB, 1), (JOB, 2), (other, 1), (JOB, 3), folder=tmp_path)
    assert [(one.job, one.seeds) for one in found.jobs] == [(JOB, (1, 2)), (other, (1,)), (JOB, (3,))]
    assert (found.plugins, found.registered_at.microsecond) == (("p 1", "q 2"), 0)
    assert [registration.words_of(one, seed) for _, one, seed in found.promised()] == [
        "a:b x NoOp seed=1", "a:b x NoOp seed=2", 'a:b x NoOp {"n":1} seed=1', "a:b x NoOp seed=3",
    ]  # fmt: skip
    registration.write(found, tmp_path / "r.json")
    assert registration.read(tmp_path / "r.json") == found
    assert made((JOB, 1), folder=tmp_path).nonce != made((JOB, 1), folder=tmp_path).nonce


def test_a_registration_is_of_each_job_once_and_never_written_over(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        made((JOB, 1), ({**JOB, "params": {"n": 1}}, 1), (JOB, 1), folder=tmp_path)
    assert str(error.value) == "These configs mean the same job twice: a:b x NoOp seed=1."
    assert error.value.hint == "leave one of them out"
    found = made((JOB, 1), folder=tmp_path)
    registration.write(found, tmp_path / "r.json")
    with pytest.raises(
        UsageError, match=r"r\.json` is there already; a registration is never written twice\."
    ) as error:
        registration.write(found, tmp_path / "r.json")
    assert error.value.hint == "--to FILE"
    with pytest.raises(UsageError, match=r"r\.json` cannot be written: No such file or directory\."):
        registration.write(found, tmp_path / "none/r.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plugins": ["x"]}, "was changed: its jobs do not have the head that it tells"),
        ({"registered_at": "2026-01-02T03:04:06Z"}, "was changed: "),
        ({"nonce": "0" * 64}, "was changed: "),
        ({"registered_at": "2026-01-02T03:04:05"}, "is no registration: registered_at: "),
        ({"jobs": []}, "is no registration: jobs: "),
        ({"configs": []}, "is no registration: configs: "),
        ({"kind": "x"}, "is no registration: kind: "),
        ({"more": 1}, "is no registration: more: "),
        ({"head": "0"}, "is no registration: head: "),
        ({"jobs": [{"job": {"task_id": "t"}, "seeds": [1]}]}, "a job has a `trainer_id`"),
        ({"jobs": [{"job": {"trainer_id": "t"}, "seeds": [1]}]}, "a job has a `task_id`"),
        ({"jobs": [{"job": JOB, "seeds": []}]}, "is no registration: jobs.0.seeds: "),
    ],
)  # fmt: skip
def test_a_registration_that_was_changed_is_none(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    told = json.loads(made((JOB, 1), folder=tmp_path).model_dump_json()) | change
    (tmp_path / "r.json").write_text(json.dumps(told))
    with pytest.raises(UsageError) as error:
        registration.read(tmp_path / "r.json")
    assert words in str(error.value)
    with pytest.raises(UsageError, match=r"none` cannot be read: No such file or directory\.") as error:
        registration.read(tmp_path / "none")
    assert error.value.hint == "trace-bench preregister commit CONFIG --to FILE"


def test_configs_are_written_once_and_stay_what_they_were(tmp_path: Path) -> None:
    parts = [{"name": "a", "config": {"seeds": [1]}}, {"name": "b", "config": {"seeds": [2]}}]
    folder = tmp_path / "new/keep"
    paths = plan.write_configs(parts, folder)
    assert paths == [folder / "a.json", folder / "b.json"] == plan.write_configs(parts, folder)
    assert json.loads(paths[1].read_text()) == {"seeds": [2]}
    with pytest.raises(UsageError) as error:
        plan.write_configs([{"name": "a", "config": {}}], folder)
    assert str(error.value) == f"`{paths[0]}` is of another size, release or version."
    assert error.value.hint == "--keep ANOTHER-FOLDER"
    now = [{"name": "a", "config": {}, "title": "A"}, {"name": "c", "config": {"own": 1}}]
    assert plan.as_promised(now, folder) == [{"name": "a", "config": {"seeds": [1]}, "title": "A"}, now[1]]
    paths[0].write_text("{")
    with pytest.raises(UsageError) as error:
        plan.as_promised(now, folder)
    assert str(error.value).startswith(f"`{paths[0]}` is not the config that was promised: ")
    assert error.value.hint == f"ls -l {paths[0]}"


def test_a_receipt_is_the_same_bytes_each_time_and_names_no_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"b": b"2", "a": b"1"}
    gather._write_zip(tmp_path / "one.zip", members)
    gather._write_zip(tmp_path / "two.zip", dict(reversed(members.items())))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        assert [(one.filename, one.date_time[0], one.external_attr >> 16) for one in file.infolist()] == [
            ("a", 1980, 0o644), ("b", 1980, 0o644),
        ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for place in (Path.home(), tmp_path):
        with pytest.raises(UsageError) as error:
            gather._write_zip(tmp_path / "part.zip", {"jobs/x": f"in {place}/file".encode()})
        assert str(error.value) == (
            "`jobs/x` of `part` names a folder or the name of this machine, which a receipt must not."
        )
    assert not (tmp_path / "part.zip").exists()


def test_of_what_the_disk_cannot_hold_nothing_is_left_and_what_was_there_stays(tmp_path: Path) -> None:
    run_dir, folder = tmp_path / "run", tmp_path / "to"
    run_dir.mkdir()
    folder.mkdir()
    (run_dir / "manifest.json").write_text("{}")
    parts = [{"name": "a", "config": {"seeds": [1]}}]
    receipt, (config,) = folder / "a.zip", plan.write_configs(parts, folder)
    gather._write_zip(receipt, {"a": b"1"})
    before = {path: path.read_bytes() for path in (receipt, config)}
    with full_disk(), pytest.raises(OSError, match="File too large"):
        gather._write_zip(receipt, {"a": b"2"})
    with full_disk(), pytest.raises(OSError, match="File too large"):
        plan.write_configs(parts, folder)
    with full_disk(), pytest.raises(UsageError, match="cannot be written: File too large"):
        submission._packed(folder / "b.zip", run_dir, "{}")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_checkout_tells_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.environ["PATH"]
    (tmp_path / "git").write_text("#!/bin/sh\n[ \"$*\" = 'rev-parse --short=12 HEAD' ] && echo 0123456789ab\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{path}")
    assert gather.this_commit() == "0123456789ab"
    (tmp_path / "git").write_text("#!/bin/sh\necho 'fatal: no repository' >&2; exit 128\n")
    assert gather.this_commit() == "no checkout"
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert gather.this_commit() == "no checkout"
    with pytest.raises(UsageError, match=r"^The run of `part` is not there\.$") as error:
        gather._sound(tmp_path / "none", "part")
    assert error.value.hint == "trace-bench open-bench run"


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (1.0, 1.0 + 1e-8, []), (1.0, 1.0 + 1e-6, ["w: computed in two ways, it is 1.0 and 1.000001"]), (0.0, 1e-8, []),
        (1e9, 1e9 + 10, []), (None, None, []), (None, 1.0, ["w: computed in two ways, it is None and 1.0"]),
        (1.0, None, ["w: computed in two ways, it is 1.0 and None"]), ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 1}, ["w: computed in two ways, they are not the same figures"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["w, a, b: computed in two ways, it is 1 and 2"]),
    ],
)  # fmt: skip
def test_two_ways_to_compute_lie_apart_by_more_than_rounding(one: Any, other: Any, apart: list[str]) -> None:
    assert [*recompute._apart("w", one, other)] == apart


def test_a_receipt_is_laid_out_in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.zip"

    def laid_out(name: str, to: str) -> list[str]:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("fine", "x")
            file.writestr(name, "yy")
        return [*recompute._unpacked(path, tmp_path / to)]

    assert laid_out("a/b", "1") == []
    assert (tmp_path / "1/a/b").read_text() == "yy"
    for number, name in enumerate(("../x", "/x", "folder/")):
        assert laid_out(name, f"in/{number}") == [f"`{name}` has no place in a receipt"]
    assert not (tmp_path / "in/x").exists()
    monkeypatch.setattr(recompute.receipts, "LARGEST", 2)
    assert laid_out("a", "2") == []
    monkeypatch.setattr(recompute.receipts, "LARGEST", 1)
    assert laid_out("a", "3") == ["`a` is too large"]
    path.write_text("torn")
    assert [*recompute._unpacked(path, tmp_path / "4")] == ["it cannot be read: File is not a zip file"]
