"""Print which of CO-Bench's 36 loaders, as LLM4AD ships them, read every file that this suite generates, and whether they read the same.

    python benchmarks/llm4ad_formats.py path/to/LLM4AD [--only shop]

The path is an LLM4AD checkout or a Trace-Bench `benchmark_tasks` tree. The files are written anew, as `python -m tracebench_llm4ad.cobench`
does. Each task is loaded in a process of its own. Exits 1 unless every loader returns cases from every file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tracebench_engine import api
from tracebench_llm4ad.adapters.runtime.loading import load
from tracebench_llm4ad.adapters.tree import Found, find_tasks
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.__main__ import write_folder


@dataclass
class Reading:
    """What one loader made of its files."""

    files: int = 0
    read: int = 0
    """Files from which their loader returns at least one case."""
    ours: int = 0
    theirs: int = 0
    same: int = 0
    """Cases all of whose values that bear one of our arguments' names are equal."""
    failed: str = ""


def order_for(found: Found, data: Path) -> dict[str, Any]:
    """Return what the runtime needs to load a task of the tree."""
    return {
        "layout": found.layout,
        "root": str(found.root),
        "folder": str(found.folder),
        "module": found.module,
        "class": found.evaluator,
        "kwargs": {},
        "data": str(data),
    }


def read_with_both(job: tuple[str, dict[str, Any]]) -> Reading:
    """Load a task, and give every generated file to its loader and to ours; runs in a process of its own."""
    name, order = job
    ours = api.load_ref(BY_NAME[name].loader, owner=name).__self__
    reading = Reading()
    order["graphs"] = ours.generated(2024)  # taken up by the one task whose data are graphs
    try:
        owner = load(order)._owner  # noqa: SLF001 - the tree's evaluator itself
    except Exception as err:  # noqa: BLE001 - whatever a foreign module raises is the finding
        return Reading(files=len(ours.generated(2024)), failed=f"{type(err).__name__}: {err}")
    for file, text in sorted(ours.generated(2024).items()):
        wanted = list(ours.parse(text, name=file))
        reading.files += 1
        reading.ours += len(wanted)
        try:
            got = owner.load_data(text)
        except Exception as err:  # noqa: BLE001 - whatever a foreign loader raises is the finding
            reading.failed = reading.failed or f"`{file}`: {type(err).__name__}: {err}"
            continue
        cases = [case for case in (got if isinstance(got, list) else [got]) if isinstance(case, dict)]
        reading.read += bool(cases)
        reading.theirs += len(cases)
        reading.same += sum(same(case, mine.arguments) for case, mine in zip(cases, wanted, strict=False))
    return reading


def same(theirs: dict[str, Any], mine: Any) -> bool:
    """Say whether every value of a name that both have is equal."""
    shared = [name for name in mine if name in theirs]
    return bool(shared) and all(plain(theirs[name]) == plain(mine[name]) for name in shared)


def plain(value: Any) -> Any:
    """Return lists, tuples and arrays as tuples of rounded numbers, dictionaries with such values."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(plain, value)))
    return round(float(value), 6) if isinstance(value, int | float | np.number) else value


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    wanted = parser.parse_args()
    tasks = {found.key: found for found in find_tasks(wanted.root) if found.key.endswith("_co_bench")}
    print("| task | files | read | our cases | its cases | equal | failed |\n|---|---|---|---|---|---|---|")
    whole = bool(tasks)
    with tempfile.TemporaryDirectory() as folder, get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        write_folder(Path(folder))
        chosen = [task for task in sorted(tasks) if wanted.only in task]
        orders = [(name, order_for(tasks[name], Path(folder))) for name in chosen]
        for name, reading in zip(chosen, pool.imap(read_with_both, orders), strict=True):
            whole &= reading.read == reading.files
            counts = [reading.files, reading.read, reading.ours, reading.theirs, reading.same, reading.failed or "-"]
            print(f"| `{name}` | {' | '.join(map(str, counts))} |", flush=True)
    sys.exit(0 if whole else 1)


if __name__ == "__main__":
    main()
