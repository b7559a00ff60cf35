"""The law of values, read by the viewer: what its pages show of a job, and the published site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.tracebench_viewer.tests.any_value import read_by_viewer
from tests.engine.any_value import PLUGIN, measure


def test_every_value_is_shown_as_what_was_measured(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    answers = [*read_by_viewer(measure(tmp_path / "runs"), tmp_path / "pages")]
    assert [answer.reader for answer in answers] == ["viewer"] * 6 + ["published site"]
    assert [answer.said for answer in answers if answer.is_wrong] == []
    if answers[-1].is_missing:
        pytest.skip("the published site needs what draws charts: pip install 'tracebench-engine[report]'")
