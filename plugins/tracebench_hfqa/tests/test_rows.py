"""Rows from folders in the hub's shape and the authors', seeded splits, and what is refused by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.rows.opening import Opened, open_rows
from tracebench_hfqa.rows.source import Settings, settings_of
from tracebench_hfqa.rows.splits import content_hash, shares

ENTRIES = {entry.id: entry for entry in shipped_entries()}
SIZES: dict[Any, int] = {"train": 3, "validation": 2, "test": 2}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def opened(
    folder: Path, entry: Entry, *, seed: int = 0, subtask: str | None = None, sizes: dict[Any, int] | None = None
) -> Opened:
    told = Settings(kind="folder", folder=folder)
    return open_rows(entry, subtask=subtask, sizes=sizes or SIZES, seed=seed, settings=told)


def sums(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"question": f"What is {i} and 1?", "answer": f"It is {i + 1}.\n#### {i + 1}"}
        for i in range(start, start + count)
    ]


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if not e.shipped])
def test_every_task_has_sample_rows(name: str) -> None:
    for subtask in ENTRIES[name].subtasks or (None,):
        found = open_rows(ENTRIES[name], subtask=subtask, sizes=SIZES, seed=0, settings=Settings())
        sizes = {s: len(rows) for s, rows in found.splits.items()}
        assert sizes == ({"train": 2, "validation": 1, "test": 1} if name == "bbh" else SIZES)  # 27 files of four rows
        assert found.provenance["label"] == "sample rows, not the data set"


def test_splits_are_disjoint_and_the_seed_decides_them(tmp_path: Path) -> None:
    write(tmp_path / "gsm8k" / "train.jsonl", sums(40))
    write(tmp_path / "gsm8k" / "test.jsonl", sums(10, start=35))
    one, again, other = (opened(tmp_path, ENTRIES["gsm8k"], seed=s) for s in (0, 0, 1))
    hashes = {s: {content_hash(e) for e in rows} for s, rows in one.splits.items()}
    assert not hashes["train"] & hashes["validation"]
    assert not hashes["test"] & {
        content_hash(e)
        for e in opened(tmp_path, ENTRIES["gsm8k"], sizes={"train": 40, "validation": 0, "test": 1}).splits["train"]
    }
    assert one.provenance == again.provenance
    assert one.provenance["rows"] != other.provenance["rows"]


def test_a_question_of_train_is_asked_by_no_test_row_whatever_its_case_spaces_and_answer(tmp_path: Path) -> None:
    train = sums(8)
    again = [
        {**row, "question": change(row["question"])}
        for row, change in zip(train, (str.upper, "  {}\n".format), strict=False)
    ]
    other_gold = [{**train[2], "answer": "#### 99"}, {**train[3], "question": train[3]["question"].replace(" ", "  ")}]
    write(tmp_path / "gsm8k" / "train.jsonl", [*train, {**train[0], "answer": "#### 7"}])
    write(tmp_path / "gsm8k" / "test.jsonl", [*again, *other_gold, *sums(3, start=50), *sums(1, start=50)])
    found = opened(tmp_path, ENTRIES["gsm8k"], sizes={"train": 6, "validation": 2, "test": 9})
    assert {s: len(rows) for s, rows in found.splits.items()} == {"train": 6, "validation": 2, "test": 3}
    assert found.provenance["repeated"] == {"train": 1, "test": 5}
    in_one = tmp_path / "one"
    write(in_one / "gsm8k" / "all.jsonl", [*train, *again, *other_gold])
    asked = [
        e.input["question"].strip().lower() for rows in opened(in_one, ENTRIES["gsm8k"]).splits.values() for e in rows
    ]
    assert len({" ".join(q.split()) for q in asked}) == len(asked)


def test_the_order_of_the_file_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a" / "gsm8k" / "all.jsonl", sums(20))
    write(tmp_path / "b" / "gsm8k" / "all.jsonl", sums(20)[::-1])
    assert (
        opened(tmp_path / "a", ENTRIES["gsm8k"]).provenance["rows"]
        == opened(tmp_path / "b", ENTRIES["gsm8k"]).provenance["rows"]
    )


def test_rows_of_the_authors_are_read(tmp_path: Path) -> None:
    drop = {
        "p1": {
            "passage": "Four boats.",
            "qa_pairs": [
                {
                    "query_id": str(i),
                    "question": f"How many boats, try {i}?",
                    "answer": {"number": "4", "spans": [], "date": {}},
                    "validated_answers": [{"number": "", "spans": ["four"], "date": {}}],
                }
                for i in range(8)
            ],
        }
    }
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "drop_dataset_dev.json").write_text(json.dumps(drop))
    example = opened(tmp_path, ENTRIES["drop"]).splits["train"][0]
    assert example.reference["gold"] == [["4"], ["four"]]
    assert example.input["context"] == "Four boats."
    arc = [
        {
            "id": str(i),
            "question": {
                "stem": f"Which? {i}",
                "choices": [{"text": "oak", "label": "1"}, {"text": "elm", "label": "2"}],
            },
            "answerKey": "2",
        }
        for i in range(8)
    ]
    write(tmp_path / "arc_challenge" / "ARC-Challenge-Train.jsonl", arc)
    assert opened(tmp_path, ENTRIES["arc_challenge"]).splits["train"][0].reference["gold"] == "2"
    bbeh = {"canary": "x", "examples": [{"input": f"Which? {i}", "target": "(A)"} for i in range(8)]}
    (tmp_path / "benchmark_tasks" / "bbeh_nycc").mkdir(parents=True)
    (tmp_path / "benchmark_tasks" / "bbeh_nycc" / "task.json").write_text(json.dumps(bbeh))
    assert len(opened(tmp_path, ENTRIES["bbeh"], subtask="nycc").splits["train"]) == 3


@pytest.mark.parametrize(("answers", "gold"), [([0, 1, 3], "A"), ([1, 2, 4], "A")])
def test_what_an_index_counts_from_is_told_by_all_rows(tmp_path: Path, answers: list[int], gold: str) -> None:
    rows = [{"article": "x", "question": f"Q{a}?", "options": ["w", "x", "y", "z"], "answer": a} for a in answers]
    write(tmp_path / "quality" / "hf.jsonl", rows)
    found = opened(tmp_path, ENTRIES["quality"], sizes={"train": 3, "validation": 0, "test": 0}).splits["train"]
    assert sorted(e.reference["gold"] for e in found)[0] == gold


def test_a_split_without_labels_is_refused_by_name(tmp_path: Path) -> None:
    row = {"question": "Which?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "combinedfact": "f"}
    write(tmp_path / "qasc" / "train.jsonl", [{**row, "question": f"Which {i}?", "answerKey": "A"} for i in range(9)])
    write(tmp_path / "qasc" / "test.jsonl", [{**row, "question": f"What {i}?", "answerKey": ""} for i in range(9)])
    entry = ENTRIES["qasc"].model_copy(update={"test_split": "test"})
    with pytest.raises(ConfigError, match="the split `test` has no labels"):
        opened(tmp_path, entry)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"question": "a", "answer": "#### 1"}\n{"question": ', "line 2: not JSON"),
        ('{"quest": "a", "answer": "#### 1"}\n', "row 1: has no column `question`; its columns are `quest`, `answer`"),
        ('{"question": "a", "answer": "#### many"}\n', "row 1: holds no number after `####`"),
        ("[1, 2]\n", "line 1: a row is a mapping"),
        ("version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
    ],
)
def test_bad_files_are_named_with_their_row(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / "train.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=r"train\.jsonl") as err:
        opened(tmp_path, ENTRIES["gsm8k"])
    assert words in str(err.value)


def test_a_folder_without_the_data_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / "notes.txt").write_text("")
    with pytest.raises(ConfigError, match=r"no file for the split `train`.*`notes.txt`"):
        opened(tmp_path, ENTRIES["gsm8k"])


def test_parquet_rows_equal_json_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason='needs `pip install "tracebench-hfqa[parquet]"`')
    from pyarrow import parquet

    write(tmp_path / "a" / "gsm8k" / "all.jsonl", sums(12))
    (tmp_path / "b" / "gsm8k").mkdir(parents=True)
    parquet.write_table(pyarrow.Table.from_pylist(sums(12)), tmp_path / "b" / "gsm8k" / "train-00000-of-00001.parquet")
    rows = [opened(tmp_path / folder, ENTRIES["gsm8k"]).provenance["rows"] for folder in "ab"]
    assert {s: r["count"] for s, r in rows[0].items()} == {s: r["count"] for s, r in rows[1].items()}


def test_a_parquet_file_without_its_library_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "gsm8k" / "train.parquet"
    path.parent.mkdir()
    path.write_bytes(b"PAR1")

    with pytest.raises(MissingRequirementError, match=r"train\.parquet` is a parquet file") as missing:
        opened(tmp_path, ENTRIES["gsm8k"])
    hint = str(missing.value.hint)  # of uv or pip, whichever installs here
    assert "pip install " in hint
    assert hint.endswith(' "tracebench-hfqa[parquet]"')


@given(st.integers(1, 500), st.lists(st.integers(0, 300), min_size=1, max_size=3))
def test_shares_never_exceed_what_is_there(available: int, wanted: list[int]) -> None:
    parts = shares(available, wanted)
    assert sum(parts) == min(available, sum(wanted)) or sum(parts) <= available
    assert all(p <= w for p, w in zip(parts, wanted, strict=True))
    if available >= sum(1 for w in wanted if w):
        assert all(p >= 1 for p, w in zip(parts, wanted, strict=True) if w)


def test_settings_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean `data_dir`"):
        settings_of({"options": {"data_dirs": "x"}}, {})
    with pytest.raises(ConfigError, match="does not exist"):
        settings_of({"options": {"data_dir": str(tmp_path / "none")}}, {})
    with pytest.raises(ConfigError, match="Did you mean `sample`"):
        settings_of({}, {"TRACEBENCH_HF_SOURCE": "sampel"})
    assert settings_of({}, {"TRACEBENCH_HF_DATA": str(tmp_path)}).kind == "folder"
    assert settings_of({}, {"TRACEBENCH_HF_SOURCE": "sample", "TRACEBENCH_HF_DATA": str(tmp_path)}).kind == "sample"
