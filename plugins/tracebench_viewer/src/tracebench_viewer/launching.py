"""From the launch form to a config, and from a config to a run that goes on without the viewer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tracebench_core.errors import UsageError
from tracebench_viewer.commands import ask

LARGEST_CONFIG = 1 << 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What the form asks for."""

    tasks: Sequence[str]
    trainers: Sequence[str]
    seeds: Sequence[int] = (1,)
    mode: str = "stub"
    model: str = ""
    budget: Mapping[str, float] = field(default_factory=dict)
    """Caps of each job by axis."""
    workers: int = 1
    tags: Sequence[str] = ()
    record: bool = False


def config_text(wish: Wish) -> str:
    """Return a wish as a config in YAML, leaving out what is left open."""
    data: dict[str, Any] = {
        "mode": wish.mode,
        "seeds": [*wish.seeds],
        "tasks": [*wish.tasks],
        "trainers": [{"id": name} for name in wish.trainers],
    }
    if wish.workers > 1:
        data["max_workers"] = wish.workers
    if wish.budget:
        data["budget"] = dict(wish.budget)
    if wish.tags:
        data["tags"] = [*wish.tags]
    llm = ({"model": wish.model} if wish.model else {}) | ({"record": True} if wish.record else {})
    if llm:
        data["llm"] = llm
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def known_configs(folder: Path) -> list[Path]:
    """Return the config files of a folder, by name."""
    return sorted(p for p in folder.glob("*.y*ml") if p.is_file()) if folder.is_dir() else []


def plan(text: str, runs_dir: Path) -> dict[str, Any]:
    """Return what `trace-bench plan` says of a config.

    Raises:
        UsageError: with its words when the config cannot be planned.
    """
    return _with_file(text, runs_dir, lambda path: ask("plan", str(path), "--runs-dir", str(runs_dir)))


def resolve(text: str, runs_dir: Path) -> dict[str, Any]:
    """Return a config as it is understood, defaults filled in.

    Raises:
        UsageError: naming every field with a problem.
    """
    shown = _with_file(text, runs_dir, lambda path: ask("config", "show", str(path)))
    return dict(shown["config"])


def start(text: str, runs_dir: Path) -> dict[str, Any]:
    """Start a run that outlives the viewer; return `run_id`, `run_dir`, `pid` and `log`.

    Raises:
        UsageError: with the command's words when it does not start.
    """
    return _with_file(
        text, runs_dir, lambda path: ask("run", "--config", str(path), "--runs-dir", str(runs_dir), "--detach")
    )


def _with_file(text: str, runs_dir: Path, use: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Keep the config in a file of the runs folder for as long as a command reads it."""
    if len(text) > LARGEST_CONFIG:
        raise UsageError("The config is larger than 1 MB.")
    path = runs_dir / f".launch-{time.time_ns()}.yaml"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise UsageError(
            f"`{runs_dir}` cannot be written: {err.strerror}.", hint="trace-bench ui --runs-dir DIR"
        ) from err
    try:
        found = use(path)
    except UsageError as err:
        raise UsageError(str(err).replace(str(path), "the config"), hint=err.hint.replace(str(path), "FILE")) from err
    finally:
        path.unlink(missing_ok=True)
    return found
