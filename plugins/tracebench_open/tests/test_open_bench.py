"""The open bench from the promise to the page, and both verifiers before forged pages and receipts."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_open.tests.forging import (
    alone,
    copied,
    edited,
    ours,
    repaged,
    resealed,
    trace_bench,
    without_seed_2,
)
from tests.whole import HEAVY

from tracebench_open.bench.alone import one_file, receipts, sums
from tracebench_open.bench.alone.what_if import followed

pytestmark = pytest.mark.timeout(600)
TINY = ("--size", "tiny", "--release", "2026-11")
Forge = Callable[[Path], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `page.md`, the receipts `page`, and the printed head in `head`."""
    folder = tmp_path_factory.mktemp("bench")
    promised = trace_bench("open-bench", "promise", *TINY, "--keep", "keep", folder=folder)
    assert promised.returncode == 0, promised.stderr
    ran = trace_bench("open-bench", "run", *TINY, "--keep", "keep", folder=folder)
    assert ran.returncode == 0, ran.stderr
    paged = trace_bench("open-bench", "page", *TINY, "--keep", "keep", "--to", "page", folder=folder)
    assert paged.returncode == 0, paged.stderr
    (folder / "head").write_text(promised.stdout.strip())
    return folder


@HEAVY
def test_an_untouched_page_passes_both(made: Path) -> None:
    done = alone(made, "--head", (made / "head").read_text())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert ours(made, head=(made / "head").read_text()) == []
    told = trace_bench("open-bench", "verify", "page", "--page", "page.md", folder=made)
    assert told.returncode == 0, told.stdout + told.stderr
    page = (made / "page.md").read_text()
    assert "not resolved" in page
    assert str(made) not in page


def a_digit_of_the_page(folder: Path) -> None:
    text = (folder / "page.md").read_text()
    found = re.search(r"0\.\d\d\d ±", text)
    assert found
    digit = found[0][4]
    changed = found[0][:4] + str((int(digit) + 1) % 10) + found[0][5:]
    (folder / "page.md").write_text(text.replace(found[0], changed, 1))


def a_digit_of_a_result(folder: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        name = next(n for n in members if n.endswith("results.json"))
        members[name] = re.sub(rb'"score_test": 0\.(\d)', lambda m: b'"score_test": 0.9', members[name])

    edited(folder / "page/fields-calls.zip", change)


def a_digit_of_the_ledger(folder: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        members["llm/ledger.jsonl"] = members["llm/ledger.jsonl"].replace(b'"usd":0.0', b'"usd":0.1', 1)

    edited(folder / "page/fields-calls.zip", change)


def a_seed_less_in_its_zip(folder: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        members.pop(next(n for n in members if n.endswith("results.json")))

    edited(folder / "page/tasks-calls.zip", change)


def a_seed_less_and_all_agrees(folder: Path) -> None:
    """Drop a seed of every trainer: manifest, journal, head and page agree, and the promise alone stands against it."""
    resealed(folder, 2, without_seed_2)


def a_better_score_and_all_agrees(folder: Path) -> None:
    """Raise a score: result, journal, head and page agree, and what somebody kept stands against it."""

    def change(members: dict[str, bytes], records: list[dict[str, Any]]) -> None:
        told = [n for n in members if n.endswith("results.json")]
        name = next(n for n in told if n.replace("results.json", "events.jsonl") not in members)
        result = json.loads(members[name])
        members[name] = members[name].replace(f'"score_test": {result["score_test"]}'.encode(), b'"score_test": 0.99')
        end = next(r for r in records if r["kind"] == "job_finished" and r["job"] == result["job_id"])
        end["digest"] = hashlib.sha256(members[name]).hexdigest()

    resealed(folder, 0, change)


def swapped_receipts(folder: Path) -> None:
    one, other = folder / "page/fields-calls.zip", folder / "page/fields-usd.zip"
    shutil.move(one, folder / "aside")
    shutil.move(other, one)
    shutil.move(folder / "aside", other)


def swapped_receipts_and_all_agrees(folder: Path) -> None:
    bench = json.loads((folder / "page/bench.json").read_text())
    one, other = bench["parts"][0], bench["parts"][1]
    for name in ("file", "run_id", "head"):
        one[name], other[name] = other[name], one[name]
    (folder / "page/bench.json").write_text(json.dumps(bench))
    repaged(folder)


def a_step_of_the_sliders(folder: Path) -> None:
    path = folder / "page/what-if.html"
    path.write_text(path.read_text().replace('"fields:numbers"', '"fields:other"', 1))


def no_sliders(folder: Path) -> None:
    (folder / "page/what-if.html").unlink()


def another_registration(folder: Path) -> None:
    told = json.loads((folder / "page/registration.json").read_text())
    told["jobs"] = told["jobs"][:-1]
    (folder / "page/registration.json").write_text(json.dumps(told))


def another_secret(folder: Path) -> None:
    bench = json.loads((folder / "page/bench.json").read_text())
    bench["release"]["secret"] = "0" * 64
    (folder / "page/bench.json").write_text(json.dumps(bench))


def no_zip(folder: Path) -> None:
    (folder / "page/fields-calls.zip").write_bytes(b"PK no zip")


FORGERIES: tuple[Forge, ...] = (
    a_digit_of_the_page, a_seed_less_and_all_agrees, swapped_receipts, a_digit_of_a_result, a_digit_of_the_ledger, a_seed_less_in_its_zip,
    swapped_receipts_and_all_agrees, another_registration, another_secret, no_zip, a_step_of_the_sliders, no_sliders,
)  # fmt: skip


@HEAVY
@pytest.mark.parametrize(
    "forge",
    FORGERIES,
    ids=lambda f: f.__name__,
)
def test_both_find_a_forgery(made: Path, tmp_path: Path, forge: Forge) -> None:
    folder = copied(made, tmp_path)
    forge(folder)
    done = alone(folder)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    told = trace_bench("open-bench", "verify", "page", "--page", "page.md", folder=folder)
    assert told.returncode in {1, 2}, told.stdout
    assert "Traceback" not in told.stderr


@HEAVY
def test_what_agrees_with_itself_is_found_by_what_somebody_kept(made: Path, tmp_path: Path) -> None:
    folder = copied(made, tmp_path)
    bench = json.loads((folder / "page/bench.json").read_text())
    root = receipts.root_of(folder / "page", bench)
    assert alone(folder, "--root", root).returncode == 0
    a_better_score_and_all_agrees(folder)
    assert (folder / "page.md").read_text() != (made / "page.md").read_text()
    assert alone(folder).returncode == 0
    assert ours(folder)  # on the machine of the run, whose key shows that somebody else wrote the chain
    assert alone(folder, "--root", root).returncode == 1
    assert ours(folder, root=root)


@HEAVY
def test_the_sliders_go_from_the_initial_candidate_to_the_page_and_pay_what_was_paid(made: Path) -> None:
    bench, found, _ = receipts.read(made / "page")
    data = json.loads(re.findall(r'type="application/json">(.*)</script>', (made / "page/what-if.html").read_text())[0])
    price = bench["prices"]
    for part, receipt in zip(data["parts"], found.values(), strict=True):
        own = [*followed(receipt)]
        assert len(part["jobs"]) == len(own) == len(receipt.results)
        for row, job, result in zip(part["jobs"], own, receipt.results.values(), strict=True):
            task, trainer, _, initial, returned, at, steps = row
            assert (part["task"][task], part["trainer"][trainer]) == (result["task_id"], result["trainer_id"])
            assert (initial, returned) == (job["initial"], job["returned"])
            assert returned == pytest.approx(result["score_test"])
            assert at < max(1, len(steps))
            for before, after in pairwise(steps):
                assert all(x <= y for x, y in zip(before[:4], after[:4], strict=True))
            for step, (_, _, prompt, completion, _) in zip(result["steps"], steps, strict=True):
                paid = (prompt * price["prompt"] + completion * price["completion"]) / 1e6
                assert paid == pytest.approx(step["used"]["usd"], abs=1e-9)
        for name, by in sums.figures(receipt, bench["reference"])["means"].items():
            for task_id, one in by.items():
                known = [j["returned"] for j in own if (j["trainer"], j["task"]) == (name, task_id)]
                assert sum(known) / len(known) == pytest.approx(one["estimate"])


@HEAVY
def test_a_run_that_was_never_promised_has_no_page(made: Path, tmp_path: Path) -> None:
    done = trace_bench("open-bench", "run", *TINY, "--keep", "nowhere", folder=tmp_path)
    assert (done.returncode, "promise" in done.stderr) == (2, True)
    again = trace_bench("open-bench", "promise", *TINY, "--keep", made / "keep", folder=tmp_path)
    assert (again.returncode, "never written twice" in again.stderr) == (2, True)
    other = trace_bench(
        "open-bench", "promise", "--size", "tin", "--release", "2026-11", "--keep", "k", folder=tmp_path
    )
    assert (other.returncode, "Did you mean `tiny`?" in other.stderr) == (2, True)


REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PUBLISHED = sorted(path.parent.name for path in REFERENCE.glob("*/check.py"))


def test_a_page_is_published() -> None:
    assert "open-bench" in PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_checker_that_ships_is_made_of_the_modules_that_the_bench_runs(name: str) -> None:
    assert (REFERENCE / name / "check.py").read_text(encoding="utf-8") == one_file()


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published_is_what_its_receipts_give_and_was_promised(name: str) -> None:
    argv = [sys.executable, "-I", "-S", f"{name}/check.py", name, "--page", f"{name}.md"]
    done = subprocess.run(argv, cwd=REFERENCE, capture_output=True, text=True, check=False, env={})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    head = json.loads((REFERENCE / name / "bench.json").read_text())["registration"]
    assert head in (REFERENCE / name / "promised.txt").read_text()
