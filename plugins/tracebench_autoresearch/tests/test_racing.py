"""A speed-up is what rounds agree on; a machine on which the same work takes any time measures nothing."""

from __future__ import annotations

import pytest

from tracebench_autoresearch.evaluation.racing import MOST, is_settled, speedup
from tracebench_core.contracts import NotMeasured

STEADY = [1.0, 1.02, 0.99]


def raced(times: list[float], *, work: float) -> float:
    """Race a candidate of so many times the work on a machine that takes `times` for one; a round's sides meet the same machine."""
    return speedup([work * seconds for seconds in times], times)


@pytest.mark.parametrize("work", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("times", [STEADY, [1.0, 1.1, 1.2, 1.3, 1.3], [1.3, 1.2, 1.1]])
def test_a_drift_of_the_machine_does_not_change_the_ratio(times: list[float], work: float) -> None:
    assert raced(times, work=work) == pytest.approx(1 / work)


def test_one_run_that_was_struck_is_outvoted() -> None:
    assert speedup([2.0, 9.0, 2.0], STEADY) == pytest.approx(0.5, rel=0.02)
    assert speedup([2.0, 2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 7.0, 1.0, 1.0]) == pytest.approx(0.5)


def test_a_race_goes_on_while_the_initial_files_differ_and_ends_in_words_where_they_stay_apart() -> None:
    apart = [1.0, 2.0, 1.0, 2.5, 1.2, 2.2, 1.0, 1.9, 1.1]
    assert [is_settled(STEADY[:n]) for n in (0, 1, 2, 3)] == [False, False, False, True]
    assert [is_settled(apart[:n]) for n in range(len(apart) + 1)].index(True) == MOST == len(apart)
    with pytest.raises(
        NotMeasured, match=r"took 1 to 2\.5 s of processor time in 9 runs; ± \d+% was seen, ± 15% is needed"
    ):
        speedup(apart, apart)
