from __future__ import annotations

import os
import subprocess
import sys

from tests.attack.outcomes import OUTCOMES, PAGE, ROOT, page


def test_the_page_is_as_written() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.attack.outcomes"


def test_every_test_that_the_page_names_is_there() -> None:
    files = sorted({outcome.test.partition("::")[0] for outcome in OUTCOMES})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    environ = os.environ | {"TRACEBENCH_HEAVY": "all"}
    said = subprocess.run(
        collect, cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    there = {*said, *(line.partition("[")[0] for line in said)}
    assert [outcome.test for outcome in OUTCOMES if outcome.test not in there] == []
