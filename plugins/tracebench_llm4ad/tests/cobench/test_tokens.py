"""The words of a file of CO-Bench: integers, numbers and tables in their order, and what is none of these."""

from __future__ import annotations

import pytest

from tracebench_core.errors import UsageError
from tracebench_llm4ad.cobench.covering import SetCovering
from tracebench_llm4ad.cobench.problem import Tokens


def test_words_are_taken_in_their_order() -> None:
    tokens = Tokens(" 3.0 -2\n1.5 a 1 2 3\t4 5e0 ")
    assert (tokens.left, tokens.whole(), tokens.whole(), tokens.number(), tokens.word()) == (9, 3, -2, 1.5, "a")
    assert (tokens.table(2, 1), tokens.wholes(2), tokens.numbers(1)) == ([[1.0], [2.0]], [3, 4], [5.0])
    assert tokens.left == 0
    with pytest.raises(ValueError, match=r"^it ends too early$"):
        tokens.number()
    with pytest.raises(ValueError, match=r"^1\.5 is no integer$"):
        Tokens("1.5").whole()


@pytest.mark.parametrize("text", ["1e400", "nan", "inf 2", "2 3\n2 inf 4\n", "2 3\n2 nan 4\n"])
def test_a_number_that_is_none_in_a_file_is_named_too(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"`scp41\.txt` of `Set covering` is not in its format: \S+ is no finite number"
    ):
        SetCovering.parsed(text, name="scp41.txt")
