"""The short form of the crash test: a handful of disturbed runs of a small matrix. `just crash` runs the long one.

The crash points of the store, beside this file, run always.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crash.soak import matrix, soak
from tests.whole import HEAVY


@HEAVY
@pytest.mark.timeout(300)
def test_whatever_is_killed_every_job_finishes_once_and_as_if_undisturbed(tmp_path: Path) -> None:
    tally = soak(tmp_path, config=matrix(2), kills=12, seeds=4, seed=7)

    print(f"{tally.kills.total()} kills ({dict(tally.kills)}) over {tally.runs} runs of {tally.jobs} jobs in all")
    assert tally.problems == []
    assert tally.kills.total() >= 12
    assert len(tally.kills) >= 3
