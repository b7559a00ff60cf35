"""The programs that find optima of small instances, each on one whose optimum can be seen."""

from __future__ import annotations

import pytest

pytest.importorskip("scipy")


def test_the_cheapest_columns_that_cover_every_row() -> None:
    from tracebench_llm4ad.optima.set_covering import solve

    given = {"m": 3, "n": 4, "costs": [5.0, 1.0, 2.0, 7.0], "row_cover": [[1, 4], [1, 2], [3, 4]]}
    assert solve(**given) == {"selected_columns": [1, 3]}
    assert solve(**given | {"costs": [7.0, 1.0, 2.0, 5.0]}) == {"selected_columns": [2, 4]}
