"""`just kept`: write what is kept anew, all of it or some: `declared`, `tasks` and so on, as `KINDS` names them."""

from __future__ import annotations

import sys

from tests.kept import KINDS, now
from tests.kept.store import HERE, write

if __name__ == "__main__":
    for NAME in sys.argv[1:] or KINDS:
        write(NAME, now(NAME))
        print(HERE / f"{NAME}.txt")
