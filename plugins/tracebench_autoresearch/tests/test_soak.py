"""What takes minutes: two hundred candidates that leave nothing behind, and kills at any moment that lose nothing of the history."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_autoresearch.tests.dials import RUN, answer, block, write_dial

from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("autoresearch_soak"), pytest.mark.timeout(3600)]
CANDIDATES = int(os.environ.get("TRACEBENCH_SOAK_CANDIDATES", "200"))
KILLS = int(os.environ.get("TRACEBENCH_SOAK_KILLS", "12"))
MARK = "TRACEBENCH_SOAK_MARK"


def marked(mark: str) -> Iterator[str]:
    """Yield the command lines of all processes that inherited the mark."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield f"{folder.name} {(folder / 'cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"
        except OSError:
            continue


def wait_for_none(mark: str) -> None:
    while [*marked(mark)]:
        time.sleep(0.1)  # the test's own time-out ends this


class Place:
    """A run's folder, with temporary files of its own."""

    def __init__(self, folder: Path, url: str, trainer: str) -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir(parents=True)
        write_dial(folder / "root", noise=0.3)
        (folder / "run.yaml").write_text(RUN.format(url=url, task="dial", trainer=trainer))
        self.mark = f"{folder.name}-{os.getpid()}"
        self.environ = os.environ | {"TMPDIR": str(self.temporary), MARK: self.mark}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tracebench_engine.cli", *words, "--runs-dir", str(self.folder / "runs")]

    def start(self) -> list[str]:
        return self.command("run", "--config", "run.yaml", "--root", "root", "-o", "run_id=r")

    def run(self, *words: str) -> str:
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=self.folder, env=self.environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def history(self) -> list[dict[str, Any]]:
        printed = self.run(*self.command("autoresearch", "history", "r", "--jsonl"))
        rows = [json.loads(line) for line in printed.splitlines()]
        return [{key: row[key] for key in ("candidate", "values", "status", "description")} for row in rows]


NUMBERS = itertools.count(1)


def many(messages: list[dict[str, Any]]) -> str:
    """Propose a rate that was not proposed before; some crash, some leave files and processes behind."""
    prompt, number = str(messages[-1]["content"]), next(NUMBERS)
    shown = re.search(r"^rate=.*$", prompt, re.MULTILINE)
    assert shown is not None
    rate = 9 - 7 * number / CANDIDATES
    odd = {0: "; (sleep 300 &)", 1: "; exit 3", 2: "; mkdir -p a/b; touch a/b/c; setsid sleep 300 &"}.get(
        number % 10, ""
    )
    return f"Hypothesis: try number {number}\n\n{block('dial.txt', shown[0], f'rate={rate:.3f}{odd}')}"


def test_many_candidates_leave_no_folder_and_no_process(tmp_path: Path) -> None:
    with FakeOpenAI(reply=many) as server:
        trainer = f"{{id: Autoresearch, params_variants: [{{num_experiments: {CANDIDATES}}}]}}"
        place = Place(tmp_path / "many", server.base_url, trainer)
        place.run(*place.start())

    rows = place.history()
    assert len(rows) == CANDIDATES + 1
    assert {"keep", "discard", "crashed"} <= {row["status"] for row in rows}
    wait_for_none(place.mark)
    assert [path for path in place.temporary.rglob("*") if path.parent != place.temporary] == []
    assert not [path for path in place.folder.rglob("dial.txt") if path.parent.parent.name != "root"]


def test_kills_at_any_moment_lose_nothing_of_the_history(tmp_path: Path) -> None:
    """Each kill takes the runner or the job, after a random time; the last resume goes on to the end of an undisturbed run."""
    trainer = "{id: Autoresearch, params_variants: [{num_experiments: 6}]}"
    with FakeOpenAI(reply=answer, delay=0.02) as server:
        whole = Place(tmp_path / "whole", server.base_url, trainer)
        whole.run(*whole.start())
        cut = Place(tmp_path / "cut", server.base_url, trainer)
        rng = random.Random(KILLS)
        command, kept = cut.start(), []
        for _ in range(KILLS):
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cut.folder, env=cut.environ
            )
            time.sleep(rng.uniform(0.1, 6.0))
            target = process.pid if rng.random() < 0.7 else _child(process.pid)
            os.kill(target, signal.SIGKILL)
            process.wait()
            wait_for_none(cut.mark)
            if (cut.folder / "runs/r/meta/manifest.json").exists():
                command = cut.command("resume", "r")
                now = [row["candidate"] for row in cut.history() if row["status"] == "keep"]
                assert now[: len(kept)] == kept
                kept = now
        cut.run(*command)

        assert cut.history() == whole.history()


def _child(pid: int) -> int:
    """Return a child of a process, or the process itself where it has none."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    listed = children.read_text().split() if children.exists() else []
    return int(listed[-1]) if listed else pid
