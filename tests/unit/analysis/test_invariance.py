"""What is said of two entrants does not depend on who else is there, on the order of tasks, or on a score's units."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.gates import is_met, parse_gate
from tracebench_analysis.comparison.sentences import remarks, verdict_sentence
from tracebench_analysis.comparison.verdicts import PairVerdict
from tracebench_core.errors import UsageError

TASKS = ("s:x", "s:y", "s:z")
SCORES = st.dictionaries(
    st.tuples(st.sampled_from("AB"), st.sampled_from(TASKS), st.integers(0, 4)),
    st.floats(-5, 5).map(lambda x: round(x, 2)),
    min_size=24,
    max_size=30,
)


def said(pair: PairVerdict | None) -> tuple[object, ...] | None:
    if pair is None:
        return None
    d = pair.difference
    figures = (d.interval.estimate, d.interval.low, d.interval.high, d.probability, pair.improvement)
    return (*(None if f is None else round(f, 9) for f in figures), pair.against)


def table(scores: dict[tuple[str, str, int], float], noise: int = 0) -> Callable[[str, str, int], float | None]:
    def score(trainer: str, task: str, seed: int) -> float | None:
        if trainer not in "AB":
            return 100 * random.Random(f"{noise} {trainer} {task} {seed}").gauss(0, 1)
        return scores.get((trainer, task, seed))

    return score


@settings(
    max_examples=settings.default.max_examples // 8,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(SCORES, st.integers(0, 99), st.permutations(TASKS), st.sampled_from([0.01, 8.0, 1000.0]))
def test_two_entrants_are_told_apart_by_their_own_jobs_alone(
    tmp_path_factory: pytest.TempPathFactory, scores, others: int, order, factor: float
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    missing = {(e, t, s): "skipped" for e in "AB" for t in TASKS for s in range(5) if (e, t, s) not in scores}

    def pair(name: str, trainers: str, tasks=TASKS, by: float = 1.0) -> tuple[object, ...] | None:
        found = table(scores, others)

        def score(trainer: str, task: str, seed: int) -> float | None:
            value = found(trainer, task, seed)
            return value * by if value is not None and task == "s:y" else value

        run = make_run(folder / name, score, trainers=trainers, tasks=tasks, statuses=missing)  # type: ignore[arg-type]
        return said(compare_runs([run]).pair("A", "B"))

    alone = pair("alone", "AB")
    assert pair("more", "ABCD") == alone
    assert pair("order", "BA", tasks=order) == alone
    in_units = pair("units", "AB", by=factor)
    assert (in_units is None) == (alone is None)
    if alone is not None and in_units is not None:
        for there, here in zip(in_units[:-1], alone[:-1], strict=True):
            assert there is here is None or there == pytest.approx(here, rel=1e-6, abs=1e-6)
        assert in_units[-1] == alone[-1]


def disagreeing(trainer: str, task: str, seed: int) -> float:
    noise = random.Random(f"{trainer} {task} {seed}").gauss(0, 0.02)
    ahead = {("A", "s:x"): 0.4, ("B", "s:y"): 0.6}.get((trainer, task), 0.2)
    return (5.0 if trainer == "C" and task == "s:y" else ahead) + noise


def test_a_third_entrant_turns_nobody_round(tmp_path: Path) -> None:
    two = compare_runs([make_run(tmp_path / "two", disagreeing, trainers="AB", seeds=range(8))])
    three = compare_runs([make_run(tmp_path / "three", disagreeing, trainers="ABC", seeds=range(8))])

    assert said(two.pair("A", "B")) == said(three.pair("A", "B"))
    assert two.pair("A", "B").verdict == three.pair("A", "B").verdict == "not resolved"
    assert any("the tasks disagree" in remark for remark in remarks(two))


def test_a_gate_over_tasks_that_disagree_without_a_fixed_scale_is_refused(tmp_path: Path) -> None:
    free = compare_runs([make_run(tmp_path / "free", disagreeing, seeds=range(8))])
    declared = {task: {"comparability": 1, "target": 1.0} for task in ("s:x", "s:y")}
    fixed = compare_runs([make_run(tmp_path / "fixed", disagreeing, seeds=range(8), head={"tasks": declared})])

    with pytest.raises(UsageError, match="the tasks disagree"):
        is_met(parse_gate("B > A"), free)
    assert is_met(parse_gate("B > A"), fixed)
    assert not is_met(parse_gate("A > B"), fixed)


def test_who_lacks_a_task_stands_apart_and_is_told(tmp_path: Path) -> None:
    def easy_first(trainer: str, task: str, seed: int) -> float:
        return {"s:x": 0.9, "s:y": 0.1}[task] + random.Random(f"{trainer} {task} {seed}").gauss(0, 0.01)

    skipped = {("B", "s:y", seed): "skipped" for seed in range(5)}
    found = compare_runs([make_run(tmp_path / "r", easy_first, trainers="ABZ", statuses=skipped)])  # type: ignore[arg-type]

    assert [s.standing.entrant for s in found.summaries][-1] == "B", "its mean over the easy task alone is the highest"
    assert found.summaries[-1].n == "5/10, 1 of 2 tasks"
    assert found.ranked == tuple(s.standing.entrant for s in found.summaries[:-1])
    assert any("B has scores on 1 of 2 tasks" in remark for remark in remarks(found))
    assert len(found.pair("A", "B").difference.tasks) == 1


def test_who_never_met_is_neither_ranked_nor_compared(tmp_path: Path) -> None:
    def score(trainer: str, task: str, seed: int) -> float:
        return {"A": 0.9, "B": 0.1, "P": 5.0, "Q": 4.0}[trainer] + random.Random(f"{trainer} {seed}").gauss(0, 0.01)

    one = make_run(tmp_path / "one", score, trainers="AB", tasks=["s:x"])
    other = make_run(tmp_path / "other", score, trainers="PQ", tasks=["s:y"])
    found = compare_runs([one, other])

    assert found.pair("A", "P") is None
    sentence = verdict_sentence(found)
    assert sentence.startswith("A is better than B by")
    assert "it never met P and Q, for on no task do both have a score" in sentence
    assert any("Never met" in remark and "A and P" in remark for remark in remarks(found))


def test_scores_without_a_partner_count_and_are_told(tmp_path: Path) -> None:
    def score(trainer: str, task: str, seed: int) -> float:
        return (0.88 if trainer == "A" else 0.32) + random.Random(f"{trainer} {seed}").gauss(0, 0.05)

    one = make_run(tmp_path / "one", score, trainers="A", tasks=["s:x"], seeds=range(10))
    other = make_run(tmp_path / "other", score, trainers="B", tasks=["s:x"], seeds=range(10, 20))
    found = compare_runs([one, other])

    assert found.pair("A", "B").verdict == "better"
    assert any("20 scores have no partner" in remark for remark in remarks(found))
