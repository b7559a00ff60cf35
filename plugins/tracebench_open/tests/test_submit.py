"""`trace-bench submit`: one bundle that is accepted, and those that are refused, each with its law."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import warm
from tests.whole import HEAVY

from tracebench_core.errors import UsageError
from tracebench_open import laws, submission
from tracebench_open.bench.gather import gather
from tracebench_open.command import promised_by

pytestmark = pytest.mark.timeout(600)
CONFIG: dict[str, Any] = {
    "tasks": ["internal:code_param"],
    "trainers": ["NoOp", "RandomSearch"],
    "seeds": [1, 2],
    "mode": "real",
    "llm": {"model": "fields/p60-h20-r5"},
    "budget": {"llm_calls": 3, "evaluations": 40},
}


def trace_bench(*argv: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return warm.trace_bench(*map(str, argv), folder=folder, environ=os.environ, timeout=600)


def run(folder: Path, name: str, **changed: Any) -> Path:
    (folder / f"{name}.json").write_text(json.dumps(CONFIG | changed))
    done = trace_bench("run", "--config", f"{name}.json", "--runs-dir", name, folder=folder)
    assert done.returncode == 0, done.stderr
    return next(path for path in (folder / name).iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle of a run that was calibrated first and promised."""
    folder = tmp_path_factory.mktemp("submit")
    calibrated = trace_bench("calibrate", "internal:code_param", folder=folder)
    assert calibrated.returncode == 0, calibrated.stderr
    (folder / "good.json").write_text(json.dumps(CONFIG))
    assert trace_bench("preregister", "commit", "good.json", "--to", "promise", folder=folder).returncode == 0
    done = trace_bench(
        "submit", "write", run(folder, "good"), "--to", "good.zip", "--registration", "promise", folder=folder
    )
    assert done.returncode == 0, done.stderr
    return folder / "good.zip"


def changed(bundle: Path, to: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(bundle) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    with zipfile.ZipFile(to, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return to


def test_a_bundle_is_accepted(bundle: Path) -> None:
    done = trace_bench("submit", "check", bundle, folder=bundle.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("accepted: ")
    with zipfile.ZipFile(bundle) as file:
        assert not [name for name in file.namelist() if "salts" in name]


def test_a_task_that_was_not_calibrated_here_is_refused(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = run(tmp_path, "bad", trainers=["NoOp"], seeds=[1])
    trace_bench("submit", "write", folder, "--to", "bad.zip", folder=tmp_path)
    assert [*submission.check(tmp_path / "bad.zip").refused] == ["calibration"]


def test_a_changed_result_is_refused(bundle: Path, tmp_path: Path) -> None:
    def better(members: dict[str, bytes]) -> None:
        name = next(n for n in members if n.endswith("results.json"))
        members[name] = members[name].replace(b'"score_test": 0.', b'"score_test": 1.')

    found = submission.check(changed(bundle, tmp_path / "x.zip", better))
    assert [*found.refused] == ["receipts"]


@HEAVY
def test_a_dropped_seed_is_refused(bundle: Path, tmp_path: Path) -> None:
    def drop(members: dict[str, bytes]) -> None:
        name = next(n for n in members if n.endswith("results.json"))
        for one in [n for n in members if n.startswith(name.rpartition("/")[0])]:
            members.pop(one)

    assert submission.check(changed(bundle, tmp_path / "x.zip", drop)).refused


@pytest.fixture(scope="module")
def lavish(bundle: Path) -> Path:
    """Return the bundle of a run without a cap on calls, tokens or USD."""
    folder = run(bundle.parent, "lavish", trainers=["NoOp"], budget={"evaluations": 40})
    return written(folder, bundle.parent / "lavish.zip")


@pytest.fixture(scope="module")
def scripted(bundle: Path) -> Path:
    """Return the bundle of a run that asked no model."""
    folder = run(bundle.parent, "scripted", trainers=["NoOp"], mode="stub", llm={})
    return written(folder, bundle.parent / "scripted.zip")


def written(folder: Path, to: Path) -> Path:
    done = trace_bench("submit", "write", folder, "--to", to, folder=to.parent)
    assert done.returncode == 0, done.stderr
    return to


@pytest.mark.parametrize(("law", "broken"), [("budget", "lavish"), ("protection", "scripted")])
def test_a_run_that_breaks_a_law_is_refused(law: str, broken: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(broken)
    told = trace_bench("submit", "check", path, "--json", folder=path.parent)
    assert told.returncode == 1
    assert law in json.loads(told.stdout)["refused"]


@pytest.fixture(scope="module")
def reference(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return receipts of an open bench under the caps of `bundle`, with a model that never improves anything."""
    folder = tmp_path_factory.mktemp("reference")
    task = {"id": "internal:code_param", "eval_kwargs": {}}
    useless = {"model": "fields/p0-h60-r5"}
    config = CONFIG | {
        "tasks": [task],
        "trainers": ["NoOp", "BestOfN"],
        "llm": useless,
        "run_id": "open-bench-reference",
    }
    path = run(bundle.parent, "modest", **config)
    promise = promised_by([bundle.parent / "modest.json"])
    budget = CONFIG["budget"]
    part = {"name": "part", "title": "A part", "one_scale": False, "budget": budget, "config": config}
    gather([part], path.parent, promise, size="tiny", release="2026-11", to=folder / "bench")
    return folder / "bench"


@HEAVY  # each law has a test of its own
def test_a_folder_of_bundles_is_gone_through(bundle: Path, lavish: Path, reference: Path, tmp_path: Path) -> None:
    """One is accepted; a budget that was broken, a forged score and what is too good are refused, each by its law."""

    def forge(members: dict[str, bytes]) -> None:
        name = next(n for n in members if n.endswith("results.json"))
        members[name] = re.sub(rb'"score_test": [-0-9.]+', b'"score_test": 0.99', members[name])

    sent = tmp_path / "sent"
    sent.mkdir()
    modest = next((bundle.parent / "modest").iterdir())
    written(modest, sent / "modest.zip")
    (sent / "lavish.zip").write_bytes(lavish.read_bytes())
    changed(sent / "modest.zip", sent / "forged.zip", forge)
    (sent / "great.zip").write_bytes(bundle.read_bytes())
    (sent / "notes.txt").write_text("is no bundle, and no ZIP")
    argv = ("submit", "check", sent, "--reference", reference)
    done = trace_bench(*argv, "--json", folder=bundle.parent)
    found = json.loads(done.stdout)["submissions"]
    assert done.returncode == 1
    assert {name: [*one["refused"]] for name, one in found.items()} == {
        "forged.zip": ["receipts"],
        "great.zip": ["too good"],
        "lavish.zip": ["budget"],
        "modest.zip": [],  # of the same run as the forged one, which takes nothing from it
    }
    for name in ("forged", "lavish", "great"):
        (sent / f"{name}.zip").unlink()
    (sent / "once-more.zip").write_bytes((sent / "modest.zip").read_bytes())
    done = trace_bench(*argv, folder=bundle.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert (lines[0], lines[1][:9], lines[2], lines[3][:8]) == (
        "modest.zip:",
        "accepted:",
        "once-more.zip:",
        "refused:",
    )
    assert "`modest.zip` holds the same run" in done.stdout


def test_what_is_too_good_gives_the_alarm() -> None:
    reference = {"best": [0.5, 0.52, 0.48, 0.5, 0.51], "worst": [0.1, 0.2, 0.1, 0.2, 0.1]}
    assert laws.too_good([0.5, 0.53, 0.49], reference) == ""
    assert "best reference, best" in laws.too_good([0.95, 0.96, 0.97], reference)
    assert laws.too_good([0.4], reference) == ""
    assert laws.too_good([0.9, 0.9], {}) == ""


@pytest.mark.parametrize("name", ["../out", "/abs/olute", "a/../../out"])
def test_a_bundle_stays_in_its_place(bundle: Path, tmp_path: Path, name: str) -> None:
    forged = changed(bundle, tmp_path / "x.zip", lambda members: members.update({name: b"x"}))
    with pytest.raises(UsageError, match="has no place"):
        submission.check(forged)
    assert not (tmp_path / "out").exists()


@HEAVY
def test_bad_input(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no zip")
    for argv, words in (
        (["check", tmp_path / "text"], "cannot be read"),
        (["check", tmp_path / "nowhere"], "is no file"),
        (["write", "no-run", "--to", "x.zip"], "no-run"),
        (["write", next((bundle.parent / "good").iterdir()), "--to", bundle], "is there already"),
    ):
        done = trace_bench("submit", *argv, folder=tmp_path)
        assert (done.returncode, words in done.stderr) == (2, True), (argv, done.stderr)
        assert "Traceback" not in done.stderr
