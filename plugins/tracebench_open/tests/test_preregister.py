"""`trace-bench preregister`: promises kept and broken, by the installed command on real runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests import warm

from tracebench_open.merkle import head_of

CONFIG: dict[str, Any] = {
    "tasks": ["internal:numeric_param"],
    "trainers": ["NoOp", {"id": "RandomSearch", "params": {"num_steps": 2}}],
    "seeds": [1, 2],
    "mode": "stub",
}


def trace_bench(*argv: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return warm.trace_bench(*map(str, argv), folder=folder, environ=os.environ, timeout=600)


def run(folder: Path, config: dict[str, Any], name: str) -> Path:
    (folder / f"{name}.json").write_text(json.dumps(config))
    done = trace_bench("run", "--config", f"{name}.json", "--runs-dir", name, folder=folder)
    assert done.returncode == 0, done.stderr
    return next((folder / name).iterdir())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a folder with a registration `study.registered`, and a run that keeps it."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.json").write_text(json.dumps(CONFIG))
    done = trace_bench("preregister", "commit", "study.json", "--to", "study.registered", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == json.loads((folder / "study.registered").read_text())["head"]
    return folder, run(folder, CONFIG, "kept")


def checked(folder: Path, *runs: Path) -> tuple[int, dict[str, Any]]:
    done = trace_bench("preregister", "check", "study.registered", *runs, "--json", folder=folder)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_the_head_is_the_one_of_rfc_9162() -> None:
    """The heads that Certificate Transparency's own test vectors have, of no, one, three and eight leaves."""
    texts = [bytes.fromhex(text) for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"
    )]  # fmt: skip
    assert head_of([]) == hashlib.sha256().hexdigest()
    assert head_of(texts[:1]) == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert head_of(texts[:3]) == "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"
    assert head_of(texts) == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


def test_a_kept_promise(study: tuple[Path, Path]) -> None:
    folder, kept = study
    code, told = checked(folder, kept)
    assert (code, told["kept"], told["promised"], told["statuses"]) == (0, True, 4, {"ok": 4})
    assert not any(told["findings"].values())
    said = trace_bench("preregister", "check", "study.registered", kept, folder=folder).stdout
    assert f"head {told['head']}, 4 jobs promised: 4 ok." in " ".join(said.split())


def test_a_seed_that_was_dropped(study: tuple[Path, Path]) -> None:
    folder, _ = study
    code, told = checked(folder, run(folder, {**CONFIG, "seeds": [1]}, "dropped"))
    assert code == 1
    assert [words.rpartition(" ")[2] for words in told["findings"]["missing"]] == ["seed=2", "seed=2"]


def test_a_seed_that_was_run_again(study: tuple[Path, Path]) -> None:
    folder, kept = study
    code, told = checked(
        folder, kept, run(folder, {**CONFIG, "trainers": CONFIG["trainers"][1:], "seeds": [2]}, "again")
    )
    assert code == 1
    assert len(told["findings"]["run several times"]) == 1


def test_a_run_that_was_forced_until_it_fitted(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    shutil.copytree(kept.parent, tmp_path / "kept")
    again = ["run", "--config", tmp_path / "kept" / kept.name / "meta/config.snapshot.yaml", "--force"]
    done = trace_bench(*again, "--runs-dir", "kept", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    code, told = checked(folder, tmp_path / "kept" / kept.name)
    assert code == 1
    assert len(told["findings"]["run several times"]) == 4


def test_a_run_whose_journal_shed_its_chain(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    bare = tmp_path / "bare"
    shutil.copytree(kept, bare)
    journal, lines = bare / "journal-main.jsonl", []
    for text in journal.read_text().splitlines()[1:]:
        record = {name: value for name, value in json.loads(text).items() if name not in ("prev", "mac", "sum")}
        plain = json.dumps({**record, "n": len(lines)}, separators=(",", ":"))
        lines.append(f'{plain[:-1]},"sum":"{hashlib.sha256(plain.encode()).hexdigest()[:16]}"}}\n')
    journal.write_text("".join(lines))
    (bare / "meta/files_index.json").unlink()
    code, told = checked(folder, bare)
    assert code == 1
    assert "without a chain" in told["findings"]["damaged"][0]


def test_a_changed_copy_is_not_excused_by_its_original(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    events = next(copy.glob("jobs/*/events.jsonl"))
    events.write_text(events.read_text().replace("-3.0", "-1.0"))
    code, told = checked(folder, copy, kept)
    assert code == 1
    assert [events.parent.name in words for words in told["findings"]["damaged"]] == [True]


@pytest.mark.parametrize(
    "changed",
    [
        {"seeds": [1, 2, 3]},
        {"eval_kwargs": {"noise": 0.5}},
        {"budget": {"evaluations": 7}},
        {"trainers": ["NoOp", {"id": "RandomSearch", "params": {"num_steps": 3}}]},
    ],
    ids=["seed", "option", "budget", "parameter"],
)
def test_what_nobody_promised(study: tuple[Path, Path], changed: dict[str, Any], tmp_path: Path) -> None:
    folder, _ = study
    code, told = checked(folder, run(tmp_path, {**CONFIG, **changed}, "other"))
    assert code == 1
    assert told["findings"]["not promised"]


def test_a_run_that_was_there_before(study: tuple[Path, Path], tmp_path: Path) -> None:
    _, kept = study
    shutil.copy(study[0] / "study.json", tmp_path)
    assert (
        trace_bench("preregister", "commit", "study.json", "--to", "study.registered", folder=tmp_path).returncode == 0
    )
    began = json.loads((kept / "meta" / "manifest.json").read_text())["created_at"]
    registered = json.loads((tmp_path / "study.registered").read_text())["registered_at"]
    code, told = checked(tmp_path, kept)
    assert bool(told["findings"]["begun too early"]) is (began < registered.replace("Z", "+00:00"))
    assert code == int(bool(told["findings"]["begun too early"]))


def test_seeds_that_were_seen_before_do_not_become_new_by_further_ones(tmp_path: Path) -> None:
    def ran(*more: str) -> subprocess.CompletedProcess[str]:
        return trace_bench(
            "run", "--config", "study.json", "--runs-dir", "r", "-o", "run_id=early", *more, folder=tmp_path
        )

    (tmp_path / "study.json").write_text(json.dumps(CONFIG))
    assert ran().returncode == 0
    manifest = tmp_path / "r" / "early" / "meta" / "manifest.json"
    began = json.loads(manifest.read_text())["created_at"]
    time.sleep(1.1)
    (tmp_path / "study.json").write_text(json.dumps({**CONFIG, "seeds": [1, 2, 3]}))
    assert (
        trace_bench("preregister", "commit", "study.json", "--to", "study.registered", folder=tmp_path).returncode == 0
    )
    assert ran("--extend-seeds").returncode == 0
    assert json.loads(manifest.read_text())["created_at"] == began
    code, told = checked(tmp_path, tmp_path / "r" / "early")
    assert (code, len(told["findings"]["begun too early"])) == (1, 1)


def test_a_result_that_was_changed(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    result = next(copy.glob("jobs/*/results.json"))
    result.write_text(result.read_text().replace('"score_val_best": ', '"score_val_best": 1'))
    code, told = checked(folder, copy)
    assert code == 1
    assert result.parent.name in told["findings"]["damaged"][0]
    assert len(told["findings"]["missing"]) == told["promised"]


def test_a_registration_that_was_changed(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    changed = json.loads((folder / "study.registered").read_text())
    changed["jobs"][0]["seeds"] = [1]
    (tmp_path / "changed").write_text(json.dumps(changed))
    done = trace_bench("preregister", "check", tmp_path / "changed", kept, folder=folder)
    assert done.returncode == 2
    assert "was changed" in done.stderr


def test_bad_input(study: tuple[Path, Path], tmp_path: Path) -> None:
    folder, kept = study
    (tmp_path / "none.json").write_text("{}")
    for name, job in (("bare", "{}"), ("endless", '{"task_id": "a", "trainer_id": "b", "x": NaN}')):
        forged = json.loads((folder / "study.registered").read_text())
        forged["jobs"] = [{"job": "JOB", "seeds": [1]}]
        (tmp_path / name).write_text(json.dumps(forged).replace('"JOB"', job))
    for argv, words in (
        (["commit", "study.json", "--to", "study.registered"], "is there already"),
        (["commit", "study.json", "study.json", "--to", tmp_path / "twice"], "same job"),
        (["commit", "study.jsn", "--to", tmp_path / "x"], "study.jsn"),
        (["commit", "study.json", "--to", tmp_path / "no" / "folder"], "cannot be written"),
        (["check", tmp_path / "none.json", kept], "is no registration"),
        (["check", tmp_path / "bare", kept], "is no registration"),
        (["check", tmp_path / "endless", kept], "is no registration"),
        (["check", "study.registered", kept, "--head", "0" * 64], "is not what was published"),
        (["check", "nowhere", kept], "cannot be read"),
        (["check", "study.registered", kept, kept], "named twice"),
        (["check", "study.registered", "no-run"], "no-run"),
    ):
        done = trace_bench("preregister", *argv, folder=folder)
        assert done.returncode == 2, (argv, done.stdout, done.stderr)
        assert words in done.stderr
        assert "Traceback" not in done.stderr
