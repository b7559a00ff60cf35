"""A hub of data sets and models on loopback, as `huggingface_hub` and `datasets` ask for one: for tests of what downloads."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40
"""The one commit that every repository has."""


class FakeHub(ThreadingHTTPServer):
    """Serves the repositories below `root`, `<owner>/<name>/<file>`, until the context ends."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.root = root
        self.fault = ""
        """What is wrong with the hub: nothing, `slow` (a minute an answer), or `half` (tables break off in the middle)."""
        self.asked: list[str] = []
        """The paths of all requests, in order."""

    @property
    def address(self) -> str:
        """What goes into `HF_ENDPOINT`."""
        return f"http://127.0.0.1:{self.server_port}"

    @classmethod
    @contextmanager
    def open(cls, root: Path) -> Iterator[FakeHub]:
        """Serve a folder."""
        hub = cls(root)
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        try:
            yield hub
        finally:
            hub.shutdown()
            hub.server_close()

    def repository(self, name: str) -> list[Path]:
        """Return a repository's files; none when there is no such repository."""
        return [path for path in sorted((self.root / name).rglob("*")) if path.is_file()]


class _Answer(BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer."""
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        if self.server.fault == "slow":
            time.sleep(60)
        match path.strip("/").split("/"):
            case ["api", "datasets" | "models", owner, name, *rest] if self.server.repository(f"{owner}/{name}"):
                self._describe(f"{owner}/{name}", rest)
            case ["datasets", _, _, "resolve", revision, *_] | [_, _, "resolve", revision, *_] if revision != COMMIT:
                self._say(404, {"error": "no such revision"}, **{"X-Error-Code": "RevisionNotFound"})
            case ["datasets", owner, name, "resolve", _, *parts] | [owner, name, "resolve", _, *parts]:
                self._give(self.server.root / owner / name / "/".join(parts))
            case _:
                self._say(404, {"error": "not found"}, **{"X-Error-Code": "RepoNotFound"})

    def _describe(self, name: str, rest: list[str]) -> None:
        folder = self.server.root / name
        files = [str(path.relative_to(folder)) for path in self.server.repository(name)]
        match rest:
            case ["revision" | "tree", revision, *_] if revision != COMMIT:
                self._say(404, {"error": "no such revision"}, **{"X-Error-Code": "RevisionNotFound"})
            case ["tree", _, *below]:
                folders = {str(Path(file).parent) for file in files} - {"."}
                entries = [self._listed(folder, file) for file in files if file.startswith("/".join(below))]
                self._say(200, [*entries, *({"type": "directory", "path": path, "oid": "0" * 40} for path in folders)])
            case _:
                self._say(200, {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]})

    def _listed(self, folder: Path, file: str) -> dict[str, Any]:
        data = (folder / file).read_bytes()
        return {
            "type": "file",
            "path": file,
            "size": len(data),
            "oid": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        }

    def _give(self, path: Path) -> None:
        if not path.is_file():
            self._say(404, {"error": "no such file"}, **{"X-Error-Code": "EntryNotFound"})
            return
        data = path.read_bytes()
        etag = f'"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"'
        cut = len(data) // 2 if self.server.fault == "half" and path.suffix == ".parquet" else len(data)
        self._send(200, data[:cut], length=len(data), headers={"ETag": etag})

    def _say(self, code: int, what: Any, **headers: str) -> None:
        self._send(code, json.dumps(what).encode(), headers=headers)

    def _send(self, code: int, body: bytes, *, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(code)
        told = {"Content-Length": str(len(body) if length is None else length), "X-Repo-Commit": COMMIT, **headers}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
