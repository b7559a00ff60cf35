"""A table that an earlier version wrote is no stale one, and one that was changed is."""

import pytest

from tracebench_runs.check.older import is_told_by

NOW = b'job,score,calls\na,0.5,3\nb,"x,y",4\n'
OBJECT = b'{"jobs": 2, "counts": {"ok": 2, "unscored": 0}, "overshoot": null}'


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (NOW, True),
        (b'job,score\na,0.5\nb,"x,y"\n', True),
        (b"job,calls\na,3\nb,4\n", True),
        (b'job,score\na,0.6\nb,"x,y"\n', False),
        (b"job,score\na,0.5\n", False),
        (b"job,gone\na,0.5\nb,1\n", False),
        (b"", False),
        (b"\xff\xfe", False),
        (b"job,score\na\n", False),
    ],
)
def test_columns_may_have_been_added_and_nothing_else(kept: bytes, told: bool) -> None:
    assert is_told_by(kept, NOW, suffix=".csv") is told


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (OBJECT, True),
        (b'{"jobs": 2, "counts": {"ok": 2}}', True),
        (b'{"jobs": 3, "counts": {"ok": 2}}', False),
        (b'{"jobs": 2, "more": 1}', False),
        (b'{"counts": {"ok": 2}}', False),
        (b"{}", False),
        (b"[]", False),
        (b"{", False),
    ],
)
def test_fields_may_have_been_added_and_nothing_else(kept: bytes, told: bool) -> None:
    assert is_told_by(kept, OBJECT, suffix=".json") is told
