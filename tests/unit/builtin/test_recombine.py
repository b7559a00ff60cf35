"""`Recombine`: seeded, different each time, and of sentences that stood somewhere."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.builtin.recombine import LONGEST, recombined

SENTENCES = st.lists(st.sampled_from([f"S{i}." for i in range(12)]), unique=True, max_size=LONGEST)
PHRASES = ("P1.", "P2.")


@given(SENTENCES, st.lists(SENTENCES, max_size=3), st.integers())
def test_a_recombination_holds_only_known_sentences_and_can_be_repeated(
    own: list[str], mates: list[list[str]], seed: int
) -> None:
    found = recombined(own, mates, PHRASES, random.Random(seed))

    assert found == recombined(own, mates, PHRASES, random.Random(seed))
    assert {*found} <= {*own, *PHRASES, *(s for mate in mates for s in mate)}
    assert len({*found}) == len(found)
    assert own == own.copy()
