"""What an extractor that knew the right answer would have got out of a reply: the part of a score that no better form can add to.

The pieces of a reply that could be an answer, its numbers, options, boxes, marked places, lines and sentences, are each scored as if
they were all of it; the best counts. A reply that lists everything holds everything: this says what a reply contains, not that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracebench_hfqa.families.answer import marked, sentences
from tracebench_hfqa.families.decoration import BOX, boxed
from tracebench_hfqa.families.family import Case, Family, within_reach
from tracebench_hfqa.families.numbers import numbers_in, plain
from tracebench_hfqa.families.text import normalise

MOST, LONGEST, REACH = 300, 200, 2_000
"""Pieces of a reply that are tried, the characters of one, and those at its end, where answers stand, that they are taken from."""
INLINE = re.compile(r"\$([^$\n]{1,200})\$")
CLAUSE = re.compile(r"[,;:\u2014\u2013()\n]+")
OUTSIDE_LEFT, OUTSIDE_RIGHT = r"(?<![\w'\u2019])", r"(?![\w'\u2019])"
GOES_ON = r"(?!\s+(?!(?:and|or|nor|is|was|as|because|since)\b)[a-z])"
"""After a label that is a word as well: no sentence goes on with it, as "A hard question" and "I do not know" do."""
SAID = re.compile(r"\"([^\"\n]{1,200})\"|\*\*([^*\n]{1,200})\*\*|`([^`\n]{1,200})`")


def content(reply: str, family: Family, case: Case) -> float:
    """Return the best score that a piece of a reply has, the reply itself included."""
    reply = within_reach(reply)
    best = family.score(reply, case).score
    pieces = (piece for piece in _pieces(reply[-REACH:], case) if len(piece) <= LONGEST)
    for piece in list(dict.fromkeys(pieces))[:MOST]:
        if best >= 1:
            break
        best = max(best, family.score(piece, case).score)
    return best


def _pieces(reply: str, case: Case) -> Iterator[str]:
    """Yield what in a reply could be its answer, the likeliest first."""
    if case.options:
        yield from _options(reply, case)
        return
    yield from marked(reply)
    for box in reversed([*BOX.finditer(reply)]):
        yield boxed(reply[box.start() :].partition("\n")[0]) or ""
    yield from reversed([number.text for number in numbers_in(plain(reply))])
    yield from reversed(INLINE.findall(reply))
    yield from (next(filter(None, found)) for found in reversed(SAID.findall(reply)))
    told = list(reversed(sentences(reply)))
    yield from told
    for sentence in told:
        yield from (part.strip(" .*") for part in CLAUSE.split(sentence) if part.strip(" .*"))
    yield from (f"Answer: {word}" for word in reversed(re.findall(r"[\w'-]+", reply)))


def _options(reply: str, case: Case) -> Iterator[str]:
    """Yield the labels that stand in a reply, and those of the options whose texts do."""
    held = f" {normalise(reply)} "
    for label, text in case.options:
        word = GOES_ON if label in {"A", "I"} else ""
        named = rf"{OUTSIDE_LEFT}\(?{re.escape(label)}{word}[).:]?{OUTSIDE_RIGHT}"
        if re.search(named, reply) or f" {normalise(text)} " in held:
            yield f"Answer: {label}"
