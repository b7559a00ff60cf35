"""One run with a task that something befalls and a task that nothing does: real processes, and what is left of them.

The processes of a trial are told apart by their words and their parents; nothing asks the parts of Trace-Bench which they are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from plugins.tracebench_terminalbench.tests.whole_runs import left

from tracebench_terminalbench.job_config import STORE

PATIENCE = 3000.0
"""Seconds for what takes a few, on a machine that may have any load."""
REWARD = "echo $? | sed 's/[^0]/x/; s/0/1/; s/x/0/' > /logs/verifier/reward.txt"
SETTINGS = """\
schema_version = "1.1"
[task]
name = "tracebench/{name}"
[agent]
timeout_sec = {agent_seconds}
[verifier]
timeout_sec = 60.0
[environment]
build_timeout_sec = 300.0
memory_mb = 512
"""


class Ended(NamedTuple):
    """What became of one job."""

    status: str
    again: int
    """Attempts at its evaluations that came to nothing and were made again."""
    score: float | None
    """Of its first evaluation."""
    said: str
    """Why it has no score, or why its last trial had none."""


@dataclass
class World:
    """A folder with tasks, runs and a store, and the processes that work in it.

    Args:
        layout: an image of busybox in OCI's layout, with the tag `1`, which tasks know as `base`.
        store: the folder of unpacked images.
    """

    folder: Path
    layout: Path
    store: Path
    images: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each task, in the order of the run."""
    sleeps: set[str] = field(default_factory=set)
    """The commands by which processes of its containers are told."""
    own_mounts: set[str] = field(default_factory=set)
    """Of the test itself."""
    runner: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return self.folder / "runs"

    def task(
        self,
        name: str,
        solved: str,
        check: str,
        *,
        dockerfile: str = "FROM base\nWORKDIR /app\n",
        more: str = "",
        agent_seconds: float = 120.0,
    ) -> None:
        """Add a task: `solved` is its solution, `check` a command that succeeds where it is solved."""
        folder = self.folder / "tasks" / name
        for part, text in {
            "instruction.md": "Make the file /app/done.\n",
            "environment/Dockerfile": dockerfile,
            "solution/solve.sh": f"#!/bin/sh\n{solved}\n",
            "tests/test.sh": f"#!/bin/sh\n{check}\n{REWARD}\n",
            "task.toml": SETTINGS.format(name=name, agent_seconds=agent_seconds) + more,
        }.items():
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_text(text)
            (folder / part).chmod(0o755)
        self.options.setdefault(name, {"agent": "oracle"})

    def start(self, *words: str) -> None:
        """Start the run of all tasks, or what `words` ask for."""
        self.runs.mkdir(exist_ok=True)
        images = {"base": f"{self.layout}:1", **self.images}
        kwargs = {"images": images, "network": "none", "processes": 400, "image_mb": 20}
        shared = {"harbor_env": "oci", "harbor_environment_kwargs": kwargs}
        tasks = [{"id": f"terminal_bench:{name}", "eval_kwargs": shared | own} for name, own in self.options.items()]
        config = {
            "mode": "stub", "run_id": "r", "seeds": [1], "job_timeout": 900, "max_workers": 2, "trainers": ["NoOp"],
            "tasks": tasks, **self.config,
        }  # fmt: skip
        (self.folder / "run.yaml").write_text(yaml.safe_dump(config))
        asked = words or ("run", "--config", "run.yaml", "--runs-dir", "runs", "--root", "tasks")
        with (self.folder / "said.txt").open("ab") as said:
            self.runner = subprocess.Popen(
                [sys.executable, "-m", "tracebench_engine.cli", *asked], env={**os.environ, STORE: str(self.store)},
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip

    def wait(self) -> int:
        """Return how the command ended."""
        assert self.runner is not None
        return self.runner.wait(PATIENCE)

    def each_once(self, waited: Mapping[str, Callable[[int], None]]) -> None:
        """Call, once each, what waits for a process of its words, with that process, until the run ends or nothing waits."""
        waiting = dict(waited)
        due = time.monotonic() + PATIENCE
        while waiting and time.monotonic() < due and self.runner is not None and self.runner.poll() is None:
            lines = processes()
            for words in [*waiting]:
                if (pid := next((pid for pid, line in lines.items() if words == line), None)) is not None:
                    waiting.pop(words)(pid)
            time.sleep(0.3)

    def ended(self, name: str) -> Ended:
        """Return what the run directory tells of one task."""
        for path in sorted(self.runs.glob("r/jobs/*/events.jsonl")):
            events = [json.loads(line) for line in path.read_text().splitlines()]
            if events[0]["task"].endswith(f":{name}"):
                own = [event for event in events if event["kind"] == "evaluation"]
                told = path.with_name("results.json")
                result = json.loads(told.read_text()) if told.exists() else {}
                return Ended(
                    str(result.get("status")),
                    sum(event["kind"] == "record" for event in events) - len(own),
                    own[0]["score"] if own and own[0]["status"] == "ok" else None,
                    str(result.get("error") or (own[-1]["feedback"] if own else "")),
                )
        return Ended("no job", 0, None, "")

    def said(self) -> str:
        """Return what the commands printed."""
        place = self.folder / "said.txt"
        return place.read_text(errors="replace") if place.exists() else ""

    def left(self) -> list[str]:
        """Return what is left once the run has ended: processes, mounts, groups, and what is half done in the store."""
        due = time.monotonic() + 20
        while (found := [*self._left()]) and time.monotonic() < due:
            time.sleep(0.1)
        return found

    def close(self) -> None:
        """End the run, where it still goes on, and remove its folder."""
        if self.runner is not None and self.runner.poll() is None:
            self.runner.kill()
            self.runner.wait()
        self.left()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(self) -> Iterator[str]:
        for pid, words in left(self.folder):
            if pid or words.split()[1] not in self.own_mounts:
                yield words[:160]
        for pid, words in processes().items():
            if words in self.sleeps or str(self.store) in words:
                yield f"{pid}: {words[:160]}"
        yield from (line for line in Path("/proc/self/mounts").read_text().splitlines() if f"{self.store}/" in line)
        yield from (path.name for path in self.store.glob(".trace-bench-work-*"))
        for group in Path("/sys/fs/cgroup").glob("**/trace-bench-*"):
            if not Path("/proc", group.name.removeprefix("trace-bench-")).exists():
                yield str(group)


def processes() -> dict[int, str]:
    """Return the words of every process but this one."""
    found = {}
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if line and int(place.parent.name) != os.getpid():
            found[int(place.parent.name)] = line
    return found


def parents(pid: int) -> list[int]:
    """Return the processes above one, the nearest first."""
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def children(pid: int) -> list[int]:
    """Return the processes below one."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
