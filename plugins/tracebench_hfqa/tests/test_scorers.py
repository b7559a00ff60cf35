"""Replies that are easily scored wrong, and what each is worth; a table for every family."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.whole import cells, one_in

from tracebench_hfqa.families import NAMES, find_family
from tracebench_hfqa.families.choice import SHORT, chosen
from tracebench_hfqa.families.drop import measure
from tracebench_hfqa.families.family import Case, Family, Option, within_reach
from tracebench_hfqa.families.instructions import CHECKS

ABCD = tuple(
    Option(label, text) for label, text in zip("ABCD", ("oak", "a pine tree", "elm", "ash and birch"), strict=True)
)
NUMBERED = tuple(Option(str(i), text) for i, text in enumerate(("oak", "pine", "elm", "ash"), start=1))

TABLE: list[tuple[str, Any, tuple[Option, ...], str, float]] = [
    # numbers: today's scorers keep the dot, compare text, and take the last number of a list
    ("gsm8k", "12", (), "12", 1),
    ("gsm8k", "12", (), "The final answer is 12.", 1),
    ("gsm8k", "29", (), "29.00", 1),
    ("gsm8k", "1234", (), "#### 1,234", 1),
    ("gsm8k", "12", (), "She pays $12.", 1),
    ("gsm8k", "12", (), r"So we get \boxed{12}.", 1),
    ("gsm8k", "12", (), r"The answer is $\boxed{12}$", 1),
    ("gsm8k", "12", (), "Answer: 12 apples in 3 crates", 1),
    ("gsm8k", "12", (), "3 + 9 = 12", 1),
    ("gsm8k", "3", (), "#### 3 * 100", 0),
    ("gsm8k", "4", (), "She sold 4 x 1000 apples.", 0),
    ("gsm8k", "400", (), "4 x 100 = 400", 1),
    ("gsm8k", "300000", (), "#### 3.0 x 10**5", 1),
    ("gsm8k", "-4", (), "#### −4", 1),  # noqa: RUF001 - a typographic minus
    ("gsm8k", "0.5", (), "#### 1/2", 1),
    ("gsm8k", "12", (), "#### 12\n\nQuestion: another?\n#### 99", 1),
    ("gsm8k", "99", (), "#### 12\n#### 99", 0),
    ("gsm8k", "99", (), " ".join(map(str, range(100))), 0),
    ("gsm8k", "12", (), "Answer: 12 or 13", 0),
    ("gsm8k", "12", (), "Answer: 11, 12", 0),
    ("gsm8k", "5", (), "15", 0),
    ("gsm8k", "12", (), "How much is 12?", 0),
    ("gsm8k", "12", (), "", 0),
    ("gsm8k", "12", (), "12/0", 0),
    ("gsm8k", "18", (), r"\boxed{\$18}", 1),
    ("gsm8k", "1800", (), r"1{,}800", 1),
    ("gsm8k", "1800", (), r"1\,800", 1),
    ("gsm8k", "1800", (), "1.8e3", 1),
    ("gsm8k", "-4", (), "-$4", 1),
    ("gsm8k", "0.5", (), r"\frac{1}{2}", 1),
    ("gsm8k", "1500000", (), "1.5 million", 1),
    ("gsm8k", "18", (), "She earns $18. I am confident the answer is right.", 1),
    ("gsm8k", "18", (), "Answer: She has 16 - 3 - 4 = 9 eggs. She makes 9 * 2 = $18.", 1),
    ("gsm8k", "18", (), "The answer is not 18.", 0),
    ("gsm8k", "18", (), "18? No, 20.", 0),
    ("gsm8k", "18", (), "Answer: 18. Wait, one was sold, so the answer is 17.", 0),
    ("gsm8k", "17", (), "Answer: 18. Wait, one was sold, so the answer is 17.", 1),
    # labels: today's scorers give 1 for the list of options, take "I" for a label, and know no numbers
    ("mcqa", "C", ABCD, "C", 1),
    ("mcqa", "C", ABCD, "(c)", 1),
    ("mcqa", "C", ABCD, "Answer: C. I am sure", 1),
    ("mcqa", "C", ABCD, "**Answer:** C", 1),
    ("mcqa", "C", ABCD, r"The answer is $\boxed{C}$.", 1),
    ("mcqa", "C", ABCD, "The answer is (C) elm.", 1),
    ("mcqa", "C", ABCD, "elm", 1),
    ("mcqa", "C", ABCD, "First, A is not it.\nC) elm", 1),
    ("mcqa", "B", ABCD, "A pine tree.", 1),
    ("mcqa", "A", ABCD, "A pine tree.", 0),
    ("mcqa", "2", NUMBERED, "Answer: 2", 1),
    ("mcqa", "2", NUMBERED, "(2)", 1),
    ("mcqa", "2", NUMBERED, "Answer: 1, 2", 0),
    ("mcqa", "C", ABCD, "(A) oak\n(B) a pine tree\n(C) elm\n(D) ash and birch", 0),
    ("mcqa", "C", ABCD, "A, B, C, D", 0),
    ("mcqa", "C", ABCD, "Answer: A or C", 0),
    ("mcqa", "C", ABCD, "I cannot answer that.", 0),
    ("mcqa", "A", ABCD, "A bird sang.", 0),
    ("mcqa", "C", ABCD, "", 0),
    ("mcqa", "B", ABCD, "Answer: B. The answer is not A.", 1),
    ("mcqa", "B", ABCD, "B\n\nExplanation: A is wrong because of C.", 1),
    ("mcqa", "B", ABCD, "The answer is B, since the other choice is wrong.", 1),
    ("mcqa", "B", ABCD, "I choose B because A, C and D do not fit.", 1),
    ("mcqa", "B", ABCD, "A is wrong. C is wrong. So B is correct.", 1),
    ("mcqa", "B", ABCD, "The answer is not B.", 0),
    ("mcqa", "A", ABCD, "A is wrong, it must be B.", 0),
    ("mcqa", "B", ABCD, "The correct answer is (B) elm.", 0),
    ("mcqa", "D", ABCD, "The answer is (D). The answer was incorrect because (C) is closer.", 1),
    ("mcqa", "2", NUMBERED, "2 (not 4)", 1),
    # yes and no: today's scorer takes the first word of either kind
    ("strategy_qa", True, (), "There is no doubt: Yes", 1),
    ("strategy_qa", True, (), "Yes, because no penguin flies.", 1),
    ("strategy_qa", False, (), "Reasoning...\nAnswer: **No**", 1),
    ("strategy_qa", True, (), "true", 1),
    ("strategy_qa", True, (), "yes no", 0),
    ("strategy_qa", False, (), "yes, no", 0),
    ("strategy_qa", True, (), "Answer: yes and no", 0),
    ("strategy_qa", True, (), "Yes. On second thought, no.", 0),
    ("strategy_qa", True, (), "Perhaps.", 0),
    ("strategy_qa", True, (), "The answer is yes because it rains; no counterexample exists.", 1),
    ("strategy_qa", True, (), "Can't say yes", 0),
    ("strategy_qa", True, (), "I cannot simply say yes.", 0),
    ("strategy_qa", True, (), "Yes.\n\nWould you like to know more?", 1),
    # what is taken back, and what a reply offers or asks once it is done
    ("gsm8k", "18", (), "Answer: $18/day", 1),
    ("gsm8k", "18", (), "Answer: 18/5/2024", 0),
    ("gsm8k", "18", (), "The total is 18.\n\nWould you like me to explain?", 1),
    ("gsm8k", "18", (), "She has $18 left. Let me know if you need 3 more examples!", 1),
    ("gsm8k", "18", (), "She has 18 left.\n\nI hope this helps! Feel free to ask 1 more.", 1),
    ("gsm8k", "18", (), "Let me know if 18 is right", 1),
    ("gsm8k", "18", (), "The answer is 18%... no, 36.", 0),
    ("gsm8k", "36", (), "The answer is 18. Sorry, I mean 36 dollars.", 1),
    ("gsm8k", "18", (), "The answer is 18, no more than 20.", 1),
    ("gsm8k", "18", (), "The answer would be 18 if there were 2 more eggs, so the answer is 16.", 0),
    ("gsm8k", "16", (), "The answer would be 18 if there were 2 more eggs, so the answer is 16.", 1),
    ("mcqa", "B", ABCD, "The answer is B. Correction: C.", 0),
    ("mcqa", "C", ABCD, "The answer is B. Correction: C.", 1),
    ("mcqa", "B", ABCD, "B... actually C", 0),
    ("mcqa", "A", ABCD, "A. Wait, B is better", 0),
    ("mcqa", "A", ABCD, "A. Oak keeps its leaves longest", 1),
    ("mcqa", "A", ABCD, "oak or a pine tree", 0),
    ("mcqa", "A", ABCD, "A or possibly B", 0),
    ("mcqa", "A", ABCD, "A, or maybe B", 0),
    ("mcqa", "A", ABCD, "A, maybe C", 0),
    ("mcqa", "A", ABCD, "A or the pine tree", 0),
    ("mcqa", "A", ABCD, "A as well as B", 0),
    ("mcqa", "A", ABCD, "A since B is too soft.", 1),
    ("mcqa", "B", ABCD, "A since B is too soft.", 0),
    ("mcqa", "A", ABCD, "A is better than B", 1),
    ("mcqa", "A", ABCD, "Option A is more likely than option B.", 1),
    ("mcqa", "A", ABCD, "A is no better than B", 0),
    ("mcqa", "C", ABCD, "C is tempting, but B.", 0),
    ("mcqa", "A", ABCD, "A oak", 1),
    ("mcqa", "A", ABCD, "(A) Oak, as it is hard", 1),
    ("mcqa", "A", ABCD, "A and a pine tree", 0),
    ("mcqa", "A", ABCD, "A and not elm", 1),
    ("mcqa", "C", ABCD, "C or ash and birch", 0),
    ("mcqa", "B", ABCD, "A B", 0),
    ("mcqa", "B", ABCD, "Anything but B", 0),
    ("mcqa", "B", ABCD, "Answer: none of these, not even B", 0),
    ("mcqa", "B", ABCD, "B. Would you like me to explain why?", 1),
    ("strategy_qa", False, (), "I know nothing about it.", 0),
    ("strategy_qa", True, (), "The answer is yes. This answer is correct.", 1),
    ("strategy_qa", False, (), "That is not true.", 1),
    ("strategy_qa", True, (), "The answer is not yes", 0),
    ("strategy_qa", False, (), "The answer is not yes", 0),
    # short answers: today's scorer looks for the gold answer inside the reply
    ("hfqa", ["Rush"], (), "rush.", 1),
    ("hfqa", ["Rush"], (), "The answer is: The Rush", 1),
    ("hfqa", ["yes"], (), "Yes.", 1),
    ("hfqa", ["no"], (), "I know nothing about yesterday", 0),
    ("hfqa", ["yes"], (), "yes no", 0),
    ("hfqa", ["Rush"], (), "It is Rush", 0.5),
    ("hfqa", ["Rush"], (), "", 0),
    ("hfqa", ["Paris"], (), "The answer is Paris. This answer is based on paragraph 2.", 1),
    ("hfqa", ["Paris"], (), "Paris (the answer is in paragraph 2)", 1),
    ("hfqa", ["What's My Answer: Live"], (), "What's My Answer: Live", 1),
    ("hfqa", ["St. Louis"], (), "The answer is St. Louis. It lies on the river.", 1),
    ("hfqa", ["J. R. R. Tolkien"], (), "Answer: J. R. R. Tolkien. He wrote it in 1937.", 1),
    ("hfqa", ["Paris"], (), "Paris\nLondon\nBerlin", 0.5),
    ("hfqa", ["Paris"], (), "Paris. No, wait: London", 0.4),
    ("hfqa", ["Paris"], (), "Answer: London. The answer is not Paris.", 0),
    ("musique", ["nine", "9"], (), "9", 1),
    ("musique", ["nine", "9"], (), "nine floors", 2 / 3),
    ("musique", ["nine"], (), "ninety-nine", 0),
    # BBEH: today's scorer wants the bare text
    ("bbeh", "(B)", (), "The answer is: (B)", 1),
    ("bbeh", "(B)", (), "The final answer is: B.", 1),
    ("bbeh", "25.0", (), "The answer is: **25**\nHere is why.", 1),
    ("bbeh", "2,3,4", (), "The final answer is: 2, 3, 4", 1),
    ("bbeh", "4", (), r"The final answer is: \boxed{4}.", 1),
    ("bbeh", "[emma]", (), "emma", 1),
    ("bbeh", "yes", (), "I think yes", 0),
    ("bbeh", "(B)", (), "(A) (B)", 0),
    ("bbeh", "4", (), "", 0),
    ("bbeh", "(B)", (), "**Answer:** (B)", 1),
    ("bbeh", "25.0", (), '{"answer": 25}', 1),
    ("bbeh", "(B)", (), "Answer: (A)", 0),
    ("bbeh", "(B)", (), "(B)\nAnswer: (A)", 0),
    ("bbeh", "(A)", (), "(B)\nAnswer: (A)", 1),
    ("bbeh", "(B)", (), "The answer is: (B)\nAnswer: (A)", 0),
    ("bbeh", "(B)", (), "The answer is: (B)\n<answer>(A)</answer>", 0),
    ("bbeh", "12", (), "12\n\\boxed{13}", 0),
    ("bbeh", "1", (), "1\nAnswer: 13", 0),
    ("bbeh", "1", (), "1\nAnswer: 1, 5", 0),
    ("bbeh", "no", (), "no\nAnswer: none", 0),
    ("bbeh", "(B)", (), "(B) it stays\nAnswer: (B)", 1),
    ("bbeh", "(B)", (), "(B)\nAnswer: (B)", 1),
    ("bbeh", "(B)", (), "(B)\nThe answer is clear from the second sentence of the text.", 1),
    ("bbeh", "yes", (), "The answer is: yes\nAnswer: yes, because it is so.", 1),
    # DROP: today's scorer takes any span for the whole answer, and parts of numbers
    ("drop", [["5"]], (), "5", 1),
    ("drop", [["5"]], (), "5.0", 1),
    ("drop", [["5"]], (), "15", 0),
    ("drop", [["Swift", "Gull"]], (), "Gull; Swift", 1),
    ("drop", [["Swift", "Gull"]], (), "Swift and Gull", 1),
    ("drop", [["Swift", "Gull"]], (), '["Swift", "Gull"]', 1),
    ("drop", [["Swift", "Gull"]], (), "Swift", 0.5),
    ("drop", [["5"], ["six"]], (), "six", 1),
    ("drop", [["1460"]], (), "1,460", 1),
    ("drop", [["5"]], (), "; ".join(map(str, range(100))), 0.01),
    ("drop", [["Swift"]], (), "", 0),
    ("qasper", [["Unanswerable", "none"]], (), "Unanswerable.", 1),
    ("qasper", [["a b c", "extractive"], ["Yes", "boolean"]], (), "yes", 1),
    ("qasper", [["Yes", "boolean"]], (), "", 0),
    ("words", ["red"], (), " Red.\n", 1),
    ("words", ["red"], (), "It is red", 0),
]


@pytest.mark.parametrize(("family", "gold", "options", "reply", "worth"), TABLE)
def test_table(family: str, gold: Any, options: tuple[Option, ...], reply: str, worth: float) -> None:
    verdict = find_family(family).score(reply, Case(question="Which?", gold=gold, options=options))
    assert verdict.score == pytest.approx(worth)
    assert bool(verdict.rule) == (verdict.score < 1)


GOLDS: dict[str, Any] = {
    "gsm8k": st.integers(-(10**9), 10**9).map(str),
    "mcqa": st.sampled_from("ABCD"),
    "strategy_qa": st.booleans(),
    "bbeh": st.from_regex(r"\A[a-z0-9]{1,12}\Z"),
    "hfqa": st.lists(st.from_regex(r"\A[b-z]{2,9}( [0-9]{1,4})?\Z"), min_size=1, max_size=3),
    "musique": st.lists(st.from_regex(r"\A[b-z]{2,9}\Z"), min_size=1, max_size=3),
    "drop": st.lists(
        st.lists(st.from_regex(r"\A[b-z]{2,9}\Z"), min_size=1, max_size=4, unique=True), min_size=1, max_size=3
    ),
    "qasper": st.lists(st.tuples(st.from_regex(r"\A[b-z]{2,9}\Z"), st.just("extractive")), min_size=1, max_size=3),
    "words": st.lists(st.from_regex(r"\A[b-z]{2,9}\Z"), min_size=1, max_size=2),
    "math": st.integers(-(10**9), 10**9).map(str),
    "simpleqa": st.from_regex(r"\A[b-z]{2,9}\Z"),
}
GOLDS["small:f1"], GOLDS["small:word"] = GOLDS["hfqa"], GOLDS["words"]
GOLDS["small:list"] = st.integers(1, 4).map(lambda n: ["\n".join(f"{i}. item" for i in range(1, n + 1))])
UNREAD = {"code_exec", "small", "ifeval", "tools", *(() if find_spec("math_verify") else ("math",))}
READ = sorted((set(NAMES) - UNREAD) | {"small:f1", "small:word", "small:list"})
"""Families, and the ways in which one of them scores its rows."""


def find_case(name: str, gold: Any) -> tuple[Family, Case]:
    """Return a family with a question of it whose answer is given; of an instruction, the family of all of them."""
    if name in CHECKS:
        told = {"instructions": [name], "settings": [ASKED]}
        return find_family("ifeval"), Case(question="Which?", gold="", extra=told)
    family, _, way = name.partition(":")
    options = ABCD if family == "mcqa" else ()
    return find_family(family), Case(
        question="Which?", gold=gold, options=options, extra={"scored": way} if way else {}
    )


@pytest.mark.parametrize("name", READ)
@given(data=st.data())
def test_gold_replies_score_one_and_nothing_scores_zero(name: str, data: st.DataObject) -> None:
    family, case = find_case(name, data.draw(GOLDS[name]))
    assert family.score(family.gold_reply(case), case).score == 1
    assert family.score("", case).score == 0


@pytest.mark.parametrize("name", READ)
@given(reply=st.text(max_size=300), data=st.data())
def test_any_reply_gets_a_score_between_zero_and_one(name: str, reply: str, data: st.DataObject) -> None:
    family, case = find_case(name, data.draw(GOLDS[name]))
    verdict = family.score(reply, case)
    assert 0 <= verdict.score <= 1
    assert all(0 <= value <= 1 for value in verdict.metrics.values())


LOOKED_FOR: dict[str, Any] = {
    "gsm8k": "7", "mcqa": "A", "strategy_qa": True, "bbeh": "word", "drop": [["word"]], "qasper": [["word", "extractive"]], "math": "7",
    "simpleqa": "word",
}  # fmt: skip
PIECES = ("word ", "(A) ", "7, ", "\\boxed{", "**", "Answer: ", "Yes. ", "```\n", "1.", "; x")


@pytest.mark.parametrize("name", one_in(3, READ))
@pytest.mark.parametrize("piece", cells(zip(PIECES, strict=True), always=[("7, ",), ("\\boxed{",)]))
def test_a_reply_of_a_megabyte_is_scored(name: str, piece: str) -> None:
    family, case = find_case(name, LOOKED_FOR.get(name, ["word"]))
    assert family.score(within_reach(piece * (1_000_000 // len(piece))), case).score <= 1


SENTENCES, PLACEHOLDERS = "length_constraints:number_sentences", "detectable_content:number_placeholders"
BULLETS, TITLE = "detectable_format:number_bullet_lists", "detectable_format:title"
POSTSCRIPT = "detectable_content:postscript"
HOPELESS = [("hfqa", "x (", "a ", "b"), ("hfqa", "the answer to", " ", "x"), ("gsm8k", "Answer: 7", " ", "y 8")]
LONG = [
    ("hfqa", "x ", "(the ", ""), ("hfqa", "x", " ", "x"), ("hfqa", "", "A. ", ""), ("gsm8k", "", "####", ""), ("gsm8k", "", "7", ""),
    ("gsm8k", "7 8 ", "is ", ""), ("gsm8k", "x", " ", "x 7"), ("mcqa", "x", "\n", "y (A) y z w v u"), ("mcqa", "A", " ", "(x"),
    ("drop", "x", " ", "x"), ("strategy_qa", "x", "\n", "x"), ("math", "1\\text{", " ", "x"), (SENTENCES, "", "A. ", "x"),
    (SENTENCES, "", ".", "x"), (PLACEHOLDERS, "", "[", ""), (POSTSCRIPT, "x", " ", "x"), (BULLETS, "x", "\n", "x"), (TITLE, "", "<", ""),
]  # fmt: skip
"""Replies that patterns can try to read in ways whose number grows with the square of their length, of `HOPELESS` faster."""
ASKED = {
    "num_sentences": 3,
    "relation": "at least",
    "num_placeholders": 3,
    "postscript_marker": "P.S.",
    "num_bullets": 3,
}
RUNS = [*((40_000, *one) for one in HOPELESS), *((400_000, *one) for one in LONG)]


@pytest.mark.parametrize(
    ("length", "name", "before", "piece", "behind"), cells(RUNS, always=[*RUNS[: len(HOPELESS)], *RUNS[-5:]])
)
def test_a_long_run_within_a_reply_takes_a_time_that_grows_with_its_length(
    length: int, name: str, before: str, piece: str, behind: str
) -> None:
    """It is longer than what of a reply is read: where the time grew with its square the test would end by its timeout."""
    family, case = find_case(name, LOOKED_FOR.get(name, ["word"]))
    assert family.score(before + piece * (length // len(piece)) + behind, case).score <= 1


@pytest.mark.parametrize("before", ["I have thought about it.\n", "It is (A) or (C), I thought.\n"])
def test_a_bare_letter_is_a_label_in_a_short_last_line_alone(before: str) -> None:
    """In a long one it is an initial, a variable or a grade as easily."""
    least = "So it must come down to B"
    long = f"{least}{' when all that was said of them is weighed' * 2}"
    assert len(least) <= SHORT < len(long)

    assert chosen(before + least, ABCD) == "B"
    assert chosen(before + long, ABCD) == ""
    assert chosen(before + long.replace(" B", " (B)"), ABCD) == "B"
    edge = least.ljust(SHORT - 1, ".")
    assert [chosen(before + line, ABCD) for line in (f"{edge}.", f"{edge}..")] == ["B", ""]


@pytest.mark.parametrize(
    ("predicted", "gold", "f1"),
    [
        (["a1 b c"], ["a1 b d"], 0.67),  # 2/3
        (["x1"], ["x1", "y", "z"], 0.33),  # 1/3
        (["x1 y"], ["x1 y z w u v"], 0.5),
        (["x1 y z w u v q"], ["x1"], 0.25),
        (["x1 y z w u v q r"], ["x1"], 0.22),  # 2/9
    ],
)
def test_drop_rounds_its_f1_to_two_places_as_its_authors_do(predicted: list[str], gold: list[str], f1: float) -> None:
    assert measure(predicted, gold).f1 == f1
