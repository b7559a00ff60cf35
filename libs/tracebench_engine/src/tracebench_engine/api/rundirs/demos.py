"""Recorded runs that are installed, and the page that shows one: what `trace-bench demo` repeats and tells."""

from __future__ import annotations

import errno
import hashlib
import json
import zipfile
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tracebench_core.errors import RunDirError, TraceBenchError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Catalog
from tracebench_engine.builtin.hosting import open_host
from tracebench_runs.storage.drafts import draft_beside
from tracebench_runs.storage.layout import RECORDINGS as RECORDINGS

GROUP = "tracebench.demos"
"""Entry points by which distributions offer recorded runs: the name, and a package that holds `<name>.zip` and `<name>.json`."""
LAST = 100


_THERE = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
"""What a rename of a folder answers where something is."""


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
    chosen = next((demo for demo in offered if (is_here(demo) if name is None else demo.name == name)), None)
    if chosen is None:
        names = [demo.name for demo in offered]
        told = (
            f"No installed plugin offers the demo `{name}`.{did_you_mean(name, names)}"
            if name is not None
            else "There is no demo."
        )
        raise UsageError(told, hint="trace-bench demo --list")
    return chosen


def is_here(demo: Demo) -> bool:
    """Tell whether the tasks and trainers of a demo are offered and can run on this machine."""
    host = open_host()
    try:
        with zipfile.ZipFile(demo.archive) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/meta/manifest.json"))
            jobs = json.loads(archive.read(name))["jobs"]
        for kind in ("task", "trainer"):
            for part in {job[f"{kind}_id"] for job in jobs}:
                spec = host.task(part) if kind == "task" else host.component("trainer", part)
                if Catalog.availability(spec):
                    return False
    except (TraceBenchError, OSError, zipfile.BadZipFile, ValueError, KeyError, StopIteration):
        return False
    return True


def unpacked(demo: Demo, runs_dir: Path) -> Path:
    """Return the run directory of a demo in the folder of recordings of `runs_dir`, made on first use.

    Raises:
        RunDirError: when the archive is damaged.
        OSError: when it cannot be written.
    """
    try:
        folder = runs_dir / RECORDINGS / hashlib.sha256(demo.archive.read_bytes()).hexdigest()[:12]
        with zipfile.ZipFile(demo.archive) as archive:
            if not _is_whole(folder, archive):
                _unpack(archive, folder)
            return folder / archive.namelist()[0].partition("/")[0]
    except (zipfile.BadZipFile, IndexError) as err:
        raise RunDirError(f"`{demo.archive}` is no recorded run: {err}.", hint="trace-bench demo --list") from err


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    """Put all of an archive in the place of a folder that there is not, or not whole; another command may do so at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with draft_beside(folder) as draft:
        archive.extractall(draft)
        for number in count():
            try:
                draft.rename(folder)
            except OSError as err:
                if err.errno not in _THERE:
                    raise
                if _is_whole(folder, archive):
                    return
                with suppress(FileNotFoundError):
                    folder.rename(draft.with_name(f"damaged-{number}"))
            else:
                return


def _is_whole(folder: Path, archive: zipfile.ZipFile) -> bool:
    """Tell whether everything was unpacked to its end, which an interrupt may have cut short."""
    files = [(folder / each.filename, each.file_size) for each in archive.infolist() if not each.is_dir()]
    return all(path.is_file() and path.stat().st_size == size for path, size in files)
