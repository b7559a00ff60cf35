"""The table of entrants: every figure has a column of its own, and the two of content are shown where anything was asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_engine.cli.results.standings import summary_table


def test_a_table_ends_with_the_proposals_where_no_task_tells_content(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary_table(compare_runs([make_run(tmp_path / "run", lambda _task, _trainer, seed: seed / 10)]))
    head, first, *_ = (line.split("\t") for line in capsys.readouterr().out.splitlines())

    assert head[:3] == ["trainer", "score", "95 %"]
    assert head[-4:] == ["tokens", "usd", "seconds", "proposals"]
    assert first[0] == "A"
    assert (first[head.index("n")], first[head.index("usd")]) == ("10/10", "0.01")
    assert len(head) == len(first)
