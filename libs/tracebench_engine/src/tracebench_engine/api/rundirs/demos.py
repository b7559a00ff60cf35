"""Recorded runs that are installed, and the page that shows one: what `trace-bench demo` repeats and tells."""

from __future__ import annotations

import json
import zipfile
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from tracebench_core.errors import RunDirError, TraceBenchError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_engine.api.console.locate import is_run
from tracebench_engine.builtin.hosting import open_host

GROUP = "tracebench.demos"
"""Entry points by which distributions offer recorded runs: the name, and a package that holds `<name>.zip` and `<name>.json`."""
LAST = 100


class Demo(NamedTuple):
    """A recorded run."""

    name: str
    archive: Path
    title: str
    model: str
    """Whose answers were recorded, in a sentence."""
    order: int
    """Where it stands among the others; the lowest is shown when none is named."""


def demos() -> list[Demo]:
    """Return the recorded runs that are installed, the one to be shown first at the beginning; what is broken offers none."""
    found = {}
    for point in entry_points(group=GROUP):
        try:
            folder = Path(str(files(point.value)))
            archive = folder / f"{point.name}.zip"
            about = json.loads((folder / f"{point.name}.json").read_text("utf-8"))
            demo = Demo(point.name, archive, str(about["title"]), str(about["model"]), int(about.get("order", LAST)))
        except (ImportError, OSError, ValueError, KeyError, TypeError):
            continue
        if archive.is_file():
            found[point.name] = demo
    return sorted(found.values(), key=lambda demo: (demo.order, demo.name))


def demo_named(name: str | None) -> Demo:
    """Return a recorded run by its name; when none is given the first whose tasks and trainers are here.

    Raises:
        UsageError: when no installed distribution offers it, or any.
    """
    offered = demos()
    chosen = next((demo for demo in offered if (_is_here(demo) if name is None else demo.name == name)), None)
    if chosen is None:
        names = [demo.name for demo in offered]
        told = (
            f"No installed plugin offers the demo `{name}`.{did_you_mean(name, names)}" if name else "There is no demo."
        )
        raise UsageError(told, hint="trace-bench demo --list")
    return chosen


def _is_here(demo: Demo) -> bool:
    """Tell whether the plugins that a demo needs are loaded and have what they need."""
    host = open_host()
    try:
        with zipfile.ZipFile(demo.archive) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/meta/manifest.json"))
            jobs = json.loads(archive.read(name))["jobs"]
        for kind in ("task", "trainer"):
            for part in {job[f"{kind}_id"] for job in jobs}:
                host.task(part) if kind == "task" else host.component("trainer", part)
    except (TraceBenchError, OSError, zipfile.BadZipFile, ValueError, KeyError, StopIteration):
        return False
    return True


def unpacked(demo: Demo, runs_dir: Path) -> Path:
    """Return the run directory of a demo in `runs_dir`, made on first use.

    Raises:
        RunDirError: when what is there is another run, or the archive is damaged.
        OSError: when it cannot be written.
    """
    try:
        with zipfile.ZipFile(demo.archive) as archive:
            names = archive.namelist()
            run_dir = runs_dir / names[0].partition("/")[0]
            if not is_run(run_dir) or not _is_whole(run_dir, archive):
                archive.extractall(runs_dir)
    except (zipfile.BadZipFile, IndexError) as err:
        raise RunDirError(f"`{demo.archive}` is no recorded run: {err}.", hint="trace-bench demo --list") from err
    return run_dir


def _is_whole(run_dir: Path, archive: zipfile.ZipFile) -> bool:
    """Tell whether everything was unpacked, which an interrupt may have cut short."""
    return all((run_dir.parent / name).exists() for name in archive.namelist())
