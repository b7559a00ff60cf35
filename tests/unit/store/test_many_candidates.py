"""What a job of hundreds of thousands of candidates keeps, beside plain dicts, lists and a sort that keep everything."""

from __future__ import annotations

import math
from random import Random

import pytest
from tests.unit.store.samples import started, whole_job

from tracebench_core.specs import BudgetState, JobResult, StepResult
from tracebench_core.specs.events import StepFinished
from tracebench_runs.events import ranking
from tracebench_runs.events.many import Numbers, Shelf, Tally, Texts
from tracebench_runs.events.ranking import Board, Entry, Ranking, mean
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.results import results
from tracebench_runs.results.results import read_result, result_bytes, write_long_result
from tracebench_runs.storage.layout import RunLayout

ODD = ["c01", "c", "", "c-1", "c²", "c1", "x", "c3", "C0", "c0 ", "c" + "9" * 40, "c\uff15"]


@pytest.mark.parametrize(
    "ids", [[f"c{n}" for n in range(9)], ODD, ["c1", "c0", "c2", *ODD], ["b", "c0", "c1", "c2", "c1"]]
)
def test_numbers_are_those_of_a_dict(ids: list[str]) -> None:
    numbers, known = Numbers(), {}
    for id_ in ids:
        assert numbers.find(id_) == known.get(id_)
        new = id_ not in known
        assert numbers.add(id_) == (known.setdefault(id_, len(known)), new)
    assert [numbers.name(n) for n in range(len(numbers))] == [*known]
    assert {id_: numbers.find(id_) for id_ in ODD} == {id_: known.get(id_) for id_ in ODD}


def test_a_tally_counts_as_a_dict_does() -> None:
    random, tally, counted = Random(3), Tally(), {}
    for _ in range(3000):
        key = (
            random.choice(["c0", "c1", "c77", "x"]),
            random.choice([("a", "training"), ("a", "scoring"), ("b", "training")]),
        )
        assert tally.add(*key) == counted.get(key, 0)
        counted[key] = counted.get(key, 0) + 1


def test_texts_come_back() -> None:
    texts, given = Texts(), [b"", b"a", "é\n".encode(), b"", b"x" * 5000]
    for text in given:
        texts.append(text)
    assert [texts[n] for n in range(len(texts))] == given


def test_a_record_that_was_put_away_is_as_it_was_left() -> None:
    random, shelf, plain = Random(5), Shelf(Entry.packed, Entry.of, at_hand=3), []
    for turn in range(2000):
        if turn < 8 or random.random() < 0.1:
            shelf.append(Entry(len(plain)))
            plain.append(Entry(len(plain)))
        number = random.randrange(len(plain))
        for entry in (shelf.get(number), plain[number]):
            entry.scores.setdefault("e", []).append(float(turn))
            entry.metrics["e"] = {"m": math.inf, "n": -0.0}
            entry.unmeasured ^= {"ü\ud800"}
            entry.rejected = turn % 2 == 0
        assert shelf.get(number) == plain[number]
    assert [*shelf] == plain


@pytest.mark.parametrize("at_hand", [1, 2, 7])
def test_a_board_that_holds_a_few_of_the_best_ranks_as_a_sort_of_all(
    at_hand: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores that go up and down, candidates that are rejected and taken back, many of them equal."""
    monkeypatch.setattr(ranking, "AT_HAND", at_hand)
    for seed in range(30):
        random, entries, ranked = Random(seed), [Entry(n) for n in range(40)], Board(["a", "b"], mean)
        for _ in range(400):
            entry = random.choice(entries[: random.randint(1, 40)])
            match random.randrange(6):
                case 0:
                    entry.rejected = not entry.rejected
                case 1:
                    entry.unmeasured ^= {"a"}
                case _:
                    entry.scores.setdefault(random.choice("ab"), []).append(float(random.randint(-3, 3)))
            ranked.update(entry)
            there = [
                (-mean([mean(e.scores["a"]), mean(e.scores["b"])]), e.number)
                for e in entries
                if len(e.scores) == 2 and not e.unmeasured and not (e.rejected and e.number)
            ]
            best = min(there, default=None)
            assert ranked.leader() == (best and (best[1], -best[0]))
        assert ranked.ranked(3) == [number for _, number in sorted(there)[:3]]


def test_a_ranking_of_thousands_is_the_same_wherever_they_are_kept() -> None:
    one = Ranking(train=["a"], validation=[], worst_score=None)
    random, means = Random(7), {}
    for number in range(5000):
        one.see(f"c{number}")
        score = random.random()
        one.record(f"c{number}", "a", score=score, status="ok", metrics={})
        means[f"c{number}"] = [score]
    for _ in range(3000):  # the leader above all is measured again
        id_ = random.choice([one.best, f"c{random.randrange(5000)}"])
        score = random.random()
        one.record(id_, "a", score=score, status="ok", metrics={})
        means[id_].append(score)
    order = sorted(means, key=lambda id_: (-mean(means[id_]), int(id_[1:])))
    assert (one.best, one.best_score) == (order[0], mean(means[order[0]]))
    assert one.finalists(5) == [*order[:5], "c0"]
    one.compare_on(["a"])
    assert one.best == order[0]
    with pytest.raises(KeyError):
        one.record("c5000", "a", score=0.0, status="ok", metrics={})


@pytest.mark.parametrize("steps", [0, 1, 2, 999, 1000, 1001, 2500])
def test_a_long_result_has_the_bytes_of_any_other(
    steps: int, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(steps)
    made = tuple(
        StepResult(
            index=index,
            score=random.choice([None, -0.0, random.random(), math.inf]),
            best=random.random(),
            seconds=1e-9,
            used=BudgetState(evaluations=index, usd=random.choice([None, 1e-7])),
        )
        for index in range(steps)
    )
    misleading = 'x\n  "steps": [],\n  ],\n\u2028'
    result = reduce_job(whole_job()).model_copy(update={"steps": made, "stop_reason": misleading})
    layout = RunLayout(tmp_path / "run").create().job(result.job_id)
    layout.path.mkdir(parents=True)

    write_long_result(layout, result.model_copy(update={"steps": ()}), made)
    data = layout.results.read_bytes()

    assert data == result_bytes(result)
    monkeypatch.setattr(results, "LONG", 0)
    assert read_result(layout).result == JobResult.model_validate_json(data) == result
    if steps:
        with pytest.raises(ValueError, match="steps of its own"):
            write_long_result(layout, result, made)


def test_steps_are_those_that_their_events_tell() -> None:
    used = BudgetState(evaluations=10**30, llm_calls=2, tokens=3, usd=None, seconds=0.1)
    events = [StepFinished(index=n, score=None, best=-0.5, seconds=n / 3, used=used) for n in range(3)]
    found = reduce_job([started(), *events]).steps
    assert [s.model_dump() for s in found] == [
        {"index": n, "score": None, "best": -0.5, "seconds": n / 3, "used": used.model_dump()} for n in range(3)
    ]
