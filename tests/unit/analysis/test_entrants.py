"""Names of entrants: a label where there is one, an id else, and of the rest only what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_analysis.comparison.entrants import EntrantKey, name_entrants
from tracebench_core.errors import ConfigError
from tracebench_engine.config import parse_config


def key(trainer: str, params: str = "{}") -> EntrantKey:
    return EntrantKey(trainer, params, "", "m", "")


def test_entrants_are_called_by_their_labels() -> None:
    careful, quick, plain = key("A", '{"n": 9}'), key("A", '{"n": 1}'), key("B")

    names = name_entrants([careful, quick, plain], {careful: "careful", quick: "quick", plain: ""})

    assert names == {careful: "careful", quick: "quick", plain: "B"}


def test_one_label_for_several_is_completed_by_what_differs() -> None:
    few, many, other = key("A", '{"n": 1}'), key("A", '{"n": 9}'), key("B")

    names = name_entrants([few, many, other], dict.fromkeys([few, many, other], "net"))

    assert names == {few: "net (A; n=1)", many: "net (A; n=9)", other: "net (B; n=default)"}
    assert len({*name_entrants([few, key("net")], {few: "net"}).values()}) == 2


@pytest.mark.parametrize("label", ["two\nlines", " blank", "\x1b[31m", "x" * 61])
def test_a_label_is_one_printable_line(label: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="label"):
        parse_config({"tasks": ["internal:numeric_param"], "trainers": [{"id": "NoOp", "label": label}]})


def test_a_name_beside_an_id_is_told_its_field() -> None:
    with pytest.raises(ConfigError, match="`label`"):
        parse_config({"tasks": ["internal:numeric_param"], "trainers": [{"id": "NoOp", "name": "mine"}]})
