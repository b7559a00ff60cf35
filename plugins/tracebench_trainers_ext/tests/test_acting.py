"""The table of settings that were seen to act names those that `benchmarks/knobs.py` tries, and tells differences apart."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.knobs import Seen, difference
from plugins.tracebench_trainers_ext.tests.acting import KNOBS

README = Path(__file__).parents[1] / "README.md"


def test_each_row_of_the_table_is_a_setting_that_the_command_tries() -> None:
    table = README.read_text(encoding="utf-8").partition("<!-- knobs -->")[2].partition("<!-- end of knobs -->")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)
    assert rows
    assert {(trainer, shown) for trainer, shown, _ in rows} <= {(knob.trainer, knob.shown()) for knob in KNOBS}


def test_what_differs_is_told_and_what_is_the_same_is_not() -> None:
    plain = Seen(("a", "b"), ("1", "2"), 9)
    assert difference(plain, plain) == {}
    assert difference(plain, Seen(("a", "c"), ("2", "1"), 9)) == {
        "requests": "1 of 2 requests",
        "candidates": "the order of candidates",
    }
    assert difference(plain, Seen(("a",), ("1", "2", "3"), 12)) == {
        "requests": "2 → 1 calls",
        "candidates": "2 → 3 candidates",
        "evaluations": "9 → 12 evaluations",
    }
