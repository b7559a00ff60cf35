"""Each family at its edges: which rows are read and how, what replies are worth, and what feedback says of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tracebench_hfqa.families import bbeh, code_exec, drop, find_family, gsm8k, math, simpleqa, strategy_qa
from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.family import Case, Fields, RowError, within_reach
from tracebench_hfqa.families.numbers import numbers_in, plain
from tracebench_hfqa.guide import cut

ROWS: list[tuple[str, dict[str, Any], dict[str, str], Any]] = [
    ("drop", {"question": "q", "answer": {"spans": ["a", "b", "c"], "types": ["span", "spans", "spans"]}}, {}, [["a"], ["b", "c"]]),
    ("drop", {"question": "q", "answer": {"spans": [], "types": []}}, {}, "has no gold answer in column `answer`"),
    ("drop", {"question": "q", "answer": {"spans": ["a"], "types": []}}, {}, "has 1 spans and 0 types in its answer"),
    ("drop", {"question": "q", "answer": ["a", 1]}, {}, [["a", "1"]]),
    ("drop", {"question": "q", "answer": 5}, {}, [["5"]]),
    ("drop", {"question": "q", "answer": {"number": 4}, "validated_answers": [{"spans": ["x"]}, {"date": {"day": 1, "year": 2}}, {}]},
     {"answer": "answers_spans"}, [["4"], ["x"], ["1  2"]]),
    ("gsm8k", {"question": "q", "answer": "so 1 #### 2\n#### 3 "}, {}, "3"),
    ("gsm8k", {"question": "q", "answer": "1,800"}, {}, "1,800"),
    ("gsm8k", {"question": "q", "answer": "5 #### "}, {}, "has nothing after `####` in column `answer`"),
    ("gsm8k", {"question": "q", "answer": "#### " + "w" * 50}, {}, f"holds no number after `####` in column `answer`, but `{'w' * 40}`"),
    ("gsm8k", {"question": "q", "answer": "#### 1 or 2"}, {}, "holds no number after `####` in column `answer`, but `1 or 2`"),
    ("gsm8k", {"question": " ", "answer": "1"}, {}, "holds no text in column `question`"),
    ("gsm8k", {"question": ["q"], "answer": "1"}, {}, "holds no text in column `question`"),
    ("gsm8k", {"answer": "1", "b": 2}, {}, "has no column `question`; its columns are `answer`, `b`"),
    *((("gsm8k", {"question": 5, "answer": gold}, {}, "has no gold answer in column `answer`")) for gold in (None, "", " ", [], {})),
    ("strategy_qa", {"question": "q", "answer": " TRUE "}, {}, True),
    ("strategy_qa", {"question": "q", "answer": False}, {}, False),
    ("strategy_qa", {"question": "q", "answer": "perhaps"}, {}, "holds neither true nor false in column `answer`"),
    *((("strategy_qa", {"question": "q", "answer": gold}, {}, "has no gold answer in column `answer`")) for gold in (None, "")),
    ("math", {"question": "q", "answer": r"so \boxed{ 4 } is it"}, {}, "4"),
    ("math", {"question": "q", "answer": " 4 "}, {}, "4"),
    ("math", {"question": "q", "answer": r"\boxed{4"}, {}, "boxes no answer in column `answer`"),
    ("math", {"question": "q", "answer": r"\boxed{ }"}, {}, "boxes no answer in column `answer`"),
    ("qasper", {"input": "Q: what?\nText: long", "output": ["Unanswerable.", "No", " ", "words"]}, {"question": "input",
    "answer": "output"},
     [["Unanswerable.", "none"], ["No", "boolean"], ["words", "extractive"]]),
    ("qasper", {"input": "q", "output": [" "]}, {"question": "input", "answer": "output"}, "has no gold answer in column `output`"),
    ("qasper", {"question": "q", "answers": [
        {"answer": {"unanswerable": True, "yes_no": True}}, {"extractive_spans": ["a", "b"], "free_form_answer": "c"},
        {"free_form_answer": "c", "yes_no": False}, {"yes_no": False}, {"yes_no": True}]}, {"answer": "output"},
     [["Unanswerable", "none"], ["a, b", "extractive"], ["c", "abstractive"], ["No", "boolean"], ["Yes", "boolean"]]),
    ("qasper", {"question": "q", "answers": [{"yes_no": None}]}, {"answer": "output"}, "has an annotation without an answer"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "row", "fields", "gold"), ROWS)
def test_the_gold_answer_of_a_row(family: str, row: dict[str, Any], fields: dict[str, str], gold: Any) -> None:
    read = find_family(family).read
    if isinstance(gold, str) and gold.startswith(("has ", "holds ", "boxes ")):
        with pytest.raises(RowError) as caught:
            read(row, Fields(**fields))
        assert str(caught.value) == gold
    else:
        assert read(row, Fields(**fields)).gold == gold


def test_what_a_row_of_qasper_asks_and_shows() -> None:
    fields = Fields(question="input", answer="output")
    case = find_family("qasper").read({"input": "Q: what? \nText: long\nText: on", "output": "a"}, fields)
    assert (case.question, case.context) == ("what?", "long\nText: on")


TESTS = "from math import isclose\nassert isclose(f(g(1)), 2)\nassert f(3) == set([4])"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"test": ["assert f(1)", "assert f(2)"], "question": "Write it.", "code": "x", "test_imports": ["import re"], "setup": "s = 1"},
         ("Write it.\nThe function is called `f`; it must pass tests such as:\nassert f(1)", "x",
          {"tests": "assert f(1)\nassert f(2)", "entry": "f", "setup": "import re\ns = 1"})),
        ({"test": "def check(candidate): pass", "question": "def h(): ...", "entry_point": "h", "canonical_solution": "y", "code": "x"},
         ("def h(): ...", "y", {"tests": "def check(candidate): pass", "entry": "h", "setup": ""})),
        ({"test": TESTS, "question": "def f(): ..."}, ("def f(): ...", "", {"tests": TESTS, "entry": "f", "setup": ""})),
        ({"test": "assert len(x) == 1", "question": "def f(): ..."},
         ("def f(): ...", "", {"tests": "assert len(x) == 1", "entry": "len", "setup": ""})),
        ({"test": "assert", "question": "q"}, "names no function under test"),
        ({"test": "x = f(1)", "question": "q"}, "names no function under test"),
        ({"test": "assert f(1)", "question": "q", "entry_point": "not one"}, "names no function under test"),
        ({"test": [], "question": "q"}, "has no tests in column `test`"),
        ({"question": "q"}, "has no column `test`; its columns are `question`"),
    ],
)  # fmt: skip
def test_a_row_of_programs(row: dict[str, Any], told: Any) -> None:
    fields = Fields(question="question", setup="setup")
    if isinstance(told, str):
        with pytest.raises(RowError, match=told):
            code_exec.read(row, fields)
    else:
        case = code_exec.read(row, fields)
        assert (case.question, case.gold, case.extra) == told


PROMPT = "import re\n\ndef inverse(x):\n    return x\n\ndef f(x):\n    '''It.'''"


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("    return x", f"s\n{PROMPT}\n    return x"),
        ("```\n    return x\n```", f"s\n{PROMPT}\n    return x\n"),
        ("So:\n```python\ndef f(x):\n    return 1\n```\nor\n```\nprint(f(2))\n```",
         f"import re\ns\n{PROMPT[:PROMPT.index('def f')]}\ndef f(x):\n    return 1\n"),
        ("```py\ndef f(x): 1\n```\n```\ndef f(x): 2", f"import re\ns\n{PROMPT[:PROMPT.index('def f')]}\ndef f(x): 2"),
        ("Here it is.\nK = 2\nasync def f(x): 3", f"import re\ns\n{PROMPT[:PROMPT.index('def f')]}\nK = 2\nasync def f(x): 3"),
        ("```\na\n```\n```\nb\n```", f"s\n{PROMPT}\na\n\nb\n"),
        ("def fine(x): 1", f"s\n{PROMPT}\ndef fine(x): 1"),
    ],
)  # fmt: skip
def test_the_program_that_a_reply_amounts_to(reply: str, program: str) -> None:
    assert code_exec.program(reply, Case(PROMPT, "", extra={"entry": "f", "setup": "s"})) == program


def test_what_tests_of_programs_need() -> None:
    assert code_exec.has_check("import x\ndef check(candidate):\n    pass")
    for tests in (
        "def check(candidate, x): pass",
        "def check(f): pass",
        "check = 1",
        "def check(",
        "class check: pass",
    ):
        assert not code_exec.has_check(tests)
    assert code_exec.modules_of("assert math.sqrt(f(1)) == random.random()\nre = 1\nre.x\nmine.y") == ["math", "random"]
    assert code_exec.prelude(Case("def f(): ...", "", extra={"entry": "f"})) == ""
    assert code_exec.prelude(Case("x = 1\ndef f(): ...", "", extra={"entry": "f"})) == ""
    assert code_exec.prelude(Case("def g(): 1\ndef f(): ...", "", extra={"entry": "h"})) == ""


@pytest.mark.parametrize(
    ("prediction", "reference", "same"),
    [
        ("a", "a", True), ("(a)", "a", True), ("a", "(a)", True), ("(ab)", "ab", False), ("[a]", "a", True), ("a", "[a]", True),
        ("it's", "its", True), ("its", "it's", True), ("a?", "a", True), ("a", "a?", False), ("1.0", "1", True), ("1.0", "2", False),
        ("(a)", "(b)", False), ("a)b", "a", False), ("nan", "1", False),
    ],
)  # fmt: skip
def test_predictions_of_bbeh_that_are_its_answers(prediction: str, reference: str, same: bool) -> None:
    assert bbeh.is_match(prediction, reference) is same


@pytest.mark.parametrize(
    ("reply", "extracted"),
    [
        ("The answer is: A. The answer is: B.", "b"), ("The final answer is 2, 3", "2,3"), ("x\ny", "x"),
        (r"The answer is $\boxed{4}$", "4"),
        (r"\text{a}", "a"), (r"\texttt{a}", "a"), ("**A**.", "a"), ("$4", "$4"), ("$4$", "4"), (r"\boxed{4", r"\boxed{4"), ("", ""),
    ],
)  # fmt: skip
def test_what_is_extracted_for_bbeh(reply: str, extracted: str) -> None:
    assert bbeh.extract(reply) == extracted


@pytest.mark.parametrize(
    ("family", "gold", "reply", "rule"),
    [
        ("bbeh", "a", "", "The reply holds no answer."),
        ("bbeh", "a", "b or so", "The answer is another one, or not in the expected form."),
        ("bbeh", "a", "b\nc",
         'No "The final answer is: …" was found, so the first line of the whole reply was taken as the answer.'),
        ("bbeh", "a", "The answer is b", "The answer is another one, or not in the expected form."),
        ("bbeh", "it is.", "it is", ""),
        ("gsm8k", "1", "2", "The number is another one."),
        ("gsm8k", "1", "none", "The reply holds no number."),
        ("gsm8k", "1", "1 or 2", "The reply states no single number as its answer: end with `#### ` and the number."),
        ("strategy_qa", True, "No", "The answer is the other one."),
        ("strategy_qa", True, "yes no", "The reply says neither yes nor no, or both."),
        ("drop", [["a"]], "", "The reply holds no answer."),
        ("drop", [["a1", "b"]], "a1", "2 spans are right, separated by `; `; the reply gives 1."),
        ("drop", [["5"]], "5 or so", "The number is another one, or stands among other words."),
        ("drop", [["red hat"]], "red", "The span is another one, or longer or shorter than the right one."),
    ],
)  # fmt: skip
def test_which_rule_a_reply_breaks(family: str, gold: Any, reply: str, rule: str) -> None:
    assert find_family(family).score(reply, Case("q", gold)).rule == rule


@pytest.mark.parametrize(
    ("said", "grade"),
    [
        ("A", (1, 1)), ("b.", (0, 1)), ("**C**", (0, 0)), ("A: it is so", (1, 1)), ("The grade is B", (0, 1)), ("Answer: C\nas", (0, 0)),
        ("It is incorrect", (0, 1)), ("NOT_ATTEMPTED", (0, 0)), ("not attempted", (0, 0)), ("correct", (1, 1)),
        ("correct or incorrect", None), ("A man said", None), ("", None), ("D", None),
    ],
)  # fmt: skip
def test_what_a_grader_says(said: str, grade: tuple[int, int] | None) -> None:
    verdict = simpleqa.hear(said, " reply ")
    assert (verdict and (verdict.metrics["correct"], verdict.metrics["attempted"])) == grade
    if verdict:
        assert (verdict.score, verdict.extracted, bool(verdict.rule)) == (
            verdict.metrics["correct"],
            "reply",
            verdict.score == 0,
        )


def test_what_a_grader_is_asked() -> None:
    case = Case("Who?", "The Beatles")
    assert simpleqa.ask("beatles.", case) == simpleqa.ask(" \n", case) == ""
    asked = simpleqa.ask(" Rush ", case)
    assert "Question: Who?\nReference answer: The Beatles\nAnswer to grade: Rush\n" in asked
    told = simpleqa.score("Rush", case)
    assert (told.score, told.metrics, told.extracted) == (0.0, {"correct": 0.0, "attempted": 0.0}, "Rush")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r"\dfrac12", r"\frac{1}{2}"), (r"$\left( 1,\, 2 \right)$", "(1,2)"), ("1,234", "1234"), ("1,23", "1,23"), (".5", "0.5"),
        ("2.00", "2"),
        (r"90^\circ", "90"), (r"5 \text{ cm}^2", "5"), (r"\text{even}", "even"), (r"50\%", "50"), (r"\$3.", "3"), (r"10{,}000", "10000"),
        (r"a\ b~c", "abc"), ("2.50", "2.50"), ("12,345,678", "12345678"),
    ],
)  # fmt: skip
def test_what_only_spells_an_expression_otherwise_is_taken_out(text: str, kept: str) -> None:
    assert math.plain(text) == kept


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ("4", "4.0", True),
        ("", "", False),
        ("4", "", False),
        ("4", "4 or 5", False),
        ("4", "9" * 100, False),
        ("cat", "dog", False),
    ],
)
def test_what_is_no_expression_is_not_compared_as_one(gold: str, answer: str, same: bool) -> None:
    assert math.is_same(gold, answer) is same


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (r"First \boxed{3}. Wait. \boxed{4}", ["4", "4"]),
        (r"\boxed{3}. Wait.", ["3", "3"]),
        (r"Thus it equals $x+1$.", ["Thus it equals $x+1$.", "Thus it equals $x+1$", "x+1"]),
        ("[1, 2]. It is closed.", ["[1, 2]"]),
        ("[1, 2]. No, it is open.", []),
    ],
)
def test_the_expression_that_a_reply_gives(reply: str, said: list[str]) -> None:
    found = list(math.said(reply))
    assert found == said if r"\boxed" in reply else set(said) <= set(found)
    assert not said or found[-1] == said[-1]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("$1,800 and 1'800", [1800, 1800]), ("-$4", [-4]), ("- 4", [-4]), ("--4", [-4]), ("5 - 4", [5, -4]), ("\u2212 4", [-4]),
        ("+4", [4]), ("3 1/2", [Fraction(7, 2)]), ("1/0", []),
        ("1.8e3 2e-1", [1800, Fraction(1, 5)]), ("3x10^2", [300]), ("3 \u00d7 10⁻", [3, 10]), ("3 \u00d7 10²", [300]),
        ("2k 2 million", [2000, 2000000]),
        ("5 hundred, 2 thousands, 1 billion", [500, 2000, 10**9]), ("a1 1a .5", [1, Fraction(1, 2)]), ("1,23", [1, 23]),
        ("x" + "1" * 41, []),
    ],
)  # fmt: skip
def test_numbers_of_a_text(text: str, numbers: list[Any]) -> None:
    assert [written.value for written in numbers_in(text)] == numbers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (r"\frac{1}{2}", "1/2"), (r"\text{ 5 }", "  5  "), (r"3\times10^{4}", "3 x 10^4"), (r"3\cdot x", "3 x  x"),
        (r"1{,}800 1\,800", "1,800 1,800"),
        (r"5\% \$3", "5% $3"), ("2½ ½", "2 1/2 1/2"), ("**18** _18_", "18 18"), ("1\u00a0800", "1\u2009800"), ("a\u00a0b", "a b"),
        (r"\approx 3", "  3"),
    ],
)  # fmt: skip
def test_a_text_without_what_stands_around_its_numbers(text: str, told: str) -> None:
    assert plain(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" **a** ", "a"), ("`a`.", "a"), ("```py\na\n```", "a"), ("- a", "a"), ("-> a", "a"), (r"$\boxed{a}$", "a"),
        (r"x \boxed{a}", r"x \boxed{a}"),
        (r"\text{a}", "a"), ("a...", "a..."), ("a..", "a.."), ("**a** and **b**", "**a** and **b**"), ("**", "**"), ("$$a$$", "a"),
        (r"\(a\)", "a"), ("“a”", "a"),
        ("''", "''"), ("'a'", "a"),
    ],
)  # fmt: skip
def test_decoration_is_taken_off(text: str, told: str) -> None:
    assert bare(text) == told


def test_the_last_box_is_the_one_that_is_read() -> None:
    texts = (r"\boxed{a} \fbox{b{c}}", r"\boxed{a", "a", r"\boxed {a}")
    assert [boxed(text) for text in texts] == ["b{c}", None, None, "a"]


def test_texts_are_cut_in_their_middle_and_replies_at_their_beginning() -> None:
    assert (cut("abcdef", 6), cut("abcdefg", 6), cut("abcdefg", 3)) == ("abcdef", "abc … efg", "a … fg")
    assert (within_reach("a" + "b" * 20_000), within_reach("b" * 20_000 + "a")[-1]) == ("b" * 20_000, "a")


def test_drop_s_tokens_and_lists() -> None:
    assert drop.normalise("The 5-yard run, 1,460 of an A") == "5.0 yard run 1460.0 of"
    assert drop.lists_of('["a", 1]')[0] == ["a", "1"]
    assert drop.lists_of(r'["\ud800", {"a": "\udfff"}]')[0] == ["\N{REPLACEMENT CHARACTER}", "{'a': '\\udfff'}"]
    assert drop.lists_of("a, and b")[:2] == [["a, and b"], ["a", "b"]]
    assert drop.lists_of("a | b; c")[0] == ["a", "b", "c"]
    many = ";".join(["a"] * drop.MOST_SPANS)
    assert (len(drop.lists_of(many)[0]), drop.lists_of(many + ";a")[0]) == (drop.MOST_SPANS, [many + ";a"])
    told = find_family("drop").score("b; a1", Case("q", [["a1", "b"], ["c"]]))
    assert (told.score, told.metrics, told.extracted, told.rule) == (1.0, {"em": 1.0, "f1": 1.0}, "b; a1", "")
    assert drop.measure([""], ["b"]).f1 == 0
    assert drop.measure(["a1", "a1"], ["a1"]) == (0.0, 0.5)
    assert drop.measure(["5 b"], ["5 c"]).f1 == 0.5
    assert drop.measure(["4 b c"], ["5 b c"]).f1 == 0


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("Answer: yes, no", ""), ("Answer: it is so: no", "no"), ("Answer: well", ""), ("Answer: well\nYes.", "yes"), ("Yes. So no", ""),
        ("It is true", "yes"),
        ("It is not false", "yes"), ("Surely no. Is it?", "no"), ("Is it true?", ""), ("Yes, no doubt about it", "yes"),
        ("no-one knows", ""), ("True!", "yes"),
        ("I would say so, no?", ""), ("Yes since it rains", "yes"), ("Yes it rains", "yes"), ("don't just say no", ""),
    ],
)  # fmt: skip
def test_whether_yes_or_no_is_said(reply: str, word: str) -> None:
    assert strategy_qa.said(reply) == word


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("#### 5 or 6", ""), ("#### $5", "$5"), ("5\nIt is what is left over", "5"), ("5\nIt was", "5"),
        ("5\nNo, it is 6 eggs in all", "6"),
        ("Answer: 5 + 6 = 11", "11"), ("Answer: about 5 eggs and 6 hens", "5"), ("Answer: 5 - 6", ""), ("Answer: 5, 5", "5"),
        ("He has 5. She has 6", "6"),
        ("He has 5 of 6", ""), ("5 of 6 leaves 1", "1"), ("Answer: He has 5. She has 6", "6"), ("Answer: He has 5 (of 6)", "5"),
        ("Not 5 but 6", "6"),
        ("5 is wrong, 6", "6"), ("Is it 5?", ""), ("none", ""), ("Answer: none\n7", "7"),
    ],
)  # fmt: skip
def test_the_number_that_a_reply_states(reply: str, number: str) -> None:
    assert gsm8k.stated(reply) == number
