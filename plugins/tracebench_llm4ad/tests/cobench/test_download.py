"""The command that fills a data folder: from a hub that answers, that refuses, that hangs, and without a network at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.cobench.catalog import SPECS
from tracebench_llm4ad.cobench.problem import GENERATED_FILES, GENERATOR_SEED, Problem

COMMIT = "0" * 40
FILES = {"Set covering/scp41.txt": b"2 3\n2 3 4\n2\n1 3\n1\n3\n", "Set covering/config.py": b"raise SystemExit\n"}


class Hub(BaseHTTPRequestHandler):
    """Speaks as much of the hub's interface as a snapshot needs, or refuses, or hangs."""

    mood = "kind"
    released = threading.Event()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.mood == "hangs":
            self.released.wait(60)
            return
        if self.mood == "refuses":
            self._answer(404, b"no")
        elif "/resolve/" in self.path:
            name = self.path.partition(f"/resolve/{COMMIT}/")[2].replace("%20", " ").partition("?")[0]
            self._answer(200, FILES[name], etag=f'"{hash(name)}"')
        elif "/tree/" in self.path:
            tree = [{"type": "file", "path": n, "size": len(b), "oid": "1" * 40} for n, b in FILES.items()]
            self._answer(200, json.dumps(tree).encode())
        else:
            siblings = [{"rfilename": n, "size": len(b)} for n, b in FILES.items()]
            self._answer(200, json.dumps({"id": "CO-Bench/CO-Bench", "sha": COMMIT, "siblings": siblings}).encode())

    def _answer(self, status: int, body: bytes, etag: str = '"x"') -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", etag)
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.released.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Hub.released.set()
    server.shutdown()
    server.server_close()


def command(folder: Path, *args: str, endpoint: str = "") -> subprocess.CompletedProcess[str]:
    home = {"HF_HOME": str(folder.parent / "home"), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, "-m", "tracebench_llm4ad.cobench", str(folder), *args],
        capture_output=True,
        text=True,
        env=os.environ | home,
        check=False,
    )


def test_the_data_set_arrives_without_its_code(hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(Hub, "mood", "kind")
    done = command(tmp_path / "data", "--download", endpoint=hub)

    assert done.stdout.startswith("1 files in"), done.stderr
    assert (tmp_path / "data" / "Set covering" / "scp41.txt").read_bytes() == FILES["Set covering/scp41.txt"]


@pytest.mark.parametrize(
    ("mood", "words"),
    [pytest.param("hangs", "not done after 4 seconds", marks=HEAVY), ("refuses", "could not be downloaded")],
)
def test_a_hub_that_does_not_answer_is_one_clear_error(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mood: str, words: str
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(Hub, "mood", mood)
    done = command(tmp_path / "data", "--download", "--deadline", "4" if mood == "hangs" else "60", endpoint=hub)

    assert done.returncode == 1
    assert words in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def problem(spec: TaskSpec) -> type[Problem]:
    module, _, function = spec.loader.partition(":")
    owner: type[Problem] = getattr(import_module(module), function).__self__
    return owner


@HEAVY
def test_without_the_option_cases_are_generated(tmp_path: Path) -> None:
    done = command(tmp_path / "data")

    assert done.returncode == 0, done.stderr
    expected = {
        Path(owner.folder, name): text
        for owner in (problem(spec) for spec in SPECS)
        for name, text in owner.generated(GENERATOR_SEED).items()
    }
    written = {
        path.relative_to(tmp_path / "data"): path.read_text(encoding="utf-8")
        for path in (tmp_path / "data").rglob("*")
        if path.is_file()
    }
    assert written == expected
    assert len(expected) == len(SPECS) * GENERATED_FILES
    assert done.stdout == f"{len(expected)} files in {tmp_path / 'data'}\n"
