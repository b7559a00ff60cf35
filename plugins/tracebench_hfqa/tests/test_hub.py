"""The real `datasets` library against a hub on loopback: rows, commits, what is kept, and everything that can be wrong with a hub."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tracebench_core.errors import ConfigError
from tracebench_hfqa.declared import SHIPPED, read_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.rows.opening import Opened, open_rows
from tracebench_hfqa.rows.source import Settings

pytest.importorskip("datasets", reason='needs `pip install "tracebench-hfqa[datasets]"`')
pytestmark = pytest.mark.heavy("datasets")

COMMIT = "a" * 40
GSM8K = next(entry for entry in read_entries(SHIPPED) if entry.id == "gsm8k")
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


class Hub(ThreadingHTTPServer):
    """What `huggingface_hub` asks of a hub, for a folder of repositories; `fault` is what is wrong with it."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.root = root
        self.fault = ""
        self.asked: list[str] = []

    def repository(self, name: str) -> list[Path]:
        return [path for path in sorted((self.root / name).rglob("*")) if path.is_file()]


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        if self.server.fault == "slow":
            time.sleep(60)
        match path.strip("/").split("/"):
            case ["api", "datasets", owner, name, *rest] if self.server.repository(f"{owner}/{name}"):
                self.describe(f"{owner}/{name}", rest)
            case ["datasets", _, _, "resolve", revision, *_] if revision != COMMIT:
                self.say(404, {"error": "no such revision"}, **{"X-Error-Code": "RevisionNotFound"})
            case ["datasets", owner, name, "resolve", _, *parts]:
                self.give(self.server.root / owner / name / "/".join(parts))
            case _:
                self.say(404, {"error": "not found"}, **{"X-Error-Code": "RepoNotFound"})

    def describe(self, name: str, rest: list[str]) -> None:
        folder = self.server.root / name
        files = [str(path.relative_to(folder)) for path in self.server.repository(name)]
        match rest:
            case ["revision" | "tree", revision, *_] if revision != COMMIT:
                self.say(404, {"error": "no such revision"}, **{"X-Error-Code": "RevisionNotFound"})
            case ["tree", _, *below]:
                folders = {str(Path(file).parent) for file in files} - {"."}
                entries = [self.listed(folder, file) for file in files if file.startswith("/".join(below))]
                self.say(200, [*entries, *({"type": "directory", "path": path, "oid": "0" * 40} for path in folders)])
            case _:
                self.say(200, {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]})

    def listed(self, folder: Path, file: str) -> dict[str, Any]:
        data = (folder / file).read_bytes()
        return {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def give(self, path: Path) -> None:
        if not path.is_file():
            self.say(404, {"error": "no such file"}, **{"X-Error-Code": "EntryNotFound"})
            return
        data = path.read_bytes()
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        cut = len(data) // 2 if self.server.fault == "half" and path.suffix == ".parquet" else len(data)
        self.send_answer(200, data[:cut], length=len(data), headers={"ETag": etag})

    def say(self, code: int, what: Any, **headers: str) -> None:
        self.send_answer(code, json.dumps(what).encode(), headers=headers)

    def send_answer(self, code: int, body: bytes, *, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(code)
        told = {"Content-Length": str(len(body) if length is None else length), "X-Repo-Commit": COMMIT, **headers}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub(tmp_path / "hub")
    store(server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield server
    server.shutdown()
    server.server_close()


def store(hub: Hub, answer: str = "answer") -> None:
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


def test_rows_come_once_with_their_commit_and_are_kept(hub: Hub) -> None:
    first = opened()
    assert {split: len(rows) for split, rows in first.splits.items()} == {"train": 3, "validation": 2, "test": 2}
    assert COMMIT in json.dumps(first.provenance, default=str)

    hub.asked.clear()
    again = opened()
    assert hub.asked == []
    assert again.splits == first.splits


@pytest.mark.parametrize("revision", ["b" * 40, "v9"])
def test_a_revision_that_is_not_there_is_named(hub: Hub, revision: str) -> None:
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
def test_what_the_hub_does_not_have_is_named(hub: Hub, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        opened(GSM8K.model_copy(update=change))
    assert "TRACEBENCH_HF_SOURCE=sample" in (told.value.hint or "")


def test_a_column_that_is_missing_is_named_with_the_row(hub: Hub) -> None:
    store(hub, answer="solution")
    with pytest.raises(ConfigError, match="answer"):
        opened()


def test_a_download_that_breaks_off_leaves_nothing_and_comes_whole_the_next_time(hub: Hub, tmp_path: Path) -> None:
    hub.fault = "half"
    with pytest.raises(ConfigError, match="could not be downloaded"):
        opened()
    assert not list((tmp_path / "cache").rglob("*.jsonl"))

    hub.fault = ""
    assert len(opened().splits["train"]) == 3


def test_a_slow_hub_is_given_up_at_the_deadline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", "1.5")
    hub.fault = "slow"
    with pytest.raises(ConfigError, match=r"was not there after 1\.5 seconds"):
        opened()


def test_a_hub_that_is_away_is_one_error(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="could not be downloaded"):
        opened()
