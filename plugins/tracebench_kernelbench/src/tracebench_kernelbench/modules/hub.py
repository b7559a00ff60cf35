"""Writes KernelBench's rows from the hub to a folder, in the shape that `source` reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tracebench_core.errors import MissingRequirementError, ProgramError
from tracebench_kernelbench.modules.source import DATASET, LEVELS


def fetch_rows(folder: Path, revision: str | None) -> dict[int, int]:
    """Write `level_<n>.jsonl` per level, and return how many problems each has.

    Raises:
        MissingRequirementError: without the package `datasets`.
        ProgramError: when the hub does not answer.
    """
    try:
        from datasets import load_dataset  # noqa: PLC0415 - an extra
    except ImportError as err:
        raise MissingRequirementError(
            "the package `datasets` is not installed", hint='pip install "tracebench-kernelbench[hub]"'
        ) from err
    counts = {}
    for level in LEVELS:
        try:
            loaded = load_dataset(DATASET, split=f"level_{level}", revision=revision)
        except Exception as err:
            raise ProgramError(
                f"`{DATASET}` cannot be loaded: {err}", hint="check the network, then run the command again"
            ) from err
        folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(json.dumps(dict(row)) + "\n" for row in loaded)
        place = folder / f"level_{level}.jsonl"
        part = place.with_name(f".{place.name}.{os.getpid()}")
        part.write_text(rows, encoding="utf-8")
        part.replace(place)  # whole or not at all: fewer rows would be fewer problems
        counts[level] = len(loaded)
    return counts
