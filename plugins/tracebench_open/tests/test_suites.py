"""A page of tasks with and without a test split: real runs, both who check, forgeries, and ladders that are climbed to the top."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_open.tests.forging import (
    alone,
    copied,
    edited,
    ours,
    resealed,
    trace_bench,
    without_seed_2,
)
from tests import warm
from tests.whole import HEAVY, one_in

from tracebench_core.errors import UsageError
from tracebench_engine import api
from tracebench_engine.api.records import load_run
from tracebench_open import submission
from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone import receipts, sums
from tracebench_open.bench.gather import gather
from tracebench_open.bench.plan import REFERENCE, SUITES, as_promised, parts_of
from tracebench_open.command import promised_by
from tracebench_open.counted import counted, without_test
from tracebench_open.rungs import ladder

pytestmark = pytest.mark.timeout(600)
TRAIN, TESTED = "opto:opentrace_train_single_node", "opto:opentrace_greeting"
BUDGET = {"llm_calls": 1, "evaluations": 16}
CONFIG: dict[str, Any] = {
    "run_id": "open-bench-mixed",
    "tasks": [{"id": TRAIN, "eval_kwargs": {}}, {"id": TESTED, "eval_kwargs": {}}],
    "trainers": ["NoOp", "RandomSearch", "BestOfN", "Anneal"],
    "seeds": [1, 2],
    "mode": "real",
    "salt": "public",
    "llm": {"model": "ladders/p100-h0-r0"},
    "budget": BUDGET,
}
Members = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `page.md`, the receipts `page`, the printed head in `head`, and the run itself."""
    folder = tmp_path_factory.mktemp("suites")
    (folder / "mixed.json").write_text(json.dumps(CONFIG))
    promise = promised_by([folder / "mixed.json"])
    done = trace_bench("run", "--config", "mixed.json", "--runs-dir", "runs", folder=folder)
    assert done.returncode == 0, done.stderr
    part = {"name": "mixed", "title": "Two tasks", "one_scale": False, "budget": BUDGET, "config": CONFIG}
    told = gather([part], folder / "runs", promise, size="suites", release=None, to=folder / "page")
    (folder / "page.md").write_text(told)
    (folder / "head").write_text(promise.head)
    return folder


def row(page: Path, name: str) -> list[str]:
    """Return the cells of an optimizer in the first table that has it."""
    line = next(line for line in page.read_text().splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def a_job(folder: Path, task: str, trainer: str = "Anneal") -> str:
    """Return a job of the mixed run, by its receipt."""
    _, found, wrong = receipts.read(folder / "page")
    assert not wrong
    return next(
        job["job_id"]
        for job in found["mixed"].manifest["jobs"]
        if (job["task_id"], job["trainer_id"]) == (task, trainer)
    )


def test_both_pass_a_page_and_only_the_task_without_a_test_split_is_marked(made: Path) -> None:
    done = alone(made, "--head", (made / "head").read_text())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    told = trace_bench("open-bench", "verify", "page", "--page", "page.md", folder=made)
    assert told.returncode == 0, told.stdout + told.stderr
    page = (made / "page.md").read_text()
    assert "| optimizer | `opentrace_train_single_node` † | `opentrace_greeting` | mean rank |" in page
    assert "† has no test split" in page
    assert f"<code>{TRAIN}</code>" in (made / "page/what-if.html").read_text()
    assert row(made / "page.md", "(initial)") == ["-3.000", "0.750", ""]
    assert row(made / "page.md", "NoOp")[:2] == ["-3.000 ±0.000", "0.750 ±0.000"]
    for name in (
        "BestOfN",
        "Anneal",
    ):  # one call climbs the one rung above the start, asked in our own words and in Trace's
        assert row(made / "page.md", name)[1] == "1.000 ±0.000"
    found = load_run(made / "runs" / CONFIG["run_id"]).results.values()
    own = [r.score_val_best or 0.0 for r in found if (r.task_id, r.trainer_id) == (TRAIN, "RandomSearch")]
    assert max(own) > -3.0
    assert row(made / "page.md", "RandomSearch")[0].startswith(f"{sum(own) / len(own):.3f} ±")


def test_the_page_says_what_is_missing_of_its_size_and_gives_no_secret_away(made: Path) -> None:
    page = (made / "page.md").read_text()
    assert "real tasks of one suite, with" in page
    assert "`veribench_coq:file/list_sum` (" in page
    assert "`opto:opentrace_greeting` has 2 rungs and starts at the first" in page
    assert "secret given away" not in page


def test_a_score_is_of_train_alone_where_the_task_has_no_more_and_never_where_one_is_missing(made: Path) -> None:
    run = load_run(made / "runs" / CONFIG["run_id"])
    assert without_test(run) == {TRAIN}
    for result in run.results.values():
        assert counted(result, {TRAIN}) == (result.score_val_best if result.task_id == TRAIN else result.score_test)
        unmeasured = result.model_copy(
            update={"score_test": None} | ({} if result.task_id == TESTED else {"score_val_best": None})
        )
        assert result.score_val_best is not None
        assert counted(unmeasured, {TRAIN}) is None


def without(score: str, job: str) -> Callable[[Members, list[dict[str, Any]]], None]:
    """Return the change by which a job has not measured one of its scores."""

    def change(members: Members, records: list[dict[str, Any]]) -> None:
        name = f"jobs/{job}/results.json"
        members[name], count = re.subn(
            rb'"%s": [-0-9.]+' % score.encode(), b'"%s": null' % score.encode(), members[name]
        )
        assert count == 1
        end = next(r for r in records if r["kind"] == "job_finished" and r["job"] == job)
        end["digest"] = hashlib.sha256(members[name]).hexdigest()

    return change


@pytest.mark.parametrize(
    "taken",
    [(TESTED, "score_test", ["-3.000 ±0.000", ""]), (TRAIN, "score_val_best", ["", "1.000 ±0.000"])],
    ids=["on test", "on train"],
)
def test_what_was_not_measured_stays_missing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: tuple[str, str, list[str]]
) -> None:
    """One job loses its score, and all agrees: both who check take its row for one with a score missing, whatever else the job scored."""
    task, score, cells = taken
    folder = copied(made, tmp_path)
    job = a_job(folder, task)

    resealed(folder, 0, without(score, job))
    assert row(folder / "page.md", "Anneal") == [*cells, ""]
    assert alone(folder).returncode == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))  # where nobody has the key of the run's journal
    assert ours(folder) == []


@pytest.mark.parametrize(
    ("task", "score", "left"),
    [(TESTED, "score_test_initial", TRAIN), (TRAIN, "score_val_initial", TESTED)],
    ids=["on test", "on train"],
)
def test_a_start_that_one_seed_did_not_measure_has_no_mean_over_the_others(
    made: Path, tmp_path: Path, task: str, score: str, left: str
) -> None:
    folder = copied(made, tmp_path)
    cells = {name: row(folder / "page.md", "(initial)")[at] for at, name in enumerate((TRAIN, TESTED))}
    job = a_job(folder, task, REFERENCE)

    resealed(folder, 0, without(score, job))
    assert all(cells.values())
    expected = [cells[name] if name == left else "" for name in (TRAIN, TESTED)]
    assert row(folder / "page.md", "(initial)")[:2] == expected
    assert alone(folder).returncode == 0


def a_better_score_on_train(folder: Path) -> None:
    job = a_job(folder, TRAIN, "NoOp")

    def change(members: Members) -> None:
        name = f"jobs/{job}/results.json"
        members[name], count = re.subn(rb'"score_val_best": [-0-9.]+', b'"score_val_best": -1.0', members[name])
        assert count == 1

    edited(folder / "page/mixed.zip", change)


def a_better_score_on_the_page(folder: Path) -> None:
    text = (folder / "page.md").read_text()
    assert "| -3.000 ±0.000 |" in text
    (folder / "page.md").write_text(text.replace("| -3.000 ±0.000 |", "| -2.000 ±0.000 |", 1))


def no_mark(folder: Path) -> None:
    text = (folder / "page.md").read_text()
    (folder / "page.md").write_text(text.replace("` †", "`"))


def no_test_split_all_at_once(folder: Path) -> None:
    """Take the examples of test out of what every job tells, so that what was selected on would count."""

    def change(members: Members) -> None:
        for name in [n for n in members if n.endswith("results.json")]:
            result = json.loads(members[name])
            result["data"].pop("test", None)
            members[name] = json.dumps(result).encode()

    edited(folder / "page/mixed.zip", change)


def a_seed_less_and_all_agrees(folder: Path) -> None:
    resealed(folder, 0, without_seed_2)


def a_secret_of_nothing(folder: Path) -> None:
    bench = json.loads((folder / "page/bench.json").read_text())
    bench["release"] = {"name": "x", "commitment": "0" * 64, "secret": "0" * 64}
    (folder / "page/bench.json").write_text(json.dumps(bench))


def other_sliders_and_no_prices(folder: Path) -> None:
    """Take the prices away, as pages of before had none, so that nobody would look at the sliders."""
    bench = json.loads((folder / "page/bench.json").read_text())
    del bench["prices"]
    (folder / "page/bench.json").write_text(json.dumps(bench))
    bench, found, _ = receipts.read(folder / "page")
    figures = {name: sums.figures(one, bench["reference"]) for name, one in found.items()}
    (folder / "page.md").write_text(shown.page(bench, figures, receipts.root_of(folder / "page", bench)))
    (folder / "page/what-if.html").write_text("<p>Anneal is the best.")


@pytest.mark.parametrize(
    "change",
    one_in(3, [
        {"release": {}}, {"release": "x"}, {"release": {"secret": 5, "commitment": ""}}, {"reference": "Nobody"},
        {"parts": [5]}, {"parts": 5}, {"words": []}, {"registration": None}, {"not_run": "x"},
    ]),
    ids=str,
)  # fmt: skip
def test_what_is_no_page_at_all_is_told_in_words(made: Path, tmp_path: Path, change: Members) -> None:
    folder = copied(made, tmp_path)
    told = json.loads((folder / "page/bench.json").read_text())
    (folder / "page/bench.json").write_text(json.dumps(told | change))
    done = alone(folder)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    found = trace_bench("open-bench", "verify", "page", "--page", "page.md", folder=folder)
    assert found.returncode in {1, 2}, found.stdout
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    "forge",
    [
        other_sliders_and_no_prices,
        a_better_score_on_train,
        a_better_score_on_the_page,
        no_mark,
        no_test_split_all_at_once,
        a_seed_less_and_all_agrees,
        a_secret_of_nothing,
    ],
    ids=lambda f: f.__name__,
)
def test_both_find_a_forgery(made: Path, tmp_path: Path, forge: Callable[[Path], None]) -> None:
    folder = copied(made, tmp_path)
    forge(folder)
    done = alone(folder)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert ours(folder)


@HEAVY
def test_the_alarm_of_submissions_hears_scores_on_train_too(made: Path, tmp_path: Path) -> None:
    """Beside references that never left the start, a number that was guessed better is too good to be passed over."""
    config = {
        **CONFIG,
        "run_id": "modest",
        "tasks": [{"id": TRAIN, "eval_kwargs": {}}],
        "trainers": ["NoOp", "BestOfN"],
    }
    (tmp_path / "modest.json").write_text(json.dumps(config))
    promise = promised_by([tmp_path / "modest.json"])
    done = trace_bench("run", "--config", "modest.json", "--runs-dir", "runs", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    part = {"name": "part", "title": "A part", "one_scale": False, "budget": BUDGET, "config": config}
    gather([part], tmp_path / "runs", promise, size="suites", release=None, to=tmp_path / "bench")
    submission.bundle(made / "runs" / CONFIG["run_id"], tmp_path / "mixed.zip")
    (words,) = submission.check(tmp_path / "mixed.zip", reference=tmp_path / "bench").refused["too good"]
    assert words.startswith(f"{TRAIN} x RandomSearch: its mean is ")


COQ = pytest.mark.skipif(shutil.which("coqtop") is None, reason="Coq is not installed: apt-get install coq")


@pytest.mark.parametrize(
    ("task", "calls", "scores"),
    [
        pytest.param("autoresearch:tokenizer", 1, (1.99253, 2.65671), marks=HEAVY),
        pytest.param("veribench_coq:file/list_sum", 1, (0.0, 2 / 3), marks=(pytest.mark.heavy("coq"), COQ)),
        pytest.param("veribench_coq:file/list_sum", 2, (0.0, 1.0), marks=(pytest.mark.heavy("coq"), COQ)),
    ],
)
def test_each_call_of_a_model_that_always_improves_climbs_a_rung(
    tmp_path: Path, task: str, calls: int, scores: tuple[float, float]
) -> None:
    """Known answers: what the start scores, and what the task's cases hold for the candidate that is so many rungs above it."""
    config = {**CONFIG, "tasks": [task], "trainers": ["NoOp", "SequentialRefine"], "seeds": [1]}
    (tmp_path / "climb.json").write_text(json.dumps(config | {"budget": {"llm_calls": calls, "evaluations": 64}}))
    done = trace_bench("run", "--config", "climb.json", "--runs-dir", "runs", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    run = load_run(tmp_path / "runs" / CONFIG["run_id"])
    found = {job.trainer_id: run.results[job.job_id].score_val_best for job in run.planned}
    assert found == dict(zip(("NoOp", "SequentialRefine"), (pytest.approx(s, rel=1e-5) for s in scores), strict=True))


def test_every_task_of_the_size_is_untimed_and_has_a_rung_above_its_start() -> None:
    host = api.open_host()
    for id_, options in SUITES.items():
        made = ladder(id_, json.dumps(options))
        assert not host.task(id_).timed, id_
        assert len(made.rungs) > made.start + 1, id_


def test_suites_are_promised_without_a_release_and_what_cannot_run_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()  # with nothing of Coq in it
    argv = ("open-bench", "promise", "--size", "suites", "--keep", "keep")
    done = warm.trace_bench(*argv, folder=tmp_path, environ={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"[0-9a-f]{64}\n", done.stdout)
    promised = [task["id"] for task in json.loads((tmp_path / "keep/suites-calls.json").read_text())["tasks"]]
    assert promised == [id_ for id_ in SUITES if not id_.startswith("veribench_coq:")]
    (part,) = as_promised(parts_of("suites", None), tmp_path / "keep")  # as where Coq was installed meanwhile
    assert [task["id"] for task in part["config"]["tasks"]] == promised
    (tmp_path / "keep/suites-calls.json").write_text("{")
    with pytest.raises(UsageError, match="is not the config that was promised"):
        as_promised([part], tmp_path / "keep")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--size", "tiny"), "Size `tiny` has fields."),
        (("--size", "suites", "--release", "2026-11"), "Size `suites` has no fields, and so no release."),
    ],
    ids=["none where there are fields", "one where there are none"],
)
def test_a_release_goes_with_fields(tmp_path: Path, argv: tuple[str, ...], words: str) -> None:
    done = trace_bench("open-bench", "promise", *argv, "--keep", "keep", folder=tmp_path)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
