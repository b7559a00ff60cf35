"""Fills a folder in the layout of CO-Bench: with small generated cases, or with `--download` from the data set's hub."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_llm4ad.cobench.catalog import SPECS
from tracebench_llm4ad.cobench.download import SECONDS, download
from tracebench_llm4ad.cobench.problem import GENERATOR_SEED, Problem


def write_folder(folder: Path, *, seed: int = GENERATOR_SEED) -> list[Path]:
    """Write the generated files of every task, and return them."""
    written = []
    for spec in SPECS:
        module, _, function = spec.loader.partition(":")
        problem: type[Problem] = getattr(import_module(module), function).__self__
        place = folder / problem.folder
        place.mkdir(parents=True, exist_ok=True)
        for name, text in problem.generated(seed).items():
            path = place / name
            part = place / f".{name}.{os.getpid()}"  # an ending that no data have
            part.write_text(text, encoding="utf-8")
            part.replace(path)  # whole or not at all: a part may be read as fewer cases
            written.append(path)
    return written


def main() -> None:
    """Read the command line and write or download; an expected failure is one sentence with a hint."""
    parser = argparse.ArgumentParser(prog="python -m tracebench_llm4ad.cobench", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=GENERATOR_SEED)
    parser.add_argument("--download", action="store_true", help="fetch the data set in place of generating cases")
    parser.add_argument("--deadline", type=float, default=SECONDS, metavar="SECONDS", help="of the download")
    order = parser.parse_args()
    try:
        count = (
            download(order.folder, seconds=order.deadline)
            if order.download
            else len(write_folder(order.folder, seed=order.seed))
        )
    except TraceBenchError as err:
        print(f"{err}\nhint: {err.hint}", file=sys.stderr)  # noqa: T201 - the command's answer
        raise SystemExit(err.exit_code) from err
    print(f"{count} files in {order.folder}")  # noqa: T201 - the command's answer


if __name__ == "__main__":
    main()
