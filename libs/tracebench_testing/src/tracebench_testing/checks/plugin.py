"""A plugin under test: what it offers here, opened alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tracebench_core.plugins import Catalog, Kind, PluginHost, PluginRecord
from tracebench_core.specs import Component, TaskSpec
from tracebench_engine.api.installed.hosting import open_host

A_FEW = 3
"""Tasks that are looked at where the check is not deep."""
PROBE_SECONDS = 180.0


@dataclass(frozen=True)
class PluginUnderTest:
    """One plugin, and which of its tasks and parts are looked at."""

    name: str
    deep: bool = False
    """All tasks, and the checks that take long."""
    only: tuple[str, ...] = ()
    """Ids of tasks and names of parts; all when empty."""
    root: Path | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`eval_kwargs` by task id, and settings by name of a part, where the defaults will not do."""

    @cached_property
    def host(self) -> PluginHost:
        """A host that has loaded this plugin."""
        host = open_host(root=self.root)
        host.load(self.name)
        return host

    @property
    def record(self) -> PluginRecord:
        """What became of loading it."""
        return self.host.load(self.name)

    @property
    def tasks(self) -> dict[str, TaskSpec]:
        """Its tasks by full id, those that cannot run here included."""
        found = self.host.suite_tasks(self.name)
        return {i: s for i, s in found.items() if not self.only or i in self.only or s.name in self.only}

    @property
    def ready_tasks(self) -> dict[str, TaskSpec]:
        """Tasks that can be opened here: all of them when deep, a few otherwise."""
        ready = {i: s for i, s in self.tasks.items() if s.trainable and not Catalog.availability(s)}
        if self.deep or self.only or len(ready) <= A_FEW:
            return ready
        ids = [*ready]
        return {i: ready[i] for i in (ids[0], ids[len(ids) // 2], ids[-1])}

    def parts(self, kind: Kind) -> dict[str, Component]:
        """Return its parts of one kind by name."""
        found = self.host.parts_of(self.name, kind)
        return {n: s for n, s in found.items() if not self.only or n in self.only}

    def options_of(self, id_: str) -> dict[str, Any]:
        """Return the options that a task or part is opened with."""
        return dict(self.options.get(id_, {}))

    @cached_property
    def load_report(self) -> dict[str, Any]:
        """What a fresh process saw that loaded this plugin alone; `error` says when it did not end well."""
        first, *more = ask_process(["load", self.name], seconds=PROBE_SECONDS, only=self.name)
        return first | next(({"error": words["error"]} for words in more if "error" in words), {})


def ask_process(
    arguments: list[str], *, seconds: float, only: str | None = None, module: str = "tracebench_testing.probe"
) -> list[dict[str, Any]]:
    """Run the probe, or another module, in a process of its own and return the JSON objects that it writes.

    The last one has `error` when it ended badly.
    """
    environ = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if only is not None:
        environ["TRACEBENCH_PLUGINS"] = only
    command = [sys.executable, "-P", "-m", module, *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as err:
        text = err.stdout.decode(errors="replace") if isinstance(err.stdout, bytes) else err.stdout or ""
        return [*_objects(text), {"error": f"it was still at it after {seconds:g} s", "cut_off": True}]
    found = [*_objects(done.stdout)]
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        found.append({"error": f"the process ended with exit code {done.returncode}. {last}".strip()})
    return found or [{"error": "the process said nothing"}]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue
