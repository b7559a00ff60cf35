"""The data sets that models are compared on: how their rows are read, and what replies to them are worth."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_engine.api import evaluate_task
from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, Option, RowError
from tracebench_hfqa.families.ifeval import FAMILY as IFEVAL
from tracebench_hfqa.families.instructions import CHECKS, capitals, follows, sentences
from tracebench_hfqa.families.simpleqa import hear
from tracebench_hfqa.guide import QAGuide
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES, open_rows, read_cases
from tracebench_hfqa.rows.shapes import rows_of
from tracebench_hfqa.rows.source import Settings
from tracebench_hfqa.scripted.cases import dialogue_cases

ENTRIES = {entry.id: entry for entry in shipped_entries()}


def samples(name: str) -> list[Case]:
    entry = ENTRIES[name]
    path = SAMPLES / f"{entry.dataset_id.rsplit('/', 1)[-1].lower()}.jsonl"
    return list(read_cases(entry, "any", read_file(path), where=path.name))


def test_gpqa_s_right_option_stands_at_every_letter_and_always_at_the_same() -> None:
    rows = [
        {
            "Question": f"Which? {i}",
            "Correct Answer": f"right {i}",
            **{f"Incorrect Answer {k}": f"wrong {i} {k}" for k in (1, 2, 3)},
        }
        for i in range(400)
    ]
    read = rows_of(rows)
    assert read == rows_of(list(rows))
    assert all(row["options"]["ABCD".index(row["answer"])] == f"right {i}" for i, row in enumerate(read))
    counts = Counter(row["answer"] for row in read)
    assert set(counts) == set("ABCD")
    assert max(counts.values()) < 140  # of 400, where chance gives 100 each


@pytest.mark.parametrize("document", ["text", 3, None, [1, 2], [{"question": "q"}, "q"], {"data": [["q"]]}])
def test_a_document_that_holds_no_rows_is_refused(document: object) -> None:
    with pytest.raises(RowError):
        rows_of(document)


@pytest.mark.parametrize(
    "asked",
    [
        [{"question": "q?", "question_id": "7", "answers": [{"a": 1}]}],
        {"question": ["q?"], "question_id": ["7"], "answers": [{"answer": [{"a": 1}]}]},
        {"question": ["q?"], "question_id": ["7"], "answers": [[{"a": 1}]]},
    ],
    ids=["the authors' list", "the hub's columns", "columns of answers"],
)
@pytest.mark.parametrize("in_columns", [True, False])
def test_a_paper_is_read_in_each_form_in_which_it_is_given_away(asked: Any, in_columns: bool) -> None:
    sections: Any = {"section_name": ["One", None], "paragraphs": [["a", "b"], None]}
    if not in_columns:
        sections = [{"section_name": "One", "paragraphs": ["a", "b"]}, {"section_name": None}]
    told = rows_of({"title": "T", "abstract": "", "full_text": sections, "qas": asked})
    assert told == [{"question": "q?", "question_id": "7", "answers": [{"a": 1}], "context": "T\n\nOne\na\nb\n\n\n"}]


def test_a_dialogue_s_forms_hold_its_calls_and_what_is_said() -> None:
    turns = [
        {"calls": [{"tool": "find", "arguments": {"n": 1}}, {"tool": "book"}], "said": "Booked."},
        {"said": "Bye."},
    ]
    cases = {case.name: case for case in dialogue_cases({"a": Case(question="q", gold=turns)}, "nothing", {})}
    said = ("It is done. Booked.", "It is done. Bye.")
    calls = ['{"tool": "find", "arguments": {"n": 1}}', '{"tool": "book", "arguments": {}}']
    both = f"[{', '.join(calls)}]"
    short = [call.replace('": ', '":').replace(', "', ',"') for call in calls]
    assert {name: case.replies["a"] for name, case in cases.items()} == {  # type: ignore[index]
        "gold": (both, *said),
        "one by one": (*short, *said),
        "fenced, with words": (f"I look into it.\n```json\n{both}\n```", *said),
        "after a call that is refused": ('[{"tool": "no_such_tool", "arguments": {"x": 1}}]', both, *said),
        "says that it is done": said,
        "writes the dialogue down": json.dumps(turns),
        "calls without end": both,
    }


def test_subtasks_that_are_configs_are_read_from_folders_of_their_name(tmp_path: Path) -> None:
    (tmp_path / "bbh").mkdir()
    rows = [{"input": f"not {i} is", "target": "True"} for i in range(30)]
    (tmp_path / "bbh" / "navigate.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    entry = ENTRIES["bbh"]
    sizes: Any = {"train": 5, "validation": 5, "test": 20}
    found = open_rows(entry, subtask="navigate", sizes=sizes, seed=0, settings=Settings(kind="folder", folder=tmp_path))
    asked = [example.input["question"] for examples in found.splits.values() for example in examples]
    assert len(asked) == len(set(asked)) == 30
    assert entry.of_subtask("navigate").dataset_config == "navigate"
    assert entry.splits("navigate") == ("test", "test")
    assert len(entry.subtasks) == 27


def test_every_instruction_of_ifeval_has_a_row_that_follows_it_and_a_reply_that_does_not() -> None:
    pytest.importorskip("langdetect")
    cases = samples("ifeval")
    assert {name for case in cases for name in case.extra["instructions"]} == set(CHECKS)
    for case in cases:
        assert IFEVAL.score(str(case.gold), case).metrics["prompt_strict"] == 1, case.question
        assert IFEVAL.score("", case).score == 0
    broken = {
        "keywords:existence": "A lawn.",
        "keywords:frequency": "Tea and tea.",
        "keywords:forbidden_words": "A Great city.",
        "keywords:letter_frequency": "A zebra dozes.",
        "language:response_language": "Bread is made of flour and of water, and some bakers add seeds to it.",
        "length_constraints:number_sentences": "One. Two. Three. Four.",
        "length_constraints:number_paragraphs": "One.\n***\nTwo.\n***\nThree.",
        "length_constraints:number_words": "Snow is cold.",
        "length_constraints:nth_paragraph_first_word": "However, yes.\n\nNo.",
        "detectable_content:number_placeholders": "Dear [name]!",
        "detectable_content:postscript": "See you soon.",
        "detectable_format:number_bullet_lists": "* a\n* b\n* c\n* d",
        "detectable_format:constrained_response": "Yes.",
        "detectable_format:number_highlighted_sections": "The *lake*.",
        "detectable_format:multiple_sections": "SECTION 1\nIt begins.",
        "detectable_format:json_format": "{name: Tom}",
        "detectable_format:title": "<< >>\nThe light goes out.",
        "combination:two_responses": "It is red.\n******\nIt is red.",
        "combination:repeat_prompt": "Mars.",
        "startend:end_checker": "That is all. Good luck!",
        "startend:quotation": '"Haste" makes waste.',
        "change_case:capital_word_frequency": "STOP, there is ice ahead.",
        "change_case:english_capital": "The train goes to the city.",
        "change_case:english_lowercase": "A river is water that flows.",
        "punctuation:no_comma": "The wind, the air.",
    }
    assert broken.keys() == CHECKS.keys()
    for case in cases[: len(CHECKS)]:
        (name,) = case.extra["instructions"]
        assert IFEVAL.score(broken[name], case).score == 0, name
        assert name in IFEVAL.score(broken[name], case).rule


def test_the_loose_measure_takes_off_a_first_line_and_asterisks() -> None:
    case = next(c for c in samples("ifeval") if c.extra["instructions"] == ["startend:quotation"])
    verdict = IFEVAL.score('Sure, here it is:\n"Haste makes waste."', case)
    assert (verdict.score, verdict.metrics["prompt_loose"]) == (0, 1)
    assert not follows("   ", "punctuation:no_comma", {})


@pytest.mark.parametrize(
    ("text", "is_followed"),
    [
        ("a\n***\nb", True),
        ("a\n***\n\n***\nb", False),
        ("a", False),
        ("***\na\n***\nb\n***\n", True),
        ("a\n***\nb\n***\nc", False),
    ],
)
def test_paragraphs_are_counted_between_their_marks_and_none_inside_is_empty(text: str, is_followed: bool) -> None:
    assert follows(text, "length_constraints:number_paragraphs", {"num_paragraphs": 2}) is is_followed


@pytest.mark.parametrize(("text", "is_followed"), [("[a]", False), ("[a] [b]", True), ("[a] [b] [c]", True)])
def test_more_placeholders_than_asked_for_are_enough(text: str, is_followed: bool) -> None:
    assert follows(text, "detectable_content:number_placeholders", {"num_placeholders": 2}) == is_followed


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Dr. Smith met Mr. J. Brown, e.g. twice.", 1),
        ('He said "Stop." Then he left', 2),
        ("a\nb\nc", 1),
    ],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert sentences(text) == count


def test_words_in_capitals_are_counted() -> None:
    assert capitals("STOP, I say: the U.S. is BIG-TIME 42") == 4


def asked(name: str, **told: Any) -> dict[str, Any]:
    """Return a row of one instruction."""
    return {"prompt": "x", "instruction_id_list": [name], "kwargs": [told]}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "x", "instruction_id_list": ["a:b"], "kwargs": [{}]}, "names the instruction `a:b`"),
        ({"prompt": "x", "instruction_id_list": ["punctuation:no_comma"], "kwargs": []}, "has no settings for each"),
        ({"prompt": "x", "instruction_id_list": ["startend:end_checker"], "kwargs": [{}]}, "gives no `end_phrase`"),
        ({"prompt": "x"}, "has no column `instruction_id_list`"),
        (
            asked("keywords:frequency", keyword="c**", frequency=1, relation="at least"),
            "`keywords:frequency`: multiple repeat",
        ),
        (asked("keywords:existence", keywords="tea"), "`keywords` is no list of texts"),
        (asked("keywords:forbidden_words", forbidden_words=["a", 1]), "`forbidden_words` is no list of texts"),
        (
            asked("length_constraints:number_words", num_words=3, relation="at most"),
            "`relation` is 'at most', and it is one of `less than`",
        ),
        (asked("length_constraints:number_words", num_words="many", relation="at least"), "invalid literal"),
        (asked("length_constraints:number_paragraphs", num_paragraphs=math.inf), "cannot convert float infinity"),
        (asked("detectable_format:multiple_sections", section_spliter="(", num_sections=1), "missing \\)"),
    ],
)
def test_a_row_of_ifeval_that_cannot_be_checked_says_why(row: dict[str, Any], words: str) -> None:
    with pytest.raises(RowError, match=words):
        IFEVAL.read(row, ENTRIES["ifeval"].fields)


TRUTHS = [
    (r"\frac{5}{6}", r"\boxed{5/6}", 1), (r"\frac{5}{6}", r"\boxed{\dfrac56}", 1), ("0.5", r"\boxed{\frac12}", 1),
    (r"5\sqrt{2}", r"\boxed{\sqrt{50}}", 1), ("x^2+2x+1", r"\boxed{(x+1)^2}", 1), ("3", "$x=3$", 1), ("1, 2", r"\boxed{2, 1}", 1),
    ("1, 2", r"\boxed{1}", 0), (r"9\pi", r"\boxed{28.27}", 0), ("15", r"\boxed{15 \text{ cm}}", 1), (r"25\%", r"\boxed{25}", 1),
    ("1101_2", r"\boxed{1101_{2}}", 1), ("-1", r"\boxed{1}", 0), ("1000", r"\boxed{1,000}", 1), (r"\text{Evelyn}", r"\boxed{Evelyn}", 1),
    ("[-2,2]", r"\boxed{(-2,2)}", 0), (r"\left( 2, \frac{\pi}{2} \right)", r"\boxed{(2,\pi/2)}", 1), ("2", r"\boxed{1 \text{ or } 2}", 0),
    ("2", "2 or 3", 0), (r"90^\circ", r"\boxed{90}", 1), ("6", "There are $6$.", 1), ("2", "(" * 40 + "2", 0), ("4", "four", 0),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "reply", "worth"), TRUTHS)
def test_expressions_are_equal_as_mathematics(gold: str, reply: str, worth: int) -> None:
    pytest.importorskip("math_verify")
    assert find_family("math").score(reply, Case(question="q", gold=gold)).score == worth


@HEAVY  # `test_outside.py` replaces one that hangs
def test_an_expression_that_nobody_can_compute_is_not_equal_and_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("math_verify")
    from tracebench_hfqa.families import symbolic

    monkeypatch.setattr(symbolic, "SECONDS", 2.0)
    assert not symbolic.equal("2", "9^{9^{9^{9^{9}}}}")
    assert symbolic.equal("2", r"\sqrt{4}")  # by a fresh process


class Grader:
    """A context whose judge says one thing, and counts."""

    def __init__(self, said: str) -> None:
        self.said, self.asked = said, 0

    def complete(self, messages: Any, **_: Any) -> Any:
        self.asked += 1
        assert "Reference answer: 1989" in messages[0]["content"]
        return [type("Said", (), {"text": self.said})()]


def test_a_grader_is_asked_once_for_an_answer_and_never_for_the_gold_one() -> None:
    guide = QAGuide(find_family("simpleqa"), seconds=1.0)
    case = next(c for c in samples("simpleqa") if c.gold == "1989").example("e")
    grader: Any = Grader("A")

    def worth(reply: str, context: Any = grader) -> float:
        return guide(case, {"replies": [{"text": reply}]}, context).score

    assert worth("The answer is 1989.") == worth("") + 1 == 1
    assert grader.asked == 0
    assert [worth("in the year before 1990"), worth("in the year before 1990")] == [1, 1]
    assert grader.asked == 1
    assert worth("it fell in 1990", Grader("B: INCORRECT")) == 0


@pytest.mark.parametrize(
    ("said", "correct", "attempted"),
    [
        ("A", 1, 1),
        (" B.", 0, 1),
        ("C", 0, 0),
        ("Grade: A", 1, 1),
        ("CORRECT", 1, 1),
        ("It is NOT ATTEMPTED", 0, 0),
        ("INCORRECT.", 0, 1),
    ],
)
def test_a_grade_is_read(said: str, correct: int, attempted: int) -> None:
    verdict = hear(said, "x")
    assert verdict is not None
    assert verdict.metrics == {"correct": correct, "attempted": attempted}


@pytest.mark.parametrize("said", ["", "I cannot say", "correct or incorrect", "A lot of words"])
def test_what_is_no_grade_is_none(said: str) -> None:
    assert hear(said, "x") is None


@pytest.mark.parametrize(
    ("name", "reply", "score", "held"),
    [
        ("gsm8k", "Is it 3? Or 18? Who knows?", 0, 1),
        ("gsm8k", "#### 18", 1, 1),
        ("gsm8k", "#### 19", 0, 0),
        ("mcqa", "It may be oak or it may be elm.", 0, 1),
        ("mcqa", "It is not known.", 0, 0),
        ("hfqa", "Some say Paris, others Rome, and that is all that is known of it today.", 0, 1),
        ("strategy_qa", "Yes and no", 0, 1),
    ],
)
def test_content_is_what_a_reply_holds_in_whatever_form(name: str, reply: str, score: int, held: int) -> None:
    golds: dict[str, Any] = {"gsm8k": "18", "mcqa": "B", "hfqa": ["Paris"], "strategy_qa": True}
    options = (Option("A", "oak"), Option("B", "elm"), Option("C", "ash")) if name == "mcqa" else ()
    family, case = find_family(name), Case(question="Which?", gold=golds[name], options=options)
    plain = QAGuide(family, seconds=1.0)(case.example("e"), {"replies": [{"text": reply}]}, Grader(""))  # type: ignore[arg-type]
    told = QAGuide(family, seconds=1.0, oracle=True)(case.example("e"), {"replies": [{"text": reply}]}, Grader(""))  # type: ignore[arg-type]
    assert "content" not in plain.metrics
    assert told.score == plain.score
    assert (told.score == 1, told.metrics["content"] == 1) == (bool(score), bool(held))
    assert told.metrics["content"] >= told.score


def test_nothing_of_a_gated_data_set_is_here() -> None:
    """GPQA's authors ask for that; our rows say that they are ours."""
    rows = [json.loads(line) for line in (SAMPLES / "gpqa.jsonl").read_text().splitlines()]
    assert {row["Subdomain"] for row in rows} == {"ours"}
    assert not list(SAMPLES.glob("*canary*"))


@pytest.mark.parametrize("name", ["mmlu", "mmlu_pro", "gpqa", "aime24", "aime25", "bbh/navigate", "simpleqa"])
def test_a_task_opens_and_measures_its_sample_rows(name: str) -> None:
    from tracebench_testing import FakeModel

    feedbacks = evaluate_task(f"hf:{name}", split="train", model=FakeModel("I cannot tell."))
    assert feedbacks
    assert {f.status for f in feedbacks} <= {"ok", "not_measured"}
