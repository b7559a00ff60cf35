"""What a design task says of answers, right and wrong, is what it was; `just kept answers` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.answers import OF_COBENCH, SMALL, answers_of
from tests.kept.store import kept

from tracebench_llm4ad.cobench.__main__ import write_folder

SAID = kept("answers")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cobench")
    write_folder(place)
    return place


@pytest.mark.parametrize("name", [*SMALL, *OF_COBENCH])
def test_answers_are_told_as_they_were(data: Path, name: str) -> None:
    assert answers_of(name, data) == SAID[name]
