"""The table of the threat model, as probes in the place of each participant find it here: `python -m tests.attack.reach`."""

from __future__ import annotations

import re
from pathlib import Path

from tracebench_engine.api.reaching import PARTICIPANTS, reach, table

PAGE = Path(__file__).parents[2] / "docs/explanation/threat-model.md"
MARKED = re.compile(r"(?<=<!-- reach -->\n).*?(?=<!-- /reach -->)", re.DOTALL)


def shown() -> str:
    """Return the table as the page has it."""
    found = MARKED.search(PAGE.read_text(encoding="utf-8"))
    assert found, PAGE
    return found[0].strip()


if __name__ == "__main__":
    made = table({who: reach(who) for who in PARTICIPANTS})
    PAGE.write_text(MARKED.sub(made + "\n", PAGE.read_text(encoding="utf-8")), encoding="utf-8")
