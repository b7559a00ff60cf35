from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.document import comparison_data
from tracebench_analysis.comparison.gates import is_met, parse_gate
from tracebench_analysis.comparison.pooling import Finding
from tracebench_analysis.comparison.sentences import next_step, remarks, verdict_sentence
from tracebench_analysis.comparison.settling import hints, settling
from tracebench_core.errors import UsageError
from tracebench_core.specs import Budget, JobStatus, RunConfig
from tracebench_runs.meta.meta import write_config
from tracebench_runs.reading.reader import load_run


def noisy(difference: float, *, spread: float = 0.1):
    """Return scores of `A` that lie above `B`'s by `difference`, with noise of its own for every job."""

    def score(trainer: str, task: str, seed: int) -> float:
        noise = random.Random(f"{trainer} {task} {seed}").gauss(0, spread)
        return 0.5 + (difference if trainer == "A" else 0.0) + noise

    return score


def test_a_clear_winner_is_named_with_interval_and_n(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.5), seeds=range(10))])

    pair = found.pair("A", "B")
    assert pair is not None
    assert pair.verdict == "better"
    assert pair.difference.interval.low is not None
    assert 0 < pair.difference.interval.low < pair.difference.interval.estimate
    assert [task.winner for task in found.tasks] == ["A", "A"]
    assert verdict_sentence(found).startswith("A is better than B by")
    assert verdict_sentence(found).endswith("on 2 tasks with 10 seeds.")
    assert next_step(found) is None


def test_the_verdict_is_the_same_from_either_side(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.5))])
    one, other = found.pair("A", "B"), found.pair("B", "A")

    assert one is not None
    assert other is not None
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert one.improvement == pytest.approx(1 - other.improvement)


def test_what_is_not_resolved_is_said_with_what_would_decide(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.04), seeds=range(6))])

    assert verdict_sentence(found).startswith("Not resolved:")
    assert all(task.winner is None for task in found.tasks)
    assert "more seed" in str(next_step(found))
    assert "USD" in str(next_step(found))


def test_unknown_prices_are_unknown_and_not_free(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.04), usd=None)])

    assert all(summary.use.usd is None for summary in found.summaries)
    assert "cost unknown" in str(next_step(found))


def test_one_seed_claims_nothing(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(5.0), seeds=[1])])

    pair = found.pair("A", "B")
    assert pair is not None
    assert pair.verdict == "not resolved"
    assert pair.difference.interval.low is None
    assert any("no measured spread" in remark for remark in remarks(found))


def test_one_task_is_compared_and_generalised_to_no_other(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", noisy(0.5), tasks=["s:x"])])

    pair = found.pair("A", "B")
    assert pair is not None
    assert pair.verdict == "better"
    assert pair.difference.elsewhere.low is None
    assert found.ranks is None


def test_all_equal_is_not_resolved_and_no_number_of_seeds_would(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", lambda *_: 0.5)])

    assert verdict_sentence(found) == "Not resolved: A and B scored alike, on 2 tasks with 5 seeds."
    assert "no number of seeds" in str(next_step(found))


def test_who_is_level_with_the_leader_leads_as_well(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "r",
        lambda trainer, _, seed: seed % 2 if trainer == "C" else 1.0,
        trainers=("A", "B", "C"),
        seeds=range(3),
    )
    assert verdict_sentence(compare_runs([run])) == (
        "Not resolved: A and B lead alike, but no difference from the others is clear, on 2 tasks with 3 seeds."
    )


def test_failed_jobs_are_values_with_both_denominators_shown(tmp_path: Path) -> None:
    failed = {("A", "s:x", 0): "failed", ("A", "s:x", 1): "failed"}

    def score(trainer: str, task: str, seed: int) -> float | None:
        return None if (trainer, task, seed) in failed else 1.0

    run = make_run(tmp_path / "r", score, statuses=failed)  # type: ignore[arg-type]
    by_initial, left_out = compare_runs([run]), compare_runs([run], policy="exclude")

    one = next(s for s in by_initial.summaries if s.standing.entrant == "A")
    other = next(s for s in left_out.summaries if s.standing.entrant == "A")
    assert (one.standing.counted, one.standing.measured, one.standing.jobs, one.failed) == (10, 8, 10, 2)
    assert (other.standing.counted, other.standing.jobs) == (8, 10)
    assert one.standing.interval.estimate == pytest.approx((0.6 + 1.0) / 2)
    assert other.standing.interval.estimate == pytest.approx(1.0)
    assert any(
        "2 jobs ended without a score; each counts as its task's initial score." in r for r in remarks(by_initial)
    )


def test_all_failed_is_told_and_claims_nothing(tmp_path: Path) -> None:
    statuses = {(t, k, s): "failed" for t in ("A", "B") for k in ("s:x", "s:y") for s in range(5)}
    run = make_run(tmp_path / "r", lambda *_: None, statuses=statuses, initial=None)  # type: ignore[arg-type]

    assert verdict_sentence(compare_runs([run])) == "Nothing to compare, for nobody has a score: all 20 jobs failed."


def test_who_failed_wherever_the_other_has_scores_never_met_it(tmp_path: Path) -> None:
    failed = {("A", "s:x"), ("B", "s:y")}
    statuses = {(t, k, s): "failed" for t, k in failed for s in range(5)}

    def score(trainer: str, task: str, seed: int) -> float | None:
        return None if (trainer, task) in failed else 1.0

    found = compare_runs([make_run(tmp_path / "r", score, statuses=statuses)])  # type: ignore[arg-type]

    assert not found.pairs
    assert verdict_sentence(found).startswith(
        "Nothing to compare: A never met B, for on no task do both have a score; 5 of"
    )
    assert [(t.task, s.entrant) for t in found.tasks for s in t.standings if s.interval is None] == [
        ("s:x", "A"),
        ("s:y", "B"),
    ]


def test_a_run_without_an_ended_job_is_refused_with_the_command_that_continues_it(tmp_path: Path) -> None:
    statuses = {(t, k, s): "not_run" for t in ("A", "B") for k in ("s:x", "s:y") for s in range(5)}
    run = make_run(tmp_path / "r", lambda *_: 1.0, statuses=statuses)  # type: ignore[arg-type]

    with pytest.raises(UsageError, match="No job of these runs ended") as refused:
        compare_runs([run])
    assert refused.value.hint.startswith("trace-bench resume")


def test_a_run_under_way_and_a_torn_result_are_told_and_count_for_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), statuses={("A", "s:x", 0): "not_run"})
    torn = next(tmp_path.glob("r/jobs/*/results.json"))
    torn.write_bytes(torn.read_bytes()[:100])

    found = compare_runs([load_run(run.layout.path)])

    assert found.unfinished == {"r": 2}
    assert any("2 jobs have no result yet" in remark for remark in remarks(found))


def test_scores_that_are_no_numbers_are_not_measured(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda trainer, task, seed: float("nan") if seed == 0 else 1.0)

    found = compare_runs([run])

    assert all(s.standing.measured == 8 and s.failed == 2 for s in found.summaries)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"comparability": 2}, "comparability"),
        ({"salt": "b"}, "salt"),
    ],
)
def test_runs_that_measured_different_things_are_refused_by_the_field(tmp_path: Path, changes, field: str) -> None:
    one = make_run(tmp_path / "one", noisy(0.1), salt="a")
    other = make_run(tmp_path / "other", noisy(0.1), **({"salt": "a"} | changes))

    with pytest.raises(UsageError, match=f"cannot be pooled: .*`{field}`.* differs: .* in one; .* in other"):
        compare_runs([one, other])


def test_different_models_are_different_entrants(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one", noisy(0.1), trainers=["A"], model="small")
    other = make_run(tmp_path / "other", noisy(0.1), trainers=["A"], model="large")

    found = compare_runs([one, other])

    assert {s.standing.entrant for s in found.summaries} == {"A (small)", "A (large)"}
    assert any(remark.startswith("Model differs") for remark in remarks(found))


def test_what_runs_differ_in_is_told_in_words_and_without_what_they_share() -> None:
    versions = {'{"core":"0.1.0","python":"3.11.7"}': ("one",), '{"core":"0.2.0","python":"3.11.7"}': ("other",)}
    prices = {'{"lab/a":{"prompt":0.5}}': ("one",), "{}": ("other",)}

    assert (
        str(Finding("versions", versions, forbids=False)) == "versions differ: core 0.1.0 in one; core 0.2.0 in other"
    )
    assert str(Finding("prices", prices, forbids=False)) == "prices differ: lab/a prompt 0.5 in one; none in other"
    assert (
        str(Finding("`salt`", {'"a"': ("one",), '"b"': ("other",)}, forbids=True))
        == "`salt` differs: a in one; b in other"
    )


def test_seeds_of_two_runs_are_pooled_and_repeated_jobs_count_once(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one", lambda *_: 0.0, seeds=[1, 2])
    other = make_run(tmp_path / "other", lambda *_: 1.0, seeds=[2, 3])

    found = compare_runs([one, other])

    standing = found.summaries[0].standing
    assert standing.jobs == 2 * 3
    assert found.outcomes.repeated == 4
    assert standing.interval.estimate == pytest.approx(2 / 3)


def test_unequal_use_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), used={"A": 200, "B": 45}, budget=Budget(evaluations=200))

    assert any("A used 4.4 times the evaluations of B" in remark for remark in remarks(compare_runs([run])))


def test_a_baseline_run_shows_what_turned_worse(tmp_path: Path) -> None:
    before = make_run(tmp_path / "before", lambda *_: 1.0)
    after = make_run(tmp_path / "after", lambda trainer, task, seed: -1.0 if trainer == "A" else 1.0)

    found = compare_runs([before, after], baseline="before")

    assert {(p.one, p.other) for p in found.pairs} == {("A @ after", "A @ before"), ("B @ after", "B @ before")}
    assert {change.what for change in found.changes} == {"no longer improves"}
    assert len(found.changes) == 10
    assert all(change.is_worse for change in found.changes)


def test_an_unknown_baseline_is_refused_with_a_guess(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), trainers=["Alpha", "Beta"])

    with pytest.raises(UsageError, match="Alpha"):
        compare_runs([run], baseline="Alhpa")


def test_within_a_margin_there_is_no_difference_that_matters(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.0, spread=0.01), tasks=["s:x"], seeds=range(8))
    plain, wide, narrow = (compare_runs([run], margin=margin) for margin in (None, 0.05, 0.001))

    assert [found.pairs[0].verdict for found in (plain, wide, narrow)] == ["not resolved", "equivalent", "not resolved"]
    assert verdict_sentence(wide) == "No difference that matters between B and A: within ±0.05, on 1 task with 8 seeds."
    told = comparison_data(wide)
    assert (told["margin"], told["pairs"][0]["verdict"]) == (0.05, "equivalent")
    assert told["pairs"][0]["equivalence"] < 0.05
    assert comparison_data(plain)["pairs"][0]["equivalence"] is None
    assert next_step(wide) is None
    assert "A is equivalent (within ±0.05)" in verdict_sentence(compare_runs([run], margin=0.05, baseline="B"))


def test_a_difference_that_is_real_and_within_the_margin_is_better_and_said_to_be_small(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.02, spread=0.002), tasks=["s:x"], seeds=range(8))
    found = compare_runs([run], margin=0.05)

    assert found.pairs[0].verdict == "better"
    assert any("real, and smaller than what matters (within ±0.05)" in remark for remark in remarks(found))
    assert is_met(parse_gate("A > B"), found)
    assert is_met(parse_gate("A ~ B"), found)
    assert not is_met(parse_gate("A ~ B"), compare_runs([run], margin=0.001))
    with pytest.raises(UsageError, match="within what"):
        is_met(parse_gate("A ~ B"), compare_runs([run]))


def test_equivalence_is_corrected_for_all_pairs_and_a_gate_is_not(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda *_: 0.5, trainers=[f"T{i}" for i in range(6)], tasks=["s:x"], seeds=range(5))
    found = compare_runs([run], margin=0.1)

    assert {pair.verdict for pair in found.pairs} == {"not resolved"}, "five equal pairs are 1/32, times fifteen"
    assert is_met(parse_gate("T0 ~ T1"), found)


def test_tasks_that_cancel_out_are_not_equivalent(tmp_path: Path) -> None:
    def score(trainer: str, task: str, seed: int) -> float:
        ahead = (trainer == "A") == (task == "s:x")
        return (0.9 if ahead else 0.1) + random.Random(f"{trainer} {task} {seed}").gauss(0, 0.001)

    run = make_run(tmp_path / "r", score, seeds=range(10))
    for looks in (None, 12):
        found = compare_runs([run], margin=0.5, most_seeds=looks)
        assert found.pairs[0].against
        assert found.pairs[0].verdict == "not resolved"


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan"), float("inf")])
def test_a_margin_that_is_no_size_is_refused(tmp_path: Path, margin: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        compare_runs([make_run(tmp_path / "r", noisy(0.0))], margin=margin)


def test_what_is_barely_resolved_against_a_constant_is_said_to_be_less_sure(tmp_path: Path) -> None:
    def against(name: str, still: float, scores: list[float], other: float = 0.0) -> list[str]:
        def score(trainer: str, task: str, seed: int) -> float:
            return scores[seed] if trainer == "A" else still + other * seed

        found = compare_runs([make_run(tmp_path / name, score, tasks=["s:x"], seeds=range(len(scores)))])
        return [remark for remark in remarks(found) if "never varies" in remark]

    skewed = [0.2, 0.25, 0.3, 0.22, 0.4]
    assert against("barely", 0.4, skewed)[0].startswith("B and A: B never varies where A does.")
    assert not against("clearly", 5.0, skewed), "so far apart, skewness does not matter"
    assert not against("open", 0.3, skewed), "what is not resolved misleads nobody"
    assert not against("both", 0.4, skewed, other=0.001)


def test_a_gate_is_met_by_what_is_resolved_alone(tmp_path: Path) -> None:
    clear = compare_runs([make_run(tmp_path / "clear", noisy(0.5))])
    unclear = compare_runs([make_run(tmp_path / "unclear", noisy(0.01))])

    assert is_met(parse_gate("A > B"), clear)
    assert not is_met(parse_gate("B > A"), clear)
    assert not is_met(parse_gate("A>B"), unclear)
    with pytest.raises(UsageError, match="no entrant"):
        is_met(parse_gate("A > C"), clear)


def test_of_who_has_no_score_no_gate_is_met(tmp_path: Path) -> None:
    never: dict[tuple[str, str, int], JobStatus] = {("B", t, s): "not_run" for t in ("s:x", "s:y") for s in range(5)}
    found = compare_runs([make_run(tmp_path / "r", noisy(0.5), statuses=never)])

    assert not is_met(parse_gate("A > B"), found)
    assert not is_met(parse_gate("B > A"), found)


@pytest.mark.parametrize("text", ["A", "A >", "> B", "A > B > C", "A >= B"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no gate"):
        parse_gate(text)


def test_a_sequential_design_decides_or_asks_for_more(tmp_path: Path) -> None:
    clear = compare_runs([make_run(tmp_path / "clear", noisy(1.0))], most_seeds=15)
    unclear = compare_runs([make_run(tmp_path / "unclear", noisy(0.05))], most_seeds=15)

    assert clear.pair("A", "B").verdict == "better"
    assert unclear.pair("A", "B").verdict == "open"
    with pytest.raises(UsageError, match="most-seeds 2"):
        compare_runs([make_run(tmp_path / "two", noisy(1.0))], most_seeds=2)


def test_the_same_runs_give_the_same_data(tmp_path: Path) -> None:
    make_run(tmp_path / "r", noisy(0.2))

    assert comparison_data(compare_runs([load_run(tmp_path / "r")])) == comparison_data(
        compare_runs([load_run(tmp_path / "r")])
    )


def test_what_would_settle_a_comparison_is_typed_with_its_cost(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.04), seeds=range(6), usd=0.01)
    write_config(run.layout, RunConfig(run_id="r", runs_dir=str(tmp_path), max_workers=2))
    found = compare_runs([run])
    told = settling(found, [run])

    assert told is not None
    assert told.usd == pytest.approx(0.01 * 4 * told.seeds)
    assert str(told).startswith(f"A and B: +{told.seeds} seeds would likely decide, about {told.usd:.2f} USD, ")
    assert told.command == (
        f"trace-bench run --config {run.layout.config_snapshot} --extend-seeds -o seeds=0..{5 + told.seeds}"
    )
    assert settling(compare_runs([make_run(tmp_path / "clear", noisy(0.5))]), []) is None


def test_a_recording_is_not_added_to(tmp_path: Path) -> None:
    """It would no longer be what was recorded, and is unpacked over what was added."""
    run = make_run(tmp_path / ".demos/0123/r", noisy(0.04), seeds=range(6), statuses={("A", "s:x", 0): "failed"})
    write_config(run.layout, RunConfig(run_id="r", runs_dir=str(tmp_path / ".demos/0123"), max_workers=2))
    found = compare_runs([run])
    told = settling(found, [run])

    assert told is not None
    assert (told.command, "trace-bench" in str(told), hints(found, [run])) == ("", False, [])


@pytest.mark.parametrize("size", [2.0**-490, 2.0**-330, 2.0**260, 2.0**496])
@pytest.mark.parametrize("shift", [0, 2])
def test_scores_of_any_size_compare_as_those_of_one(tmp_path: Path, size: float, shift: int) -> None:
    """`shift` takes seeds from one side alone, so that the test for partially overlapping samples is asked, too."""
    statuses: dict[tuple[str, str, int], JobStatus] = {("B", "s:x", seed): "not_run" for seed in range(shift)}
    found = []
    for name, factor in (("one", 1.0), ("other", size)):
        score = noisy(0.1)
        run = make_run(
            tmp_path / name,
            lambda trainer, task, seed, score=score, factor=factor: factor * score(trainer, task, seed),
            tasks=["s:x"],
            seeds=range(9),
            statuses=statuses,
        )
        pair = compare_runs([run]).pair("A", "B")
        assert pair is not None
        found.append((pair.difference.probability, pair.difference.interval.low, factor))
    (first, low, _), (second, scaled, _) = found
    assert second == pytest.approx(first)
    assert scaled / size == pytest.approx(low)


def test_what_rounding_leaves_of_nothing_is_nothing(tmp_path: Path) -> None:
    found = compare_runs([make_run(tmp_path / "r", lambda t, *_: 0.1 + 0.2 if t == "A" else 0.9, initial=0.3)])

    one = next(s for s in found.summaries if s.standing.entrant == "A")
    assert (one.standing.interval.estimate, one.iqm.estimate) == (0, 0)
