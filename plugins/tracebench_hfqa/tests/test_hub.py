"""The real `datasets` library against a hub on loopback: rows, commits, what is kept, and everything that can be wrong with a hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fake_hub import COMMIT, FakeHub

from tracebench_core.errors import ConfigError
from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.rows.opening import Opened, open_rows
from tracebench_hfqa.rows.source import Settings

pytest.importorskip("datasets", reason='needs `pip install "tracebench-hfqa[datasets]"`')
pytestmark = pytest.mark.heavy("datasets")

GSM8K = next(entry for entry in shipped_entries() if entry.id == "gsm8k")
CARD = """---
configs:
- config_name: main
  data_files:
  - split: train
    path: main/train-*
  - split: test
    path: main/test-*
---
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with FakeHub.open(tmp_path / "hub") as server:
        store(server)
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def store(hub: FakeHub, answer: str = "answer") -> None:
    import pyarrow as pa
    from pyarrow import parquet

    folder = hub.root / "openai" / "gsm8k"
    (folder / "main").mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(CARD)
    for split, start in (("train", 0), ("test", 100)):
        rows = range(start, start + 20)
        table = {"question": [f"{i} + 1?" for i in rows], answer: [f"so\n#### {i + 1}" for i in rows]}
        parquet.write_table(pa.table(table), folder / "main" / f"{split}-00000-of-00001.parquet")


def opened(entry: Entry = GSM8K) -> Opened:
    sizes: dict[Any, int] = {"train": 3, "validation": 2, "test": 2}
    return open_rows(entry, subtask=None, sizes=sizes, seed=0, settings=Settings(kind="hub"))


def test_rows_come_once_with_their_commit_and_are_kept(hub: FakeHub) -> None:
    first = opened()
    assert {split: len(rows) for split, rows in first.splits.items()} == {"train": 3, "validation": 2, "test": 2}
    assert COMMIT in json.dumps(first.provenance, default=str)

    hub.asked.clear()
    again = opened()
    assert hub.asked == []
    assert again.splits == first.splits


@pytest.mark.parametrize("revision", ["b" * 40, "v9"])
def test_a_revision_that_is_not_there_is_named(hub: FakeHub, revision: str) -> None:
    with pytest.raises(ConfigError, match=f"`hf:gsm8k`: the split `train` of `openai/gsm8k` at `{revision}`"):
        opened(GSM8K.model_copy(update={"revision": revision}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset_id": "openai/gsm9k"}, "could not be downloaded"),
        ({"train_split": "training"}, "training"),
        ({"dataset_config": "socratic"}, "socratic"),
    ],
)
def test_what_the_hub_does_not_have_is_named(hub: FakeHub, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        opened(GSM8K.model_copy(update=change))
    assert "TRACEBENCH_HF_SOURCE=sample" in (told.value.hint or "")


def test_a_column_that_is_missing_is_named_with_the_row(hub: FakeHub) -> None:
    store(hub, answer="solution")
    with pytest.raises(ConfigError, match="answer"):
        opened()


def test_a_download_that_breaks_off_leaves_nothing_and_comes_whole_the_next_time(hub: FakeHub, tmp_path: Path) -> None:
    hub.fault = "half"
    with pytest.raises(ConfigError, match="could not be downloaded"):
        opened()
    assert not list((tmp_path / "cache").rglob("*.jsonl"))

    hub.fault = ""
    assert len(opened().splits["train"]) == 3


def test_a_slow_hub_is_given_up_at_the_deadline(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", "1.5")
    hub.fault = "slow"
    with pytest.raises(ConfigError, match=r"was not there after 1\.5 seconds"):
        opened()


def test_a_hub_that_is_away_is_one_error(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="could not be downloaded"):
        opened()
