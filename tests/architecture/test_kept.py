"""What is declared, what tasks are, what trainers do and what commands say changes only where it is meant."""

from __future__ import annotations

import pytest
from tests import kept
from tests.kept.store import changes

MEANT = {
    "declared": "is it meant? Then `just kept declared`, and say so in changelog.d",
    "tasks": "is it meant? Then raise the task's `version.comparability`, `just kept tasks`, and say so in changelog.d",
    "costs": "is it meant? Then `just kept costs`",
    "courses": "is it meant? Then `just kept courses`, and say so in changelog.d",
    "reading": "is it meant? Then `just kept reading`",
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_kept_stays(name: str) -> None:
    now = kept.now(name)
    assert now
    assert (found := changes(name, now)) == [], MEANT[name] + ":\n" + "\n".join(found)
