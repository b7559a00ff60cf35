"""What a process that trains is not given, and cannot make the engine believe: test instances, scoring's keys, scores."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY, cells

from tracebench_core.errors import ConfigError, RunDirError
from tracebench_core.specs import JobResult, Salts
from tracebench_engine import api
from tracebench_engine.checks.doctor import Diagnosis, diagnose
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run, repair_run
from tracebench_runs.meta.salt_files import SHARED_FILE, secrets_of
from tracebench_runs.storage.layout import RunLayout

VAULT = """
import json, os, re
from pathlib import Path
from tracebench_core.hookspecs import hookimpl
from tracebench_core.ids import derive_seed
from tracebench_core.specs import *

class Vault:
    objective = "guess"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    def __init__(self, splits, salts):
        self.splits = {s: [Example(id=s, input=derive_seed(1, s, salts.get(s, "")) % 1000)] for s in sorted(splits)}
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context): return Feedback(score=float(example.input))

def build(*, splits, salts): return Vault(splits, salts)
def build_fixed(): return Vault({"train", "validation", "test"}, {})

class Thief:
    def __init__(self, settings): pass
    def train(self, problem):
        problem.evaluate({"x": 1.0})
        found = set()
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in Path("/proc/self/maps").read_text().splitlines():
                span, access = line.split()[:2]
                if access[0] != "r" or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")): continue
                low, high = (int(x, 16) for x in span.split("-"))
                try:
                    memory.seek(low)
                    data = memory.read(high - low)
                except OSError:
                    continue
                found |= {m.decode() for m in re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", data)}
        Path(os.environ["LOOT"]).write_text(json.dumps({
            "found": sorted(found),
            "splits": sorted(problem._task.run.__self__.splits),
            "keys": sorted({p for keys in problem._setup.models._access.keys.values() for p in keys}),
        }))

class Forger:
    def __init__(self, settings): pass
    def train(self, problem):
        best = problem.evaluate({"x": 1.0})
        for split in ("validation", "test"):
            problem._setup.recorder.scored("best", split, candidate="c0", score=12345.0, metrics={})
        problem._setup.recorder.finished("ok", "completed", used=BudgetState(), seconds=1.0)
        folder = Path("..")
        (folder / "results.json").write_text(json.dumps({"score_test": 12345}))
        os._exit(12)

class Patcher:
    def __init__(self, settings): pass
    def train(self, problem):
        from tracebench_engine.job import scoring
        scoring.Scorer.test_once = lambda self, initial, best: None
        problem._task.run.__self__.guide = lambda *_: Feedback(score=12345.0)
        problem.evaluate({"x": 1.0})

TRAINERS = ("Thief", "Forger", "Patcher")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="drawn", loader="fake_vault:build", title="drawn", salted=True, uses_model=True),
            TaskSpec(name="fixed", loader="fake_vault:build_fixed", title="fixed")]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name=n, loader=f"fake_vault:{n}", uses_model=False) for n in TRAINERS]
"""
Vault = Callable[..., tuple[api.RunSummary, JobResult]]


@pytest.fixture
def vault(install_plugin: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    install_plugin("vault", VAULT)
    monkeypatch.setenv("LOOT", str(tmp_path / "loot.json"))

    def run(
        trainer: str, task: str = "drawn", *, extend: bool = False, **config: Any
    ) -> tuple[api.RunSummary, JobResult]:
        given = {"tasks": [f"vault:{task}"], "trainers": [trainer], "runs_dir": str(tmp_path / "runs"), **config}
        summary = api.run(parse_config(given), stream=io.StringIO(), extend=extend)
        return summary, list(api.load_run(summary.run_dir).results.values())[-1]

    return run


def test_the_process_that_trains_holds_neither_test_nor_what_opens_it(vault: Vault, tmp_path: Path) -> None:
    summary, result = vault("Thief")

    salts = json.loads((summary.run_dir / "meta/salts.json").read_text())
    loot = json.loads((tmp_path / "loot.json").read_text())
    assert result.status == "ok"
    assert result.score_test is not None
    assert loot["splits"] == ["train", "validation"]
    assert loot["keys"] == ["training"]
    assert salts["validation"] in loot["found"]  # the search finds what is there
    assert salts["test"] not in loot["found"]


def test_scores_that_a_trainer_writes_itself_end_its_job_without_a_score(vault: Vault) -> None:
    summary, result = vault("Forger")

    assert (result.status, result.score_test, result.score_val_best) == ("failed", None, None)
    assert result.error is not None
    assert "wrote scores of test itself" in result.error.message
    assert len(list((summary.run_dir / "attempts").iterdir())) == 1  # what it wrote can be looked at


def test_a_scorer_and_a_guide_that_a_trainer_patches_are_not_those_that_score(vault: Vault) -> None:
    _, honest = vault("NoOp")
    _, result = vault("Patcher")

    assert result.status == "ok"
    assert (result.score_test, result.score_val_best) == (honest.score_test, honest.score_val_best)


def test_runs_of_a_folder_share_salts_that_only_their_owner_reads(vault: Vault, tmp_path: Path) -> None:
    one, first = vault("NoOp")
    _, second = vault("NoOp")
    _, third = vault("NoOp", runs_dir=str(tmp_path / "other"))

    shared = tmp_path / "runs" / SHARED_FILE
    assert shared.stat().st_mode & 0o777 == 0o600
    assert (one.run_dir / "meta/salts.json").stat().st_mode & 0o777 == 0o600
    assert first.score_test == second.score_test
    assert (first.score_test, first.score_val_best) != (third.score_test, third.score_val_best)
    assert first.job_id == second.job_id != third.job_id
    assert first.flags == {}


DIGITS = "00112233445566778899aabbccddeeff"


@pytest.mark.parametrize(
    ("share", "salt"),
    cells(
        product(("private", "group", "world"), (None, "NEW", DIGITS)),
        always=[("private", "NEW"), ("group", None), ("world", "NEW"), ("world", DIGITS)],
    ),
)
def test_no_file_that_others_may_read_holds_a_salt_whatever_is_shared(
    vault: Vault, tmp_path: Path, share: str, salt: str | None
) -> None:
    summary, _ = vault("NoOp", share=share, salt=salt)

    salts = Salts.model_validate_json((summary.run_dir / "meta/salts.json").read_bytes())
    words = [salts.test.encode(), salts.validation.encode(), DIGITS.encode()]
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    telling = [path for path in files if any(word in unpacked(path) for word in words)]
    assert {"salts.json", "mirror.zip"} <= {path.name for path in telling}
    assert {path.name: path.stat().st_mode & 0o077 for path in telling} == {path.name: 0 for path in telling}
    assert ("salts" in json.loads((summary.run_dir / "summary.json").read_text())) is (share == "private")


def unpacked(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(map(archive.read, archive.namelist()))


@pytest.mark.parametrize("mend", [pytest.param("repair", marks=HEAVY), "resume", pytest.param("extend", marks=HEAVY)])
def test_a_run_that_an_earlier_version_shared_with_its_salts_is_told_of_and_closed(
    vault: Vault, tmp_path: Path, mend: str
) -> None:
    summary, _ = vault("NoOp", run_id="r", seeds=[1])
    layout = RunLayout(summary.run_dir)
    for path in [layout.path, *layout.path.rglob("*")]:
        path.chmod(0o2755 if path.is_dir() else 0o644)
    config = parse_config({"runs_dir": str(tmp_path / "runs")})

    def told() -> Diagnosis:
        return next(row for row in diagnose(config) if row.name == "private")

    assert "meta/salts.json` can be read by everybody" in told().value
    assert "mirror.zip` can be read by everybody" in told().value
    assert "summary.json` can be read by everybody" in told().value
    assert told().hint == f"chmod 600 {layout.salts} {layout.mirror}"
    if mend == "repair":
        for path in (layout.salts, layout.mirror):
            path.chmod(0o600)
        assert told().hint == f"trace-bench fsck {layout.path} --repair"
        layout.salts.chmod(0o644)
        layout.mirror.chmod(0o644)
        repair_run(layout.path)
    elif mend == "resume":
        api.resume(layout.path, stream=io.StringIO())
    else:
        vault("NoOp", run_id="r", seeds=[1, 2], share="world", extend=True)
    assert [path.stat().st_mode & 0o777 for path in (layout.salts, layout.mirror)] == [0o600, 0o600]
    assert layout.results_csv.stat().st_mode & 0o777 == 0o644
    assert "salts" not in json.loads(layout.summary.read_text())
    assert "the salts" not in told().value


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_a_shared_run_without_its_salts(vault: Vault, tmp_path: Path) -> None:
    summary, result = vault("NoOp", share="world", salt=DIGITS)
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)

    def look() -> dict[str, object]:
        run = api.load_run(summary.run_dir)
        return {
            "scores": [one.score_test for one in run.results.values()],
            "findings": [f.message for f in check_run(summary.run_dir)],
            "open": [str(p) for p in secrets_of(run.layout) if os.access(p, os.R_OK)],
        }

    assert as_nobody(look) == {"scores": [result.score_test], "findings": [], "open": []}


def as_nobody(look: Callable[[], object]) -> object:
    """What another user of the machine is told; forked, as that one may not be able to read this interpreter."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.write(mouth, json.dumps(look()).encode())
        except BaseException as error:  # noqa: BLE001 - told to the test
            os.write(mouth, json.dumps(repr(error)).encode())
        finally:
            os._exit(0)
    os.close(mouth)
    with os.fdopen(ear, "rb") as told:
        words = told.read()
    os.waitpid(child, 0)
    return json.loads(words)


def test_hashes_stand_in_the_manifest_and_the_values_in_the_summary_once_the_run_is_over(vault: Vault) -> None:
    summary, _ = vault("NoOp")

    salts = Salts.model_validate_json((summary.run_dir / "meta/salts.json").read_bytes())
    manifest = (summary.run_dir / "meta/manifest.json").read_text()
    assert json.loads(manifest)["tasks"]["vault:drawn"]["salt"] == salts.hashes
    assert salts.test not in manifest
    assert json.loads((summary.run_dir / "summary.json").read_text())["salts"] == salts.model_dump()


def test_a_run_keeps_its_salts_when_it_is_extended_moved_and_resumed(vault: Vault, tmp_path: Path) -> None:
    summary, before = vault("NoOp", run_id="r", seeds=[1])
    (tmp_path / "runs" / SHARED_FILE).unlink()

    _, after = vault("NoOp", run_id="r", seeds=[1, 2], extend=True)
    moved = shutil.move(summary.run_dir, tmp_path / "moved")
    (moved / "summary.json").unlink()
    again = api.resume(moved, stream=io.StringIO())

    assert after.seed == 2
    assert after.score_test == before.score_test
    assert not (tmp_path / "runs" / SHARED_FILE).exists()
    assert again.counts == {"ok": 2}


def test_a_run_without_its_salts_is_not_resumed_on_other_instances(vault: Vault) -> None:
    summary, _ = vault("NoOp")
    (summary.run_dir / "meta/salts.json").unlink()

    with pytest.raises(RunDirError, match=r"salts\.json") as error:
        api.resume(summary.run_dir, stream=io.StringIO())

    assert "trace-bench fsck" in error.value.hint


def test_a_salt_of_the_config_is_taken_and_a_public_one_is_marked(vault: Vault, tmp_path: Path) -> None:
    given = {"salt": "0f" * 16}
    summary, one = vault("NoOp", **given)
    _, two = vault("NoOp", runs_dir=str(tmp_path / "other"), **given)
    _, new = vault("NoOp", salt="NEW")
    public, three = vault("NoOp", salt="public")

    assert one.score_test == two.score_test
    assert one.job_id == two.job_id
    assert len({one.job_id, new.job_id, three.job_id}) == 3
    assert "public-instances" in three.flags
    assert not (public.run_dir / "meta/salts.json").exists()
    assert not (tmp_path / "runs" / SHARED_FILE).exists()
    assert (summary.run_dir / "meta/salts.json").exists()


def test_fixed_instances_have_no_salt(vault: Vault, tmp_path: Path) -> None:
    summary, result = vault("NoOp", task="fixed", salt="NEW")

    assert result.flags == {}
    assert not (summary.run_dir / "meta/salts.json").exists()
    assert "salt" not in json.loads((summary.run_dir / "meta/manifest.json").read_text())["tasks"]["vault:fixed"]


def test_planning_draws_nothing_and_knows_drawn_salts(vault: Vault, tmp_path: Path) -> None:
    config = parse_config({"tasks": ["vault:drawn"], "trainers": ["NoOp"], "runs_dir": str(tmp_path / "runs")})
    (unknown,) = api.plan(config).jobs
    assert not (tmp_path / "runs").exists()

    summary, result = vault("NoOp")

    (known,) = api.plan(config).jobs
    assert known.job_id == result.job_id != unknown.job_id
    assert summary.exit_code == 0


@pytest.mark.parametrize("salt", ["new", "0f", "0F" * 16, "0f" * 16 + "0", ""])
def test_what_is_no_salt_is_refused_without_repeating_it(salt: str) -> None:
    with pytest.raises(ConfigError, match="a salt is `NEW`, `public`, or"):
        parse_config({"tasks": ["internal:numeric_param"], "salt": salt})
