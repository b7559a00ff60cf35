"""Where a reply's answer is found, what is cut off around it, and which option it chooses, at the edges of each rule."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_hfqa.families.answer import END, FEW, MOST, marked, places, put_instead, readings, sentences, spoken
from tracebench_hfqa.families.choice import chosen
from tracebench_hfqa.families.family import Option

TREES = tuple(Option(label, text) for label, text in zip("ABCD", ("oak", "pine", "elm", "red elm"), strict=True))


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("<think>maybe 7</think>\n8", "\n8"),
        ("a</think>b</reasoning>c", "c"),
        ("so it is 8</think>  ", "so it is 8</think>  "),
        ("18. Let me know if that is unclear.", "18."),
        ("18. Hope this helps! Feel free to ask.", "18."),
        ("Let me know if 18 is right", "Let me know if 18 is right"),
        ("18, let me know if you agree", "18, let me know if you agree"),
        ("18\nWould you like more?", "18"),
        ("18. Would you like a drink?", "18. Would you like a drink?"),
    ],
)
def test_thoughts_before_and_courtesies_after_are_cut_off(reply: str, kept: str) -> None:
    assert spoken(reply) == kept


def test_courtesies_are_cut_one_by_one_and_only_near_the_end() -> None:
    leave = " Feel free to ask."
    assert spoken("18." + leave * FEW) == "18."
    assert spoken("18." + leave * (FEW + 1)) in {"18.", "18." + leave}
    far = " Feel free to ask" + " x" * END
    assert spoken("18." + far) == "18." + far
    near = "\nLet me know if it is so"
    whole = f"18.{near}{'x' * (END - len(near) - 1)}"
    assert (spoken(whole), spoken(whole + "x")) == ("18.", whole + "x")


@pytest.mark.parametrize(
    ("reply", "instead"),
    [
        ("18. No, actually 20.", "20"),
        ("18 - wait: it's 20", "20"),
        ("18. Actually, make it one two three", "one two three"),
        ("18. Actually, one two three four", ""),
        ("18. No, 2.5", "2.5"),
        ("18", ""),
        ("No, 18", ""),
        ("It is so. Nothing", ""),
        ("18. No, 20" + "!" * 400, ""),
    ],
)
def test_the_few_words_that_are_put_in_place_of_an_answer(reply: str, instead: str) -> None:
    assert put_instead(reply) == instead


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"answer": 1} then {"answer": [2], "why": "x"}', ["[2]", "1"]),
        ('{"why": "x", "Final_Answer": null, "label": "", "choice": "B"}', ["B"]),
        ('{"answer": "a", "result": "b"}', ["b"]),
        ('{"answer": ', []),
        ("<answer>7</answer> <answer> </answer> [final_answer]8", ["8", "7"]),
        ("Answer: 1\nAnswer: 2", ["2", "1"]),
        ("Answer: not 1\nAnswer: 2", ["2"]),
        ("Answer: **2**", ["**2**"]),
        ("**Answer: 2**", ["2**"]),
        (r"Answer: 3 and \boxed{4}", [r"3 and \boxed{4}", "4"]),
        (r"\boxed{ }", []),
        ("We see that the answer is 5.", ["5."]),
        ("Answer: 1. Wait. Answer: 2", ["2"]),
        ("Answer: 1. Wait, no.", ["1. Wait, no."]),
        ("The answer would be 18 if so, but the answer is 16", ["16"]),
        ("Answer:\n```python\nx\n```\nmore", ["```python\nx\n```"]),
        ("Answer:\n```\nx", ["```\nx"]),
        ("nothing", []),
    ],
)
def test_places_come_ranked(reply: str, found: list[str]) -> None:
    assert [*dict.fromkeys(places(reply))] == found


def test_the_last_marks_of_a_kind_are_looked_at() -> None:
    for written in ("Answer: {}\n", "<answer>{}</answer>", '{{"answer": "{}"}}'):
        reply = "".join(written.format(n) for n in range(MOST + 2))
        assert [*dict.fromkeys(places(reply))] == [str(n) for n in range(MOST + 1, 1, -1)]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One. Two", ["One.", "Two"]),
        ("St. Louis lies. There", ["St. Louis lies.", "There"]),
        ("J. R. Tolkien", ["J. R. Tolkien"]),
        ("It was Plan B. This is so", ["It was Plan B.", "This is so"]),
        ("one. two", ["one. two"]),
        ("one\ntwo", ["one", "two"]),
        ("\n \n", []),
        ('He said "no." Then 3! (A) so', ['He said "no."', "Then 3!", "(A) so"]),
        ("etc.\nnext", ["etc.", "next"]),
    ],
)
def test_sentences_end_where_people_end_them(text: str, cut: list[str]) -> None:
    assert sentences(text) == cut


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("Answer: **Paris** (the capital of it). It is big, I say", ["**Paris** (the capital of it). It is big, I say",
         "**Paris** (the capital of it)", "Paris"]),
        ("Answer: Paris, because it is", ["Paris, because it is", "Paris"]),
        ("Answer: correct.\nAnswer: in the text\nThe answer is Rome.", ["Rome", "Rome."]),
        ("Answer: this", ["this"]),
        ("no mark", []),
    ],
)  # fmt: skip
def test_a_marked_place_is_read_from_its_whole_words_to_its_shortest_clause(reply: str, read: list[str]) -> None:
    told = marked(reply)
    assert set(read) <= set(told)
    assert not read or told[-1] == min(read, key=len)


@pytest.mark.parametrize(
    ("reply", "last"),
    [
        ("Paris\nIt is where the river is wide.", "Paris"),
        ("Paris\nIt was so at first, but London later", "Paris"),
        ("Paris\nWait, it was where rivers meet", "Paris\nWait, it was where rivers meet"),
        ("Which town is it?\nIt is the one we know.", "Which town is it?"),
        ("We looked at all that there is.\nParis", "Paris"),
        ("We looked at all there.\nParis", "Paris"),
        ("We looked there.\nParis", "We looked there.\nParis"),
        ("Paris (see below)", "Paris"),
        ("Paris (it)", "Paris (it)"),
        ("Paris, which is big", "Paris"),
        ("[Paris. London lies. Else]", "[Paris. London lies. Else]"),
    ],
)
def test_an_unmarked_answer_is_its_own_line_or_sentence(reply: str, last: str) -> None:
    assert readings(reply)[-1] == last


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"a\ud800 b"', "a\N{REPLACEMENT CHARACTER} b"),
        (r'["\udc00"]', '["\N{REPLACEMENT CHARACTER}"]'),
        (r'"\ud83d\ude00"', "\N{GRINNING FACE}"),
    ],
)
def test_half_a_character_that_json_spells_is_none_in_an_answer(written: str, read: str) -> None:
    """It could be written nowhere, and a judge not be asked of it."""
    assert [*places(f'{{"answer": {written}}}')] == [read]


FEW_WORDS = " ".join(["a"] * FEW)


def test_a_line_of_its_own_has_few_words() -> None:
    prose = "This is why it has to be so."
    assert readings(f"{FEW_WORDS}\n{prose}")[-1] == FEW_WORDS
    assert readings(f"{FEW_WORDS} b c.\n{FEW_WORDS}")[-1] == FEW_WORDS
    assert readings(f"{FEW_WORDS} b c.\n{FEW_WORDS} a")[-1] != f"{FEW_WORDS} a"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("option (c)", "C"), ("the letter B.", "B"), ("C elm", "C"), ("red elm", "D"), ("It is the red elm", "D"),
        ("Answer: A / B", ""), ("Answer: A, which is oak", "A"), ("Answer: (B) oak", ""),
        ("Answer: A, oak", "A"), ("Answer: B elm", ""), ("Answer: it is bold **B**", "B"), ("Answer: it is nothing of them", ""),
        ("A\nB", ""), ("A\nA", "A"), ("A\nSorry, that was wrong", ""), ("Is it B?", ""), ("Is it B?**", ""),
        ("(B) is not the one, (C) is", "C"), ("Not A, B or C", ""), ("everything but B", ""), ("B isn't right", ""),
        ("B would be best", "B"), ("I pick B, since C is not", "B"), ("going with C", "C"),
        ("I'm sure of nothing", ""), ("I think so: pine", "B"), ("It is never pine", ""),
        ("A B C", ""), ("(A) or (B)\nso (B)", "B"), ("(A) or (B) so", ""), ("C - it grows there", "C"), ("C, it grows there", "C"),
        ("C it grows there", "C"), ("A tree grows there", ""), ("A (the oak)", "A"), ("instead of A take (D)", "D"),
        ("Answer: correct\nAnswer: C", "C"), ("D's text is red elm", "D"),
        ("Between A and B, A", "A"), ("Of the oak and the elm, the elm.", "C"), ("Answer: out of (A), (B) or (C), option (B)", "B"),
        ("Not oak but elm", "C"), ("It is not the oak, but rather the red elm.", "D"), ("Answer: not (A) but (B)", "B"),
        ("Between A and B, neither", ""), ("Between A and B, A or C", ""), ("Among A and B, A\nNot A but B", ""),
        ("Not oak but not elm", ""), ("Not oak but elm or pine", ""), ("Not only oak but elm", ""), ("Not oak", ""), ("Of A, B", ""),
    ],
)  # fmt: skip
def test_which_option_is_chosen(reply: str, label: str) -> None:
    assert chosen(reply, TREES) == label


def test_words_and_numbers_that_are_labels_need_more_beside_them() -> None:
    numbers = tuple(Option(str(n), text) for n, text in enumerate(("oak", "pine", "elm"), 1))
    roman: Any = tuple(Option(label, text) for label, text in (("I", "oak"), ("II", "pine")))
    for reply, label in (
        ("2 trees grow", ""), ("2. pine", "2"), ("2.5", ""), ("2, I say", "2"), ("so 2.", "2"), ("2 because it is", "2"), ("1 or 2", ""),
        ("2 - it is so", "2"), ("so we have 2 trees", ""),
    ):  # fmt: skip
        assert (reply, chosen(reply, numbers)) == (reply, label)
    for reply, label in (("I think so", ""), ("I", "I"), ("I, surely", "I"), ("II it is", "II"), ("I'd say", "")):
        assert (reply, chosen(reply, roman)) == (reply, label)
