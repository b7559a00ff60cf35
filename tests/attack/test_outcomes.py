from __future__ import annotations

import re
from pathlib import Path

from tests.attack.outcomes import OUTCOMES, PAGE, ROOT, page


def test_the_page_is_as_written() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.attack.outcomes"


def test_every_test_that_the_page_names_is_there() -> None:
    candidates = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests/attack").glob("*s.py"))
    for outcome in OUTCOMES:
        file, name, case = re.fullmatch(r"([^:]+)::(\w+)(?:\[(.+)\])?", outcome.test).groups()  # type: ignore[union-attr]
        assert f"def {name}(" in Path(ROOT, file).read_text(encoding="utf-8"), outcome.test
        if case is not None:
            assert f'"{case.replace("-", " ")}"' in candidates + Path(ROOT, file).read_text(encoding="utf-8"), (
                outcome.test
            )
