"""Data sets as their authors published them, turned into the rows of the hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from tracebench_hfqa.families.family import RowError

Row = Mapping[str, Any]
HOLDERS = ("examples", "data", "rows", "questions")
SHAPES = "download the file again, or write its rows as the hub's data set has them"


def rows_of(document: Any) -> list[Row]:
    """Return the rows of a parsed JSON document: a list, a list inside a mapping, or a mapping of passages or papers.

    Raises:
        RowError: when it is none of these.
    """
    if isinstance(document, Mapping):
        held = next((document[name] for name in HOLDERS if isinstance(document.get(name), list)), None)
        document = held if held is not None and "article" not in document else list(_keyed(document))
    if not isinstance(document, list) or not all(isinstance(row, Mapping) for row in document):
        raise RowError("is neither a list of rows nor a data set in a shape that is known here")
    return [flat for row in document for flat in flattened(row)]


def flattened(row: Row) -> list[Row]:
    """Return the rows of the hub that one published row stands for.

    Raises:
        RowError: when it looks like a published one, and lacks a part or has another in its place.
    """
    try:
        return _flattened(row)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise RowError(f"has a shape that is not known here ({type(err).__name__}: {err})") from err


def _flattened(row: Row) -> list[Row]:
    if "qa_pairs" in row:
        return [{"passage": row.get("passage", ""), **qa} for qa in row["qa_pairs"]]
    if "qas" in row and "full_text" in row:
        return _qasper(row)
    if isinstance(row.get("questions"), list) and "article" in row:
        return [_quality(row["article"], question) for question in row["questions"]]
    return [_renamed(row)]


def _keyed(document: Mapping[str, Any]) -> Iterable[Row]:
    """Return the values of a mapping from passages or papers to their contents, or the one row that it is."""
    if document and all(isinstance(v, Mapping) and {"qa_pairs", "qas"} & set(v) for v in document.values()):
        return [{"id": key, **value} for key, value in document.items()]
    return [document]


def _qasper(paper: Row) -> list[Row]:
    sections = paper["full_text"]
    if isinstance(sections, Mapping):
        pairs = zip(sections.get("section_name", ()), sections.get("paragraphs", ()), strict=False)
        sections = [{"section_name": name, "paragraphs": body} for name, body in pairs]
    body = "\n\n".join(f"{s.get('section_name') or ''}\n" + "\n".join(s.get("paragraphs") or ()) for s in sections)
    context = "\n\n".join(part for part in (paper.get("title"), paper.get("abstract"), body) if part)
    asked = paper["qas"]
    if isinstance(asked, Mapping):
        columns = [asked[name] for name in ("question", "question_id", "answers")]
        asked = [
            {"question": q, "question_id": i, "answers": a["answer"] if isinstance(a, Mapping) else a}
            for q, i, a in zip(*columns, strict=True)
        ]
    return [
        {"question": q["question"], "question_id": q.get("question_id"), "answers": q["answers"], "context": context}
        for q in asked
    ]


def _quality(article: str, question: Row) -> Row:
    label = question.get("gold_label")
    return {
        "article": article,
        "question": question["question"],
        "options": question["options"],
        "answer": None if label is None else int(label) - 1,
        "hard": bool(question.get("difficult")),
    }


def _gpqa(row: Row) -> Row:
    """Lay GPQA's four answers out in an order that each row's own words decide, so that no letter is the right one everywhere."""
    right = str(row["Correct Answer"]).strip()
    texts = [right, *(str(row[name]).strip() for name in (f"Incorrect Answer {i}" for i in (1, 2, 3)) if row.get(name))]
    asked = str(row.get("Question", "")).strip()
    texts.sort(key=lambda text: hashlib.sha256(f"{asked}\0{text}".encode()).digest())
    return {"question": asked, "options": texts, "answer": chr(ord("A") + texts.index(right))}


def _renamed(row: Row) -> Row:
    """Take ARC's nested question apart, lay out GPQA's options, and take QuALITY's and MBPP's other names of columns."""
    question = row.get("question")
    if "Correct Answer" in row and "Incorrect Answer 1" in row:
        return _gpqa(row)
    if isinstance(question, Mapping) and "stem" in question:
        choices = question.get("choices") or ()
        return {
            **row,
            "question": question["stem"],
            "choices": {"text": [c["text"] for c in choices], "label": [c["label"] for c in choices]},
        }
    if "query" in row and "option_0" in row:
        options = [row[name] for name in (f"option_{i}" for i in range(10)) if name in row]
        return {
            "article": row.get("context", ""),
            "question": row["query"],
            "options": options,
            "answer": row.get("label"),
        }
    if "test_list" in row and "prompt" not in row and "text" in row:
        return {**row, "prompt": row["text"]}
    return row
