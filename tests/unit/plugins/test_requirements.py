"""What a task needs from the machine, and what makes a need moot."""

from __future__ import annotations

import pytest

from tracebench_core.plugins import unmet_requirement
from tracebench_core.specs import Requirement


def test_a_setting_or_a_variable_makes_a_need_moot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEBENCH_TEST_SERVER", raising=False)
    needed = Requirement(
        kind="command", name="no-such-command", hint="-", unless="server other $TRACEBENCH_TEST_SERVER"
    )

    assert unmet_requirement([needed]) == needed
    assert unmet_requirement([needed], {"server": None, "no": "matter"}) == needed
    assert unmet_requirement([needed], {"other": "http://127.0.0.1:1"}) is None
    monkeypatch.setenv("TRACEBENCH_TEST_SERVER", "")
    assert unmet_requirement([needed]) == needed
    monkeypatch.setenv("TRACEBENCH_TEST_SERVER", "http://127.0.0.1:1")
    assert unmet_requirement([needed]) is None
