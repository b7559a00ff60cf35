"""A sandbox and a compiler for the tests; without the latter they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tracebench_kernelbench.options import Effort
from tracebench_sandbox import LocalSandbox, open_sandbox

QUICK = Effort(trials=2, warm=3, least=8, most=8, budget_ms=0, call_seconds=1.0)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[LocalSandbox]:
    for program in ("gcc", "g++"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no `{program}` here: sudo apt-get install gcc g++")
    with open_sandbox() as opened:
        yield opened


@pytest.fixture
def quick() -> Effort:
    return QUICK
