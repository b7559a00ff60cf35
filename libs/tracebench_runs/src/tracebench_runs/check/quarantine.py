"""`lost+found/`: where a repair puts what was damaged, as it is, before anything takes its place."""

from __future__ import annotations

import os
from pathlib import Path

from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout


def quarantine(layout: RunLayout, path: Path) -> None:
    """Move a damaged file to `lost+found/<its path>.<n>`; one that is gone is fine."""
    if not os.path.lexists(path):
        return
    target = layout.lost_and_found / path.relative_to(layout.path)
    files.make_dir(target.parent)
    number = 1 + sum(1 for _ in target.parent.glob(f"{target.name}.*"))
    files.move(path, target.with_name(f"{target.name}.{number}"))
    files.sync_folder(target.parent)
