from hypothesis import given
from hypothesis import strategies as st

from tracebench_opto.parts.frontier import dominates, instance_winners, prune_dominated, sort_fronts

VECTORS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def test_equal_vectors_do_not_dominate_each_other() -> None:
    assert not dominates((1, 2), (1, 2))
    assert dominates((1, 3), (1, 2))
    assert not dominates((2, 1), (1, 2))


@given(VECTORS)
def test_fronts_hold_every_item_once_and_each_is_undominated_by_what_follows(vectors: list[tuple[int, int]]) -> None:
    items = list(enumerate(vectors))
    fronts = sort_fronts(items, lambda item: item[1])
    assert sorted(item for front in fronts for item in front) == items
    for depth, front in enumerate(fronts):
        rest = [item for later in fronts[depth:] for item in later]
        assert not any(dominates(other[1], item[1]) for item in front for other in rest)


def test_a_candidate_that_wins_nowhere_is_left_out() -> None:
    wins = instance_winners({"a": {"1": 1.0, "2": 0.0}, "b": {"1": 0.0, "2": 1.0}, "c": {"1": 0.5, "2": 0.5}})
    assert wins == {"a": {"1"}, "b": {"2"}}


def test_ties_win_together_and_unmeasured_examples_are_not_lost() -> None:
    wins = instance_winners({"a": {"1": 1.0}, "b": {"1": 1.0, "2": 0.0}})
    assert wins == {"a": {"1"}, "b": {"1", "2"}}


def test_pruning_keeps_every_won_example_covered() -> None:
    wins = {"a": {"1", "2"}, "b": {"2", "3"}, "c": {"1", "3"}}
    kept = prune_dominated(wins, ["a", "b", "c"])
    assert kept == {"a": {"1", "2"}, "b": {"2", "3"}}


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 5), min_size=1), min_size=1))
def test_pruning_never_loses_coverage(wins: dict[str, set[int]]) -> None:
    named = {name: {str(e) for e in won} for name, won in wins.items()}
    kept = prune_dominated(named, sorted(named))
    assert set().union(*kept.values()) == set().union(*named.values())
