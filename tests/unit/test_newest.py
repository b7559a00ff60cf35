"""Each pin of ours has tests of its own by which `just newest` tries it."""

from __future__ import annotations

import pytest
from tests.newest import ROOT, TESTS, Pin, pins, trial_of

PINS = [pytest.param(pin, id=pin.name) for pin in pins()]


@pytest.mark.parametrize("pin", PINS)
def test_a_pin_has_tests_that_are_there(pin: Pin) -> None:
    where, _, _ = trial_of(pin)
    assert where != "tests", "the whole suite needs more than this library's distribution"
    found = ROOT / where
    assert found.is_file() or [*found.rglob("test_*.py")], where


def test_no_tests_are_named_for_what_nothing_pins() -> None:
    assert {*TESTS} <= {pin.name for pin in pins()}
