"""A journal that was lost, emptied, cut or garbled is named, and nothing takes edited events for the truth in its place."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.whole import cells

from tracebench_core.errors import RunDirError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.journal.form import sum_of

JOURNAL = "journal-main.jsonl"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost")
    config = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": [1, 2], "runs_dir": str(folder)}
    return api.run(parse_config(config), stream=io.StringIO()).run_dir


def cut(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "emptied": lambda journal: journal.write_bytes(b""),
    "garbled": lambda journal: journal.write_bytes(bytes(range(200)) + b"\n"),
    "cut": cut,
}


def forge(run: Path) -> None:
    """Edit the events of a job, and its result as they demand it."""
    job = sorted((run / "jobs").iterdir())[0]
    log = job / "events.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "scored":
            line["score"] = 99.0
    log.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def scores(run: Path) -> set[float | None]:
    return {json.loads(path.read_text())["score_val_best"] for path in run.glob("jobs/*/results.json")}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_lost_journal_is_named_until_a_person_accepts_it(finished: Path, tmp_path: Path, damage: str) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    before = scores(run)
    DAMAGES[damage](run / JOURNAL)
    forge(run)

    for _ in range(2):
        told = [finding for finding in check_run(run) if finding.path == JOURNAL]
        assert [finding.mended_by for finding in told][:1] == ["accept"]
        repair_run(run)
        assert 99.0 not in scores(run)
        assert b"99.0" not in (run / "results.csv").read_bytes()
    if damage != "cut":
        with pytest.raises(RunDirError, match="gone or emptied"):
            api.resume(run, stream=io.StringIO())

    assert JOURNAL in {finding.path for finding in accept_losses(run)}
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert scores(run) == before
    assert [finding for finding in check_run(run) if finding.mended_by != "nothing"] == []


KILLED = """
import os
from tracebench_runs.{module} import {name}
{name}.{method} = lambda *_, **__: os._exit(9)
from tracebench_engine.cli.app import main
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "method"),
    cells(
        [
            ("journal.journal", "Journal", "__init__"),
            ("journal.journal", "Journal", "opened"),
            ("journal.chain", "Chain", "closed"),
        ],
        always=[("journal.journal", "Journal", "opened")],
    ),
)
def test_a_run_whose_maker_was_killed_before_its_journal_began_has_one_from_then_on(
    tmp_path: Path, module: str, name: str, method: str
) -> None:
    config = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": [1, 2], "run_id": "run"}
    (tmp_path / "c.json").write_text(json.dumps({**config, "runs_dir": str(tmp_path)}))
    api.run(api.load_config(tmp_path / "c.json"), stream=io.StringIO())
    shutil.rmtree(tmp_path / "run")  # of its name, and not the run
    program = KILLED.format(module=module, name=name, method=method)
    killed = subprocess.run([sys.executable, "-c", program, "run", "--config", str(tmp_path / "c.json")], check=False)
    assert killed.returncode == 9
    run = tmp_path / "run"
    for _ in range(2):
        assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
        assert [finding for finding in check_run(run) if finding.mended_by != "nothing"] == []
    assert api.load_run(run).results.keys() == {path.name for path in (run / "jobs").iterdir()}


@pytest.mark.parametrize("number", ['"x"', "-5", "1e400", str(10**400), "null", "[0]"])
def test_a_line_with_a_number_that_no_journal_gives_is_damage(finished: Path, tmp_path: Path, number: str) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    plain = f'{{"n":{number},"t":"","kind":"settled","boot":"b"'.encode()
    with (run / JOURNAL).open("ab") as journal:
        journal.write(plain + b',"sum":"' + sum_of(plain).encode() + b'"}\n')  # it vouches for itself
    (told,) = [finding.message for finding in check_run(run) if finding.path == JOURNAL]
    assert len(told) < 200
    repair_run(run)
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}


def test_of_a_result_that_nothing_vouches_for_neither_side_is_believed(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    before = scores(run)
    cut(run / JOURNAL)
    (run / "meta/files_index.json").unlink()
    forge(run)
    repair_run(run)
    assert 99.0 not in scores(run)
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert scores(run) == before


def test_an_index_that_was_made_anew_vouches_for_no_events_that_no_journal_declared(
    finished: Path, tmp_path: Path
) -> None:
    """The first repair lists the edited events; the second must not take that for a witness."""
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    before = scores(run)
    cut(run / JOURNAL)
    (run / "meta/files_index.json").unlink()
    for result in run.glob("jobs/*/results.json"):
        result.unlink()
    forge(run)
    for _ in range(3):
        repair_run(run)
        assert 99.0 not in scores(run)
    accept_losses(run)
    repair_run(run)
    assert 99.0 not in scores(run)
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert scores(run) == before
