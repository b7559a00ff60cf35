"""Print the table of faults: each befalls a run of real processes, and what is told of it, what is left, and how the run goes on is seen.

    python -m plugins.tracebench_terminalbench.tests.faults
    python -m plugins.tracebench_terminalbench.tests.faults --write docs/reference/terminal_bench.md

It ends with 1 where something came out in another way than its row says.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from plugins.tracebench_terminalbench.tests.faults.measuring import Row, measure, table, together
from plugins.tracebench_terminalbench.tests.faults.rows import FAULTS

PLACE = re.compile(r"(<!-- faults -->\n)(.*?)(<!-- /faults -->)", re.DOTALL)


def main() -> None:
    """Measure some rows, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORDS", help="rows in which these words occur")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the rows into the table of a page")
    args = parser.parse_args()
    rows: list[Row] = []
    for faults in together([fault for fault in FAULTS if args.only in f"{fault.group} {fault.what}"]):
        for row in measure(faults):
            print(row.line(), *row.wrong, sep="\n  wrong: ", file=sys.stderr, flush=True)
            rows.append(row)
    print(table(rows))
    if args.write:
        text = args.write.read_text(encoding="utf-8")
        made = PLACE.sub(lambda found: f"{found[1]}{table(rows, before=found[2])}{found[3]}", text)
        args.write.write_text(made, encoding="utf-8")
    sys.exit(any(row.wrong for row in rows))


if __name__ == "__main__":
    main()
