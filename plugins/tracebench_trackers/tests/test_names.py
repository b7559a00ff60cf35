"""Names that trainers and tasks choose are such as trackers and disks take, and no two of them become one."""

from __future__ import annotations

import posixpath
import re

import pytest

from tracebench_trackers.closing import _file_name
from tracebench_trackers.mlflow_sink import named

ODD = [
    "metric/gain (%)", "metric/loss[0]", "metric/a//b", "metric/", "metric/x/", "metric/../x", "metric/./x", "metric/x/..", "metric/a\nb",
    f"metric/{'n' * 300}", f"metric/{'n' * 301}", "metric/gain [%]", "metric/\ud800",
]  # fmt: skip
"""MLflow refuses each of these, and all that comes after it was lost."""


def test_mlflow_is_given_names_that_it_takes() -> None:
    told = [named(name) for name in ODD]
    assert len({*told}) == len(ODD)
    for name in told:
        assert re.fullmatch(r"[/\w.\- :]{1,250}", name)
        assert posixpath.normpath(name) == name


@pytest.mark.parametrize(
    "name", ["metric/model_choice:gpt-4o", "used/usd", "settings.num_steps", "metric/größe x", "a..b/.c"]
)
def test_a_name_that_mlflow_takes_stays(name: str) -> None:
    assert named(name) == name


def test_texts_of_candidates_have_names_that_a_disk_takes() -> None:
    odd = [
        "a/b",
        "a b",
        "a_b",
        "..",
        ".",
        "",
        ".hidden",
        "n" * 300,
        "é" * 300,
        "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 100,
        "\ud800",
    ]
    told = [_file_name(name) for name in odd]
    assert len({*told}) == len(odd)
    assert all(0 < len(name.encode()) < 200 and "/" not in name and not name.startswith(".") for name in told)
    assert [_file_name(name) for name in ("prompt", "a-b.c", "größe")] == ["prompt", "a-b.c", "größe"]
