"""Each kind of instruction of IFEval: a reply that just follows it, and one that just does not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from tracebench_hfqa.families.instructions import CHECKS, SETTINGS, capitals, follows, loosened, sentences

LEAST, LESS = "at least", "less than"
TABLE: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("keywords:existence", {"keywords": ["a", "b"]}, ["B and A"], ["a", "c"]),
    ("keywords:frequency", {"keyword": "ab", "frequency": 2, "relation": LEAST}, ["ab AB", "abab ab"], ["ab"]),
    ("keywords:frequency", {"keyword": "ab", "frequency": 2, "relation": LESS}, ["ab", "x"], ["ab ab"]),
    ("keywords:forbidden_words", {"forbidden_words": ["ab", "cd"]}, ["abc"], ["x AB", "cd."]),
    ("keywords:letter_frequency", {"letter": "A", "let_frequency": 2, "let_relation": LEAST}, ["aA"], ["a"]),
    ("keywords:letter_frequency", {"letter": "a", "let_frequency": 2, "let_relation": LESS}, ["a"], ["Aa"]),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": LEAST}, ["One. Two"], ["One."]),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": LESS}, ["One."], ["One. Two."]),
    ("length_constraints:number_words", {"num_words": 3, "relation": LEAST}, ["a b-c", "a b c d"], ["a b"]),
    ("length_constraints:number_words", {"num_words": 3, "relation": LESS}, ["a b"], ["a b c"]),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, ["a\n***\nb", "a *** b ***", "*** a *** b"],
     ["a", "a *** *** b", "a *** b *** c"]),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Go"},
     ["a\n\ngo on", "a\n\n'\"GO, on", "a\n\ngo"],
     ["a\n\nb go", "go\n\nb", "a\n\ngo\n\nb", "go", "a\n\n\n\ngo", "a\n\ngone", "a\n\n \n\ngo"]),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, ["[a] [b]", "[][]"], ["[a]", "[a [b]"]),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, ["a\nP.S. b", "p. s. b"], ["PS b", "p.s b"]),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, ["a\nP.P.S b", "p. p. s"], ["P.S. b"]),
    ("detectable_content:postscript", {"postscript_marker": "NB:"}, ["a nb: b"], ["nb"]),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, ["* a\n - b", "- a\n- b\n** c"], ["* a", "* a\n* b\n- c"]),
    ("detectable_format:constrained_response", {}, ["So: My answer is no.", "My answer is maybe."], ["My answer is no", "no"]),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2},
     ["*a* *b*", "**a** *b*", "*a* *b* *c*"], ["*a*", "**", "* * *a*", "*a*\n*"]),
    ("detectable_format:multiple_sections", {"section_spliter": "Part", "num_sections": 2},
     ["Part 1 a Part 2 b", "Part 1Part 2"], ["Part 1 a", "Part a Part b"]),
    ("detectable_format:json_format", {}, ['{"a": 1}', '```json\n{"a": 1}\n```', "```\n[1]```", " 1 "], ["{a: 1}", "``json 1",
    "[" * 100_000]),
    ("detectable_format:title", {}, ["<<a>>", "x <<<a>>", "<<>>\n<<b>> c"], ["<a>", "<<>>", "<< >>", "<<a\n>>", ">> a <<"]),
    ("combination:two_responses", {}, ["a******b", "a ****** b ******", "******a******b"],
     ["a", "a******a", "a ****** a", "a******b******c", "a************b"]),
    ("combination:repeat_prompt", {"prompt_to_repeat": " Say so "}, ["say so, yes", " SAY SO"], ["I say so", "say s"]),
    ("startend:end_checker", {"end_phrase": " The End"}, ["it is the end", '"the end"'], ["the end.", "the"]),
    ("startend:quotation", {}, ['"a"', ' "" '], ['"', '"a', 'a"', "a"]),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": LEAST}, ["A B c", "DON'T"], ["A b", "Ab Cd"]),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": LESS}, ["A b"], ["A B"]),
    ("punctuation:no_comma", {}, ["a; b"], ["a, b"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "told", "good", "bad"), TABLE)
def test_what_follows_an_instruction_and_what_does_not(
    name: str, told: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    assert {text for text in good if not follows(text, name, told)} == set()
    assert {text for text in bad if follows(text, name, told)} == set()
    assert not any(follows(empty, name, told) for empty in ("", " \n"))
    assert {*told} == {*SETTINGS.get(name, ())}


@pytest.mark.skipif(find_spec("langdetect") is None, reason="the extra `langdetect` is not installed")
def test_languages_are_told_and_a_text_without_one_may_be_any() -> None:
    english, german = "the sun shines and we go out to the fields", "die Sonne scheint und wir gehen auf die Felder"
    for name, told, good, bad in (
        ("language:response_language", {"language": "de"}, [german, "123"], [english]),
        (
            "change_case:english_capital",
            {},
            [english.upper(), english.upper() + " 1"],
            [german.upper(), english, english.title()],
        ),
        ("change_case:english_lowercase", {}, [english], [german.lower(), english.title()]),
    ):
        assert [text for text in good if not follows(text, name, told)] == []
        assert [text for text in bad if follows(text, name, told)] == []


def test_every_instruction_is_tried_here() -> None:
    languages = {"language:response_language", "change_case:english_capital", "change_case:english_lowercase"}
    assert {name for name, *_ in TABLE} | languages == CHECKS.keys()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("a", 1), ("One. Two", 2), ("One. two", 1), ("One.", 1), ("One. ", 1), ("Mr. Smith came.", 1), ("He saw Mr.", 1),
        ("J. Smith", 1), ("What?! No.", 2), ('"One." Two', 2), ("It is 3.5 so. 4 too", 2), ("In the U.S. It is", 1), ("One...\nTwo", 2),
    ],
)  # fmt: skip
def test_sentences_are_counted_as_people_count_them(text: str, count: int) -> None:
    assert sentences(text) == count


@pytest.mark.parametrize(
    ("text", "count"), [("A bB C-D", 2), ("DON'T", 2), ("don't", 0), ("IT'S", 2), ("I'm", 1), ("U.S. 12", 1), ("", 0)]
)
def test_capitals_are_counted_word_by_word(text: str, count: int) -> None:
    assert capitals(text) == count


def test_a_text_is_loosened_by_its_first_and_last_lines_and_its_asterisks() -> None:
    assert loosened("*a*\nb\n*c*") == [
        "*a*\nb\n*c*", "b\n*c*", "*a*\nb", "b", "a\nb\nc", "b\nc", "a\nb", "b",
    ]  # fmt: skip
    assert loosened("a") == ["a", "", "", "", "a", "", "", ""]
