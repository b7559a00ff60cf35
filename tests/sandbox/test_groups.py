"""Limits by control groups: on a machine with cgroup v2, as root and as a plain user, whatever this host has."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest
from tests.sandbox.machine import KERNEL, run_there

pytestmark = [
    pytest.mark.heavy("machine"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(KERNEL is None, reason="needs a machine of its own: apt-get install user-mode-linux"),
    pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK), reason="needs a Python that every user may start"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the machine is root on this host's files"),
]
PASSES_NO_LIMIT = {"less": 0, "crowd": 0}
"""It ends as it wants to; 200 processes are stopped short of the limit."""
IS_KILLED = ("alone", "shared", "unmapped", "moved out")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.sandbox.groups"]
    code, printed = run_there(command, folder=tmp_path_factory.mktemp("machine"), path=os.environ["PATH"])
    assert code == 0, printed
    return dict(json.loads(printed.splitlines()[-1]))


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_group_holds_all_memory_and_processes_of_a_program_and_goes_with_it(told: dict[str, Any], who: str) -> None:
    found = told[who]
    assert {name: found[name] for name in PASSES_NO_LIMIT} == PASSES_NO_LIMIT
    assert {name: found[name] for name in IS_KILLED} == dict.fromkeys(IS_KILLED, -9)
    assert found["together"] != 0
    assert found["left"] == []
    assert (found["left by one that was killed"], found["after two more"]) == (1, [0, 0, []])


def test_without_a_group_shared_memory_and_children_pass_the_limit(told: dict[str, Any]) -> None:
    assert told["without"] == {"shared": 0, "unmapped": 0, "together": 0}
