"""What the threat model says that a participant reaches, against a probe in that participant's place; and what `doctor` prints of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.attack.reach import shown
from tests.warm import trace_bench

from tracebench_engine.api.reaching import PARTICIPANTS, Participant, looking, reach
from tracebench_sandbox import isolation

here = isolation()
pytestmark = pytest.mark.skipif(
    here.level != "strong" or not here.user_namespaces,
    reason=f"this host holds participants otherwise: {here.sentence}",
)
HEAD, _, *ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown().splitlines()]
AS_INSTALLED = {"write the engine's code"}
"""Depends on who owns the installation."""


@pytest.mark.parametrize("who", PARTICIPANTS)
def test_the_threat_model_says_what_a_probe_finds(who: Participant) -> None:
    if who == "viewer-user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    promised = {row[0]: row[HEAD.index(who)] for row in ROWS}
    found = reach(who)
    if not os.access(looking.__file__, os.W_OK):
        promised = {row: answer for row, answer in promised.items() if row not in AS_INSTALLED}
        found = {row: answer for row, answer in found.items() if row not in AS_INSTALLED}
    assert found == promised, "python -m tests.attack.reach"


def test_doctor_prints_it_and_names_whom_it_knows() -> None:
    def doctor(*words: str) -> subprocess.CompletedProcess[str]:
        return trace_bench("doctor", *words, folder=Path.cwd(), environ=os.environ, timeout=60)

    told = json.loads(doctor("--as", "candidate", "--json").stdout)
    assert told["reach"]["read the salts of test instances"] == "-"
    assert told["reach"]["write its own folder"] == "yes"
    for_people = doctor("--as", "candidate")
    assert for_people.stderr.strip().startswith("yes: it can; -: it cannot")
    assert "it can" not in for_people.stdout
    unknown = doctor("--as", "nobody")
    assert unknown.returncode == 2
    assert "trace-bench doctor --as candidate" in unknown.stderr
