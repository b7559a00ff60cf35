"""Writes small generated cases for every task in the layout of CO-Bench: `python -m tracebench_llm4ad.cobench FOLDER`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import numpy as np

from tracebench_core.ids import derive_seed
from tracebench_llm4ad.cobench.catalog import SPECS
from tracebench_llm4ad.cobench.problem import Problem

FILES = 6
"""For each task, numbered after the name that the format expects: `generated-0.txt`, `gap1-0.txt`."""


def write_folder(folder: Path, *, seed: int = 2024) -> list[Path]:
    """Write `FILES` files for every task, and return them."""
    written = []
    for spec in SPECS:
        module, _, function = spec.loader.partition(":")
        problem: type[Problem] = getattr(import_module(module), function).__self__
        place = folder / problem.folder
        place.mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            name = Path(problem.sample)
            path = place / f"{name.stem}-{number}{name.suffix}"
            path.write_text(
                problem.write(np.random.default_rng(derive_seed(seed, problem.name, number))), encoding="utf-8"
            )
            written.append(path)
    return written


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(prog="python -m tracebench_llm4ad.cobench", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=2024)
    order = parser.parse_args()
    files = write_folder(order.folder, seed=order.seed)
    print(f"{len(files)} files in {order.folder}")  # noqa: T201 - the command's answer


if __name__ == "__main__":
    main()
