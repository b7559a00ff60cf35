"""Tests of the shop: as few as it has, to begin with."""

from shop import prices


def test_a_whole_price():
    assert prices.parse("3") == 300
