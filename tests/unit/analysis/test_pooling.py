"""Which runs may be pooled: what differs in a measurement forbids it, what differs beside it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.pooling import Finding, pooling_findings, refuse_unpoolable
from tracebench_core.errors import UsageError

SPLITS = {split: {"examples": 5, "sha256": "a" * 64} for split in ("train", "validation", "test")}


def findings(folder: Path, one: dict[str, Any], other: dict[str, Any]) -> list[Finding]:
    runs = [
        make_run(folder / name, lambda *_: 1.0, tasks=("s:x",), seeds=(1,), **fields)
        for name, fields in (("one", one), ("other", other))
    ]
    return pooling_findings(runs)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("aggregate", ("mean", "median")),
        ("salt", ("a", "b")),
        ("source", ("s@1", "s@2")),
        ("comparability", (1, 2)),
    ],
)
def test_what_scores_are_made_of_must_be_the_same(tmp_path: Path, field: str, values: tuple[Any, Any]) -> None:
    one, other = ({"entry": {field: value}} for value in values)
    (found,) = findings(tmp_path, one, other)

    assert (found.field, found.forbids) == (f"`{field}` of task `s:x`", True)
    with pytest.raises(UsageError, match=rf"cannot be pooled: `{field}` of task `s:x` differs: {values[0]} in one; "):
        refuse_unpoolable([found])
    assert findings(tmp_path / "same", one, one) == []


@pytest.mark.parametrize(
    ("one", "other", "forbids"),
    [
        ((0.0, 1.0), (0.0, 100.0), True),
        ((None, 1.0), (None, 100.0), True),
        ((0.0, 1.0), (-1.0, 1.0), True),
        ((None, None), (0.0, 1.0), False),
        ((0.0, None), (None, 1.0), False),
    ],
)
def test_two_scales_are_told_and_never_mixed(tmp_path: Path, one: Any, other: Any, forbids: bool) -> None:
    entries = [{"entry": {"score_bounds": {"minimum": low, "maximum": high}}} for low, high in (one, other)]
    (found,) = findings(tmp_path, *entries)

    assert (found.field, found.forbids) == ("`score_bounds` of task `s:x`", forbids)
    assert findings(tmp_path / "same", entries[0], entries[0]) == []


def test_another_target_is_told_and_forbids_nothing(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"entry": {"target": 1.0}}, {"entry": {"target": None}})

    assert str(found) == "`target` of task `s:x` differs: 1.0 in one; none in other"
    assert not found.forbids


def test_a_field_that_a_run_of_before_does_not_tell_forbids_nothing(tmp_path: Path) -> None:
    assert findings(tmp_path, {"entry": {"aggregate": "median"}}, {}) == []


@pytest.mark.parametrize(("split", "forbids"), [("train", False), ("validation", True), ("test", True)])
@pytest.mark.parametrize("change", [{"sha256": "b" * 64}, {"examples": 6}])
def test_other_data_forbids_it_where_candidates_are_compared_on_it(
    tmp_path: Path, split: str, forbids: bool, change: dict[str, Any]
) -> None:
    changed = {**SPLITS, split: {**SPLITS[split], **change}}
    (found,) = findings(tmp_path, {"data": SPLITS}, {"data": changed})

    assert (found.field, found.forbids) == (f"data of split `{split}` of task `s:x`", forbids)
    if not forbids:
        refuse_unpoolable([found])


def test_data_of_unknown_content_is_told_and_forbids_nothing(tmp_path: Path) -> None:
    unknown = {**SPLITS, "test": {"examples": 5, "sha256": None}}
    (found,) = findings(tmp_path, {"data": SPLITS}, {"data": unknown})

    assert not found.forbids
    assert "of unknown content in other" in str(found)
