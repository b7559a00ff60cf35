"""`python -m tracebench_veribench`: `fetch FOLDER` writes VeriBench's rows from the hub to a folder, `recheck` checks Coq's library."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tracebench_core.errors import typed
from tracebench_veribench.coq.library import recheck
from tracebench_veribench.discovery.rows import DATASET


def main() -> int:
    """Fetch the rows; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tracebench_veribench")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("recheck", help="check Coq's library with its second kernel, as far as the problems load it")
    fetch = commands.add_parser("fetch", help="write the rows of the data set to FOLDER/veribench.jsonl")
    fetch.add_argument("folder", type=Path)
    fetch.add_argument("--revision", default=None, help="a revision of the data set; its newest when not given")
    arguments = parser.parse_args()
    if arguments.command == "recheck":
        return recheck()
    return _fetch(arguments.folder, arguments.revision)


def _fetch(folder: Path, revision: str | None) -> int:
    try:
        from datasets import load_dataset  # noqa: PLC0415 - an extra
    except ImportError:
        sys.stderr.write(typed('`datasets` is not installed\nhint: pip install "tracebench-veribench[hub]"\n'))
        return 3
    try:
        loaded = load_dataset(DATASET, split="train", revision=revision)
    except Exception as err:  # noqa: BLE001 - the hub's client raises what its transport raises
        sys.stderr.write(f"`{DATASET}` cannot be loaded: {err}\nhint: check the network, then run the command again\n")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "veribench.jsonl"
    part = place.with_name(f".{place.name}.{os.getpid()}")
    part.write_text("".join(json.dumps(dict(row)) + "\n" for row in loaded), encoding="utf-8")
    part.replace(place)  # whole or not at all: fewer rows would be fewer problems
    sys.stdout.write(f"{len(loaded)} rows in {place}\nexport VERIBENCH_ROOT={folder.resolve()}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
