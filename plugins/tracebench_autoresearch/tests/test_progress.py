"""The plot: what is best so far, which changes are named, and where experiments without a value stand."""

from __future__ import annotations

import json

import pytest

from tracebench_autoresearch.history.drawing import render
from tracebench_autoresearch.history.progress import points, progress
from tracebench_autoresearch.history.reading import Experiment, History
from tracebench_autoresearch.history.table import rows
from tracebench_core.errors import UsageError

TRIED = (
    ("the start", [3.0, 3.2], "", "measured"),
    ("a larger rate", [2.5], "accepted", "measured"),
    ("luck", [2.4], "indecisive", "measured"),
    ("a typing error", [], "rejected", "crashed"),
    ("a far too large rate", [90.0], "rejected", "measured"),
    ("a wider layer, which is a change with a long name indeed", [2.0], "accepted", "measured"),
)


def history(*, decided: bool = True, direction: str = "minimize") -> History:
    experiments = tuple(
        Experiment(n, f"c{n}", "", words, (), values, [], outcome, verdict if decided else "")
        for n, (words, values, verdict, outcome) in enumerate(TRIED)
    )
    return History(
        "j",
        "autoresearch:x",
        "Autoresearch",
        "loss",
        direction,
        "",
        "edit_then_commit",
        experiments,
        self_reported=False,
        best="c5",
        confirmation=None,
        drift=1.0,
    )


def test_only_what_is_kept_counts_as_best_and_is_named() -> None:
    rows = [*points(history())]

    assert [row["best"] for row in rows] == [3.1, 2.5, 2.5, 2.5, 2.5, 2.0]
    assert [row["status"] for row in rows] == ["baseline", "keep", "indecisive", "failed", "discard", "keep"]
    assert [row["label"][:12] for row in rows] == ["the start", "a larger rat", "", "", "", "a wider laye"]
    assert rows[-1]["label"].endswith("…")


@pytest.mark.parametrize(
    ("direction", "best"),
    [("minimize", [3.1, 2.5, 2.4, 2.4, 2.4, 2.0]), ("maximize", [3.1, 3.1, 3.1, 3.1, 90.0, 90.0])],
)
def test_where_nothing_is_decided_the_best_is_what_measured_better(direction: str, best: list[float]) -> None:
    assert [row["best"] for row in points(history(decided=False, direction=direction))] == best


def test_an_outlier_and_a_crash_stand_at_the_edge_of_a_scale_that_the_kept_ones_set() -> None:
    plot = progress(history())
    low, high = plot["layer"][1]["encoding"]["y"]["scale"]["domain"]

    assert 1.5 < low < 2.0
    assert 3.1 < high < 3.5
    crashed = next(row for row in plot["layer"][1]["data"]["values"] if row["status"] == "failed")
    assert crashed["value"] == high
    assert plot["title"] == "autoresearch:x: 6 experiments, 2 kept"


def test_it_is_written_as_data_and_drawn_where_the_library_is_here() -> None:
    assert json.loads(render(progress(history()), ".json")) == progress(history())
    with pytest.raises(UsageError, match=r"`\.gif` is no format"):
        render(progress(history()), ".gif")
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    assert "a larger rate" in render(progress(history()), ".svg").decode()


def test_a_row_names_an_experiment_by_the_beginning_of_its_commit() -> None:
    found = [*rows(history(), {"c1": "0123456789abcdef"})]

    assert [row[0] for row in found] == ["c0", "0123456789", "c2", "c3", "c4", "c5"]
    assert [row[1:3] for row in found[:2]] == [("3.100000", "2"), ("2.500000", "1")]
    assert (found[3][1], found[3][4]) == ("-", "crashed")
