"""Write the tables of calibrations into the pages of the suites: what `trace-bench calibrate SUITE --kept --table` tells here.

A page says where a table stands by `<!-- calibrations: SUITE -->` and `<!-- /calibrations -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tracebench_engine.api import open_host
from tracebench_engine.api.calibrating import kinds_table, recall

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"(<!-- calibrations: (\S+) -->\n)(.*?)(<!-- /calibrations -->)", re.DOTALL)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages in which a table may stand."""
    return sorted([*root.glob("docs/reference/*.md"), *root.glob("plugins/*/README.md")])


def tables(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield each suite whose table stands in a page, and the table."""
    for file in files:
        for _, suite, table, _ in PLACE.findall(file.read_text(encoding="utf-8")):
            yield suite, table


def write(suites: Sequence[str], files: Iterable[Path]) -> None:
    """Put the tables of some suites, or of all, into their places."""
    host = open_host()

    def new(found: re.Match[str]) -> str:
        begin, suite, table, end = found.groups()
        if suites and suite not in suites:
            return found.group()
        return f"{begin}{kinds_table(list(recall(host, [suite]))) if suite in host.records else table}{end}"

    for file in files:
        text = file.read_text(encoding="utf-8")
        if (changed := PLACE.sub(new, text)) != text:
            file.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:], pages())
