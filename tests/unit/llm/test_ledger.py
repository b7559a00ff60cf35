"""What a line of the ledger says beyond a job's record of a call: only what the call had, and all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens
from tracebench_gateway.server.metering.ledger import MARKS, marks_of
from tracebench_gateway.turns import Place

PLAIN = ChatRequest(
    job_id="a1",
    seed=1,
    role="optimizer",
    identity=ModelIdentity(provider="p", model="m"),
    messages=[],
    sampling={"max_tokens": 100},
    digest="d",
)
REPLY = Reply({"content": "x"}, "stop")
COST = Metered(Tokens(7, 3), 0.1)
PLACE = Place(3, 1)
CASES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {}, {}),
    ({"occurrence": 2}, {}, {"occurrence": 2}),
    ({"key": "k"}, {}, {"key": "k", "occurrence": 0}),
    ({"asker": "e1"}, {}, {"asker": "e1"}),
    ({"place": PLACE}, {}, {"place": [*PLACE]}),
    ({"limit": 100}, {}, {}),
    ({"limit": 60}, {}, {"limit": 60}),
    ({"left_out": ("user",)}, {}, {"left_out": ["user"]}),
    ({}, {"reused": True}, {"reused": True}),
    ({"reserved": 10}, {}, {}),
    ({"reserved": 9}, {}, {"overshoot": 1}),
    ({"reserved": 9}, {"reused": True}, {"reused": True}),
    ({"reserved": 0}, {}, {"overshoot": 10}),
]


@pytest.mark.parametrize(("asked", "cost", "marks"), CASES)
@pytest.mark.parametrize("outcome", [REPLY, ProviderError("away", kind="server")], ids=["reply", "error"])
def test_a_line_has_the_marks_of_what_was_asked_and_no_other(
    asked: dict[str, Any], cost: dict[str, Any], marks: dict[str, Any], outcome: Reply | ProviderError
) -> None:
    assert marks_of(replace(PLAIN, **asked), outcome, replace(COST, **cost)) == marks
    assert {*marks} <= MARKS


def test_what_the_provider_was_not_passed_either_is_marked_with_the_rest() -> None:
    reply = replace(REPLY, left_out=("seed",))

    assert marks_of(replace(PLAIN, left_out=("user",)), reply, COST) == {"left_out": ["user", "seed"]}
