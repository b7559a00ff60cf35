import random
from typing import Any

import pytest

from tracebench_core.proposing.sampling import Minibatches, comparison_set, draw_subset
from tracebench_core.specs import Example

EXAMPLES = [Example(id=str(i)) for i in range(7)]


def test_each_pass_meets_every_example_once() -> None:
    batches = Minibatches(EXAMPLES, 3, rng=random.Random(0))
    for _ in range(3):
        met = [e.id for _ in range(3) for e in batches.draw()]
        assert sorted(met) == [e.id for e in EXAMPLES]


def test_a_batch_of_all_keeps_their_order() -> None:
    batches = Minibatches(EXAMPLES, 50, rng=random.Random(0))
    assert batches.draw() == batches.draw() == tuple(EXAMPLES)


def test_equal_seeds_draw_equal_batches() -> None:
    one, other = (Minibatches(EXAMPLES, 2, rng=random.Random(3)) for _ in range(2))
    assert [one.draw() for _ in range(9)] == [other.draw() for _ in range(9)]


def test_a_subset_keeps_the_order_and_has_no_example_twice() -> None:
    subset = draw_subset(EXAMPLES, 4, rng=random.Random(1))
    ids = [int(e.id) for e in subset]
    assert len(ids) == 4
    assert ids == sorted(set(ids))
    assert draw_subset(EXAMPLES, None, rng=random.Random(1)) == tuple(EXAMPLES)


class Compared:
    """Takes the place of a problem: what was declared to be compared on."""

    def __init__(self, *, train: int, validation: int) -> None:
        self.train, self.validation = tuple(EXAMPLES[:train]), tuple(EXAMPLES[:validation])
        self.rng = random.Random(0)
        self.declared: list[tuple[Example, ...]] = []

    def compare_on(self, examples: tuple[Example, ...]) -> None:
        self.declared.append(examples)


@pytest.mark.parametrize(("train", "validation", "size", "drawn"), [(7, 5, 3, 3), (7, 0, 4, 4), (2, 0, None, 2)])
def test_what_candidates_are_compared_on_is_drawn_and_declared(
    train: int, validation: int, size: int | None, drawn: int
) -> None:
    problem: Any = Compared(train=train, validation=validation)
    chosen = comparison_set(problem, size)

    assert len(chosen) == drawn
    assert problem.declared == [chosen]
    assert set(chosen) <= set(problem.validation or problem.train)


def test_where_there_is_nothing_to_compare_on_nothing_is_declared() -> None:
    problem: Any = Compared(train=0, validation=0)
    assert comparison_set(problem, 3) == ()
    assert problem.declared == []
