"""What of a discovered class's settings it is given: its own defaults are left to it, whichever of its methods has them."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_opto.discovery.records import FoundClass
from tracebench_opto.discovery.trainer import DiscoveredTrainer
from tracebench_opto.discovery.vocabulary import settings_of

FOUND = FoundClass(
    module="m",
    qualname="T",
    file_hash="",
    constructor={"width": 5, "only": 1, "seed": 0},
    train={"width": None, "num_steps": 3},
)


@pytest.mark.parametrize(
    ("told", "constructor", "train"),
    [
        ({}, {"seed": 7}, {}),
        ({"width": 9}, {"seed": 7, "width": 9}, {"width": 9}),
        ({"only": 2}, {"seed": 7, "only": 2}, {}),
        ({"num_steps": 8}, {"seed": 7}, {"num_steps": 8}),
    ],
)
def test_a_class_is_given_what_the_user_set_and_keeps_its_own_defaults(
    told: dict[str, Any], constructor: dict[str, Any], train: dict[str, Any]
) -> None:
    trainer = DiscoveredTrainer(FOUND, {**settings_of(FOUND.constructor, FOUND.train), **told})
    given = {"seed": 7, "elsewhere": 1}
    assert trainer._chosen(given, FOUND.constructor) == constructor
    assert trainer._chosen(given, FOUND.train) == train
