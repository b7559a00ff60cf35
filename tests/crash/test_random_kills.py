"""The short form of the crash test: a handful of disturbed runs of a small matrix. `just crash` runs the long one.

The crash points of the store, beside this file, run always.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.crash.soak import install_ward, matrix, soak
from tests.whole import HEAVY


@HEAVY
@pytest.mark.timeout(300)
def test_whatever_is_killed_every_job_finishes_once_and_as_if_undisturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    install_ward(tmp_path / "site")
    tally = soak(tmp_path, config=matrix(2), kills=8, seeds=4, seed=7)

    print(f"{tally.dealt()} over {tally.runs} runs of {tally.jobs} jobs in all")
    assert tally.problems == []
    assert tally.kills.total() >= 8
    assert len(tally.kills) >= 3
