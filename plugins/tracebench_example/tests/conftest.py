"""Which checks of the kit go through minutes of sessions and kills; the test command leaves them to a group."""

from __future__ import annotations

import pytest
from tests.whole import HEAVY

DEAR = ("TestSuite::test_tb306", "TestSuite::test_tb314")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them here, since the pages of the docs quote the test file as a plugin would have it."""
    for item in items:
        if item.nodeid.endswith(DEAR):
            item.add_marker(HEAVY)
