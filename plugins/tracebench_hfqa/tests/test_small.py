"""`hf:small`: rows of our own, each way of scoring, and a proposer that climbs them."""

from __future__ import annotations

import json

import pytest

from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Fields, RowError
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES
from tracebench_hfqa.task import build

SUBTASKS = ("short_facts", "extraction", "classification", "format_following")
FAMILY = find_family("small")


@pytest.mark.parametrize("name", SUBTASKS)
def test_every_row_scores_its_answer_1_and_its_question_0(name: str) -> None:
    rows = [*read_file(SAMPLES / f"small.{name}.jsonl")]
    assert len({json.dumps(row["question"]) for row in rows}) == len(rows) >= 60
    for row in rows:
        case = FAMILY.read(row, Fields())
        assert FAMILY.score(FAMILY.gold_reply(case), case).score == 1.0, row
        assert FAMILY.score("", case).score == 0.0
        if row["scored"] != "f1":
            assert FAMILY.score(case.question, case).score == 0.0, row
        else:
            assert FAMILY.score(case.question, case).score < 0.5, row


def test_a_list_must_be_a_numbered_list_and_nothing_else() -> None:
    case = FAMILY.read({"question": "Name two.", "answer": "1. a\n2. b", "scored": "list"}, Fields())
    worth = {
        "1. x\n2. y": 1.0, "1) x\n\n2) y\n": 1.0, "Here:\n1. x\n2. y": 0.0, "1. x\n2. y\n3. z": 0.0, "2. x\n1. y": 0.0,
        "x, y": 0.0, "1. x": 0.0, "1.\n2.": 0.0, f"1. x\n{'2' * 5000}. y": 0.0,
    }  # fmt: skip
    assert {reply: FAMILY.score(reply, case).score for reply in worth} == worth


def test_a_row_of_an_unknown_way_is_refused() -> None:
    with pytest.raises(RowError, match="none of"):
        FAMILY.read({"question": "q", "answer": "a", "scored": "vibes"}, Fields())


def test_rows_come_from_the_package_whatever_the_source_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_HF_SOURCE", "hub")
    from tracebench_hfqa import state

    state._told.clear()
    task = build("small", "classification", num_train=5, num_validate=5, num_test=5)
    assert {split: len(rows) for split, rows in task.splits.items()} == {"train": 5, "validation": 5, "test": 5}
    assert task.provenance["source"] == "package"
