"""`compare --inspect` and `--lm-eval` on logs that both programs write here and now, beside a computation of its own by scipy.

`TRACEBENCH_PEERS` names a Python that has inspect_ai and lm-evaluation-harness.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Cli = Callable[..., CompletedProcess[str]]
Scores = dict[Any, float]

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.heavy("peers"),
    pytest.mark.skipif("TRACEBENCH_PEERS" not in os.environ, reason="TRACEBENCH_PEERS names no Python"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("peers")
    for script in ("by_inspect.py", "by_lm_eval.py"):
        name = script.removesuffix(".py")
        done = subprocess.run(
            [os.environ["TRACEBENCH_PEERS"], HERE / script, made / name], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return made


def compared(cli: Cli, kind: str, *arguments: Path | str) -> dict[str, Any]:
    done = cli("compare", kind, *map(str, arguments), "--json")
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def agrees(data: dict[str, Any], one: Scores, other: Scores, *, mcnemar: bool) -> None:
    """Compare what is told of a pair with the paired test by hand: `one` did better."""
    stats = pytest.importorskip("scipy.stats")
    numpy = pytest.importorskip("numpy")
    assert one.keys() == other.keys()
    gaps = numpy.array([one[key] - other[key] for key in one])
    ((pair,), logs) = data["pairs"], data["logs"]
    interval = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    won, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
    p = (
        stats.binomtest(won, won + lost).pvalue
        if mcnemar
        else stats.ttest_rel([*one.values()], [*other.values()]).pvalue
    )

    told = pair["difference"]
    assert (told["estimate"], told["low"], told["high"]) == pytest.approx((gaps.mean(), interval.low, interval.high))
    assert pair["probability"] == pytest.approx(p)
    assert (pair["won"], pair["lost"]) == (won, lost)
    assert [log["mean"] for log in logs] == pytest.approx([numpy.mean([*one.values()]), numpy.mean([*other.values()])])


def inspected(path: Path) -> Scores:
    """Return each question's mean over its epochs."""
    scores: dict[Any, list[float]] = {}
    for sample in json.loads(path.read_text())["samples"]:
        scores.setdefault(sample["id"], []).append(float(sample["scores"]["match"]["value"] == "C"))
    return {key: sum(values) / len(values) for key, values in scores.items()}


def harnessed(path: Path, metric: str) -> Scores:
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return {row["doc_id"]: float(row[metric]) for row in rows}


def test_logs_of_inspect_in_both_forms_tell_what_scipy_tells_of_their_scores(cli: Cli, folder: Path) -> None:
    told = {}
    for kind in ("eval", "json"):
        paths = [next((folder / "by_inspect" / kind / name).iterdir()) for name in ("strong", "weak")]
        told[kind] = compared(cli, "--inspect", *paths)
    agrees(told["json"], *map(inspected, paths), mcnemar=False)

    for data in told.values():
        for named in (*data["pairs"], *data["logs"]):
            for words in ("one", "other", "label", "path"):  # the files' names hold the time
                named.pop(words, None)
    assert told["eval"]["pairs"] == told["json"]["pairs"]


@pytest.mark.parametrize(("task", "metric"), [("sums", "exact_match"), ("choices", "acc")])
def test_samples_of_the_harness_tell_what_scipy_tells_of_their_scores(
    cli: Cli, folder: Path, task: str, metric: str
) -> None:
    paths = [next((folder / "by_lm_eval" / name).rglob(f"samples_{task}_*")) for name in ("strong", "weak")]
    agrees(compared(cli, "--lm-eval", *paths), *(harnessed(path, metric) for path in paths), mcnemar=True)


def test_pages_of_several_questions_are_clusters(cli: Cli, folder: Path) -> None:
    paths = [next((folder / "by_lm_eval" / name).rglob("samples_sums_*")) for name in ("strong", "weak")]
    (pair,) = compared(cli, "--lm-eval", *paths, "--cluster", "page")["pairs"]
    assert (pair["questions"], pair["clusters"]) == (150, 30)


def test_the_folder_that_was_named_to_the_harness_will_do(cli: Cli, folder: Path) -> None:
    """The harness makes a folder of the model's name in it; the other task has no such metric, and its rows are said to be left out."""
    done = cli(
        "compare",
        "--lm-eval",
        *(str(folder / "by_lm_eval" / name) for name in ("strong", "weak")),
        "--metric",
        "acc,none",
    )

    assert done.returncode == 0, done.stderr
    assert "on 150 questions" in done.stdout
    assert "150 without a number as score are left out, not counted as 0" in done.stderr
