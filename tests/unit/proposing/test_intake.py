"""What a model suggests becomes a candidate or a note to the model, whatever it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from tracebench_core.contracts import Problem
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.replies import read_reply
from tracebench_core.specs import Parameter
from tracebench_engine.measure.values import breach

PARAMETERS = (
    Parameter(name="prompt", initial="Go."),
    Parameter(name="way", initial="a", kind="choice", choices=("a", "b")),
)
START = {"prompt": "Go.", "way": "a"}


class Job:
    """What a proposer needs of a problem to take a reply in."""

    parameters = PARAMETERS

    def check(self, values: Mapping[str, Any]) -> str:
        return breach(PARAMETERS, values)

    def log(self, name: str, value: float) -> None: ...
    def count_proposals(self, **counts: int) -> None: ...


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (r'{"values": {"prompt": "a\ud800b"}}', "`prompt` was refused: `prompt` holds half of a character"),
        ("{'values': {'prompt': 0x" + "f" * 5000 + "}}", "`prompt` was refused: it must be a text, not a number."),
        ("{'values': {'way': 0x" + "f" * 5000 + "}}", "`way` was refused: it must be one of"),
        ("{'values': {'way': {(1, 2): 3}}}", "`way` was refused: it must be one of"),
        ("{'values': {1: 2}}", "`1` was refused: there is no parameter of that name."),
        (r'{"values": {"\ud800": "x"}}', "`?` was refused: there is no parameter of that name."),
        ('{"values": {"' + "n" * 5000 + '": "x"}}', "`" + "n" * 100 + " … (4900 more characters)` was refused"),
    ],
    ids=lambda text: text[:32],
)
def test_whatever_a_model_writes_is_refused_in_words_that_it_can_be_sent(reply: str, note: str) -> None:
    intake = Intake(cast("Problem", Job()))
    assert intake.take(START, read_reply(reply, PARAMETERS)) is None
    (told,) = intake.notes()
    assert note in told
    assert told.encode()
