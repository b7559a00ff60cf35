from __future__ import annotations

import pytest

from tracebench_analysis.statistics.anchors import find_anchors


@pytest.mark.parametrize(
    ("initial", "scores", "target", "source", "zero_one"),
    [
        ([1.0, 1.0], [3.0, 0.0], 5.0, "target", (1, 5)),
        ([1.0], [3.0, 0.0], None, "best seen", (1, 3)),
        ([1.0], [3.0], 0.5, "best seen", (1, 3)),
        ([1.0], [0.5, 1.0], None, "worst seen", (1, 1.5)),
        ([1.0], [1.0], None, "none", (1, 1)),
        ([], [2.0, 4.0], None, "best seen", (2, 4)),
    ],
)
def test_anchors(initial, scores, target, source, zero_one) -> None:
    found = find_anchors(initial, scores, target=target)

    assert found is not None
    assert (found.source, found.zero, found.one) == (source, *zero_one)


def test_all_alike_is_zero_and_worse_than_initial_is_below_it() -> None:
    alike, worse = find_anchors([1.0], [1.0]), find_anchors([1.0], [0.5])

    assert alike is not None
    assert worse is not None
    assert alike.normalise(1.0) == 0
    assert worse.normalise(0.5) == -1
    assert find_anchors([], []) is None
