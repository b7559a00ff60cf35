"""Rows as their authors published them, laid out as the hub's data sets have them."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_hfqa.families.family import RowError
from tracebench_hfqa.rows.shapes import flattened, rows_of

SECTIONS = [{"section_name": "One", "paragraphs": ["a", "b"]}, {"section_name": None, "paragraphs": None}]
PAPER: dict[str, Any] = {
    "title": "T",
    "abstract": "",
    "full_text": SECTIONS,
    "qas": [{"question": "q", "question_id": "1", "answers": ["x"]}],
}
ASKED = {"question": "q", "question_id": "1", "answers": ["x"], "context": "T\n\nOne\na\nb\n\n\n"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"full_text": {"section_name": ["One", None], "paragraphs": [["a", "b"], None]}},
        {"qas": {"question": ["q"], "question_id": ["1"], "answers": [{"answer": ["x"]}]}},
        {"qas": {"question": ["q"], "question_id": ["1"], "answers": [["x"]]}},
    ],
)
def test_a_paper_is_its_questions_with_the_whole_text(change: dict[str, Any]) -> None:
    assert flattened({**PAPER, **change}) == [ASKED]


def test_questions_of_a_passage_and_of_an_article() -> None:
    assert flattened({"passage": "p", "qa_pairs": [{"question": "a"}, {"question": "b"}]}) == [
        {"passage": "p", "question": "a"}, {"passage": "p", "question": "b"},
    ]  # fmt: skip
    asked = {"question": "q", "options": ["a", "b"], "gold_label": 2, "difficult": 1}
    assert flattened({"article": "t", "questions": [asked, {**asked, "gold_label": None, "difficult": 0}]}) == [
        {"article": "t", "question": "q", "options": ["a", "b"], "answer": 1, "hard": True},
        {"article": "t", "question": "q", "options": ["a", "b"], "answer": None, "hard": False},
    ]


@pytest.mark.parametrize("wrong", [("u", "v", "w"), ("u", "v"), ("u",)])
def test_the_options_of_gpqa_lie_in_an_order_of_their_own(wrong: tuple[str, ...]) -> None:
    row = {"Question": " q ", "Correct Answer": " right "} | {
        f"Incorrect Answer {i}": f"{text}\n" for i, text in enumerate(wrong, 1)
    }
    (found,) = flattened(row)
    assert found["question"] == "q"
    assert sorted(found["options"]) == sorted(["right", *wrong])
    assert found["options"]["ABCD".index(found["answer"])] == "right"
    assert flattened(row) == [found]


@pytest.mark.parametrize(
    ("row", "laid_out"),
    [
        ({"test_list": [], "text": "t"}, {"test_list": [], "text": "t", "prompt": "t"}),
        ({"test_list": [], "text": "t", "prompt": "p"}, {"test_list": [], "text": "t", "prompt": "p"}),
        ({"text": "t"}, {"text": "t"}),
        ({"test_list": []}, {"test_list": []}),
        (
            {"query": "q", "option_0": "a", "option_1": "b", "label": 1},
            {"article": "", "question": "q", "options": ["a", "b"], "answer": 1},
        ),
        ({"query": "q", "context": "c"}, {"query": "q", "context": "c"}),
        (
            {"id": 1, "question": {"stem": "s", "choices": [{"text": "a", "label": "A"}]}},
            {"id": 1, "question": "s", "choices": {"text": ["a"], "label": ["A"]}},
        ),
        ({"question": {"other": 1}}, {"question": {"other": 1}}),
    ],
)
def test_columns_of_other_names_are_taken(row: dict[str, Any], laid_out: dict[str, Any]) -> None:
    assert flattened(row) == [laid_out]


@pytest.mark.parametrize("holder", ["examples", "data", "rows", "questions"])
def test_a_document_holds_its_rows_in_a_list(holder: str) -> None:
    assert rows_of({"version": 1, holder: [{"question": "a"}]}) == [{"question": "a"}]
    assert rows_of([{"question": "a"}]) == [{"question": "a"}]
    assert rows_of({"question": "a"}) == [{"question": "a"}]
    assert rows_of({"p1": {"passage": "p", "qa_pairs": [{"question": "a"}]}}) == [{"passage": "p", "question": "a"}]
    for document in (3, "x", [3], None):
        with pytest.raises(RowError, match="is neither a list of rows nor a data set in a shape that is known here"):
            rows_of(document)
