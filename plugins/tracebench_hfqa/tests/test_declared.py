"""Task files: what users write, and what they are told when it is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tracebench_core.errors import ConfigError
from tracebench_hfqa.declared import SHIPPED, SHIPPED_QUICKLY, read_entries, shipped_entries

GOOD = """- id: mine
  dataset_id: me/mine
  split: train
  question_field: q
  answer_field: a
  context_format: none
"""


def test_the_shipped_file_declares_all_tasks() -> None:
    entries = {e.id: e for e in read_entries(SHIPPED)}
    assert len(entries["bbeh"].subtasks) == 23
    assert len(entries["bbeh_eight"].subtasks) == len(entries["bbeh_horizon"].subtasks) == 8
    assert entries["qasc"].test_split == "validation"


def test_listing_reads_what_the_shipped_file_says() -> None:
    mended = "python -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin), indent=1))' < tasks.yaml > tasks.json"
    assert json.loads(SHIPPED_QUICKLY.read_text()) == yaml.safe_load(SHIPPED.read_text()), mended
    assert shipped_entries() == read_entries(SHIPPED)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            GOOD.replace("question_field", "question_feild"),
            "line 4: `question_feild` is not a known field. Did you mean `question_field`",
        ),
        (GOOD.replace("  dataset_id: me/mine\n", ""), "line 1: `dataset_id` is missing"),
        (GOOD.replace("none", "hotpot"), "line 6: `context_format` must be"),
        (GOOD + "  num_train: -1\n", "line 7: `num_train`"),
        (GOOD + "  split: test\n", "line 7: `split` is written twice"),
        (GOOD + GOOD, "line 7: `id` `mine` is declared on line 1 already"),
        (GOOD.replace("  split: train\n", ""), "line 1: needs `split`, `train_split` or `subtasks`"),
        ("id: mine\n", "a task file is a list of entries"),
        ("- id: [\n", "not YAML"),
        ("- 3\n", "line 1: an entry is a mapping"),
    ],
)
def test_an_error_names_file_line_and_field(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as err:
        read_entries(path)
    assert "tasks.yaml" in str(err.value)
    assert words in str(err.value)


def test_a_good_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(GOOD)
    assert [e.id for e in read_entries(path)] == ["mine"]
