"""Slips of the pen in YAML: which line is told, and what is to be written there."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_engine.config.slips import find_slip

SLIPS: list[tuple[Any, ...]] = [
    ("<<<<<<< HEAD\na: 1", 2, (1, "a marker of a merge that was not finished: keep one of the two sides")),
    ("a: 1\n=======", 1, (2, "a marker of a merge that was not finished: keep one of the two sides")),
    ("a: 1\n|||||||", 1, (2, "a marker of a merge that was not finished: keep one of the two sides")), ("======== ", 1, None),
    (">>>>>>>x", 1, None), ("a:\n\t- 1", 2, (2, "a tab: YAML is indented with spaces")),
    ("a:\n  \tb", 2, (2, "a tab: YAML is indented with spaces")), ("a:\xa0b", 1, (1, "a no-break space (U+00A0): type a plain space")),
    ("a\uff1ab", 1, (1, "a full-width colon (U+FF1A): type a plain colon")),
    ("a:\u200bb", 1, (1, "an invisible character (U+200B): type a plain space")), ("a: '\xa0'", 1, None), ("a: 1 #\xa0", 1, None),
    ("a: [1", 1, (1, "a `]` is missing: the list that begins in line 1 is not closed")),
    ("a: [1\nb: 2", 2, (2, "a `]` is missing: the list that begins in line 1 is not closed")),
    ("a: {b: [1", 1, (1, "a `}` is missing: the mapping that begins in line 1 is not closed")), ("a: [1]]", 1, None),
    ("a:b", 1, (1, "no space after the colon: write `a: b`")), ("a: 1\nb:2 ", 2, (2, "no space after the colon: write `b: 2`")),
    ("seeds = [1]", 1, (1, "`=` in place of `:`: write `seeds: [1]`")), ("- x = 3", 1, (1, "`=` in place of `:`: write `x: 3`")),
    ("-abc", 1, (1, "no space after the dash: write `- abc`")), ("mode stub", 1, (1, "no colon after the field: write `mode: stub`")),
    ("mode", 1, (1, "no colon after the field: write `mode:`")),
    ("a: 1\n\n\nb:2\nc: 1", 5, (4, "no space after the colon: write `b: 2`")), ("http://x", 1, None), ("a:  # b", 1, None),
    ("  a: 1\nb: 2", 2, (1, "the field is indented by 2 spaces, and a later one in line 2 by 0 spaces")),
    ("a: 1\n  b: 2", 2, (2, "the field is indented by 2 spaces, and the one before it in line 1 by 0 spaces")),
    ("a: |\n  b: 2", 2, None), ("a: >-2\n  b: 2", 2, None),
    ("a:\n   b: 2\n  c: 3", 3, (3, "the field is indented by 2 spaces, and those above it by 0 spaces or 3 spaces")),
    ("a:\n  b: 2\n  c: 3", 3, None),
    ("a:\n  - b: 1\n   c: 2", 3, (3, "the field is indented by 3 spaces, and those above it by 0 spaces or 4 spaces")),
    ("a:\n  - - b: 1\n   c: 2", 3, (3, "the field is indented by 3 spaces, and those above it by 0 spaces or 6 spaces")),
    ("a: 1", 1, None), (" a: 1\nb: 2\n", 2, (1, "the field is indented by 1 space, and a later one in line 2 by 0 spaces")),
    ("api_key hunter2", 1, (1,
        "`api_key` is a secret, and configs are published. Name its variable instead: `llm: {api_key_env: NAME}`")),
    ("api_key: x\nfoo bar", 2, (2, "no colon after the field: write `foo: bar`")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "upto", "slip"), SLIPS)
def test_the_slip_that_explains_a_complaint_is_told_with_its_line(text: str, upto: int, slip: Any) -> None:
    found = find_slip(text, upto)
    told = (
        None
        if found is None
        else (found.line, found.words.removesuffix(": fields that belong together begin in the same column"))
    )
    assert told == slip
