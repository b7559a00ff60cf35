"""Mutants of the code, each tried on tests: `just mutants`. The mutations are cosmic-ray's.

Without options, those of eight modules, at most a hundred of each, drawn with a fixed seed. `--only ranking` tries one module.

`--draw 400 --seed 1` draws so many over all lines of all modules, and tries each on tests that reach its line: unit tests, then tests of
whole processes. The first time for a draw, and where tests have changed, it records what they reach (`--no-record` takes what was recorded;
`--tests tests/unit tests/cli` records these folders alone; with `--seed 1 2` two draws are recorded in one go).

`--changed` tries mutants of the lines that the working tree has otherwise than where it left `main` (or `--changed v0.1.0`), whatever
module they are in, on the unit tests that name the module; it ends with 1 where one survives or nothing tests the module.

Verdicts are kept in files, so that a run that was ended goes on where it stopped; `--seconds 500` starts no mutant after so long.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.mutants.chance import UNITS, WHOLE, try_drawn
from tests.mutants.named import MODULES, try_named


def main() -> None:
    """Try the mutants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=MODULES, action="append")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir(), "trace-bench-mutants.jsonl"))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--changed", nargs="?", const="main", metavar="REF")
    parser.add_argument("--draw", type=int, metavar="MUTANTS")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "trace-bench-mutants"))
    parser.add_argument("--tests", nargs="+", default=UNITS + WHOLE, metavar="FOLDER")
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    if given.draw:
        record, files = not given.no_record, given.tests
        try_drawn(given.draw, seeds=given.seed, folder=given.folder, until=until, record=record, files=files)
    else:
        try_named(given.only, results=given.results, until=until, ref=given.changed)


if __name__ == "__main__":
    main()
