"""A run of the command in a folder of its own, and whoever is left of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def run_command(folder: Path, config: str) -> list[str]:
    """Return the command that runs a config, with everything in a folder."""
    path = folder / "run.yaml"
    path.write_text(config)
    words = ["run", "--config", str(path), "--runs-dir", str(folder / "runs")]
    return [sys.executable, "-m", "tracebench_engine.cli", *words]


def left(folder: Path) -> list[tuple[int, str]]:
    """Return the processes that name a folder or run in it, with their words, and as number 0 the mounts below it."""
    found = [(0, line) for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = str((process / "cwd").readlink())
        except OSError:
            continue
        if words and (str(folder) in words or str(folder) in place) and int(process.name) != os.getpid():
            found.append((int(process.name), words))
    return found
