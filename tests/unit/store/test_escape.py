"""Text that would act on a terminal, or turn what is read, is spelled out; all other text stays as it is."""

from __future__ import annotations

import json

import pytest

from tracebench_runs.storage.escape import escaped


@pytest.mark.parametrize("acts", ["\x7f", "\x85", "\x9b", "\u2028", "\u202e", "\u2066", "\u2069"])
@pytest.mark.parametrize("beside", ["plain", "größer"])
def test_what_acts_is_spelled_out_and_reads_back_the_same(acts: str, beside: str) -> None:
    text = json.dumps(f"{beside}{acts}{beside}", ensure_ascii=False)
    assert acts not in escaped(text)
    assert beside in escaped(text)
    assert json.loads(escaped(text)) == json.loads(text)


@pytest.mark.parametrize("text", ["plain", "größer", "日本語", "\u2030 \u2065 \u206a"])
def test_other_text_stays(text: str) -> None:
    assert escaped(text) == text
