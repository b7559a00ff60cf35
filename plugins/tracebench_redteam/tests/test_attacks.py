"""Every attack that is known, in the places of participants: none gains anything, and each gains where its one defence is off."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.contracts import Sandbox
from tracebench_engine.api import evaluate_task
from tracebench_engine.api.sandboxes import open_sandbox
from tracebench_redteam.attacks import ALONE, ATTACKS, BURNS, FORGES, KINDS, SEEN_BY_FOLDER, TAKES, Attack, offered
from tracebench_redteam.places import ALL_OFF, try_attacks
from tracebench_sandbox.host import level
from tracebench_sandbox.kernel import namespaces, seccomp

needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")
needs_sandbox = pytest.mark.skipif(level() == "process", reason="this host has no sandbox for candidates")
CONTROL = Path(__file__).with_name("control.py")
HIDE = Path(__file__).parents[3] / "tests/sandbox/hide.py"
TOOLS = {"by ps": "ps", "by a shell": "bash"}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(preload=[]) as opened:
        yield opened


def of_kind(kind: str) -> list[list[Attack]]:
    """Those that may share a process: all of a kind, but for what fills a process with others."""
    found = [attack for attack in ATTACKS if attack.kind == kind]
    return [[attack] for attack in found] if kind in ALONE else [found]


def places(kinds: Sequence[str], always: int) -> list[Any]:
    """The kinds for one of three places, the first to the third: by turns, each in one place, always; in the others in the heavy group.

    What burns processor time costs a second of it for each way: two ways stand for it.
    """
    heavy = pytest.mark.heavy("redteam")
    return [
        pytest.param(kind, marks=() if turn % 3 == always and kind != BURNS else heavy)
        for turn, kind in enumerate(kinds)
    ]


INSIDE = [kind for kind in KINDS if kind not in SEEN_BY_FOLDER]
"""What the places inside of a job are asked for."""


def test_there_are_as_many_as_are_promised() -> None:
    assert len(KINDS) == 20
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) == 196
    assert len(ATTACKS) + 2 * sum(attack.kind not in SEEN_BY_FOLDER for attack in ATTACKS) == 564
    assert len(offered()) == 54


@needs_namespaces
@pytest.mark.parametrize("kind", [*places(INSIDE, 0), *SEEN_BY_FOLDER])
def test_a_program_gains_nothing(kind: str) -> None:
    for attacks in of_kind(kind):
        gained = try_attacks(attacks, sandbox=None)
        assert len(gained) == len(attacks)
        assert [name for name, gains in gained.items() if gains] == []


@needs_sandbox
@pytest.mark.parametrize("kind", places(INSIDE, 1))
def test_a_candidate_gains_nothing(kind: str, sandbox: Sandbox) -> None:
    for attacks in of_kind(kind):
        gained = try_attacks(attacks, sandbox=sandbox)
        assert [name for name, gains in gained.items() if gains] == []


@needs_sandbox
@pytest.mark.parametrize("way", ["raises its limit by a raw call", "a child deaf to signals"])
def test_a_candidate_gets_no_more_processor_time_than_is_paid_for(way: str, sandbox: Sandbox) -> None:
    (burns,) = (attack for attack in ATTACKS if (attack.kind, attack.way) == (BURNS, way))
    assert try_attacks([burns], sandbox=sandbox) == {burns.name: False}


@needs_sandbox
@pytest.mark.parametrize("kind", places(INSIDE, 2))
def test_a_command_gains_nothing(kind: str, sandbox: Sandbox) -> None:
    """Its source is a program's, which gains where its defence is off."""
    for attacks in of_kind(kind):
        gained = try_attacks(attacks, sandbox=sandbox, is_command=True)
        assert len(gained) == len(attacks)
        assert [name for name, gains in gained.items() if gains] == []


@pytest.mark.skipif(not HIDE.is_file(), reason="only the repository can take mechanisms of the kernel away")
@pytest.mark.skipif(not seccomp.available(), reason="this host has no seccomp to hide the others with")
def test_a_command_gains_where_nothing_holds_it() -> None:
    kinds = "reads a key,writes a rival's result,reaches an agent's socket,calls a server"
    hide = [sys.executable, str(HIDE), "landlock,seccomp,namespaces"]
    done = subprocess.run(
        [*hide, sys.executable, str(CONTROL), "--command", kinds],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    gained = json.loads(done.stdout)
    assert len(gained) == sum(attack.kind in kinds.split(",") for attack in ATTACKS)
    kept = {name for name, gains in gained.items() if not gains and "parent" not in name}
    assert kept == {f"calls a server: {way}" for way in ("by a shell",) if shutil.which("bash") is None}


@needs_namespaces
@pytest.mark.timeout(600)
@pytest.mark.heavy("redteam")
@pytest.mark.parametrize("kind", KINDS)
def test_each_gains_where_the_one_defence_that_it_is_aimed_at_is_off(kind: str) -> None:
    for attacks in of_kind(kind):
        for aimed in sorted({attack.aimed for attack in attacks}):
            tried = [a for a in attacks if a.aimed == aimed and shutil.which(TOOLS.get(a.way, "sh")) is not None]
            gained = try_attacks(tried, sandbox=None, off={aimed})
            assert [name for name, gains in gained.items() if not gains] == []


@needs_sandbox
@pytest.mark.timeout(600)
@pytest.mark.heavy("redteam")
@pytest.mark.skipif(not HIDE.is_file(), reason="only the repository can take mechanisms of the kernel away")
@pytest.mark.parametrize("locks", sorted({"-".join(sorted(a.locks)) for a in ATTACKS if a.kind not in SEEN_BY_FOLDER}))
def test_a_candidate_gains_where_what_it_is_aimed_at_is_off(locks: str) -> None:
    off = locks.split("-")
    hidden = [name for name in off if name in {"landlock", "seccomp"}]
    hide = [sys.executable, str(HIDE), ",".join([*hidden, "namespaces"])] if hidden else []
    done = subprocess.run(
        [*hide, sys.executable, str(CONTROL), ",".join(off)], capture_output=True, text=True, check=False, timeout=590
    )
    assert done.returncode == 0, done.stderr
    gained = json.loads(done.stdout)
    assert gained
    missing = {a.name for a in ATTACKS if shutil.which(TOOLS.get(a.way, "sh")) is None}
    assert [name for name, gains in gained.items() if not gains and name not in missing] == []


@needs_sandbox
def test_a_command_takes_more_where_its_limits_are_off(sandbox: Sandbox) -> None:
    takes = [attack for attack in ATTACKS if attack.kind == TAKES and "limits" in attack.locks][:1]

    assert [*try_attacks(takes, sandbox=sandbox, off={"limits"}, is_command=True).values()] == [True]


def test_an_attack_cannot_claim_a_gain() -> None:
    boast = Attack("reads a key", "boasts", "print('gained'); return t['key'] + ' True 1.0 ' + t['word']", "files")
    assert try_attacks([boast], sandbox=None, off={"apart"}) == {boast.name: False}
    for kind in (BURNS, TAKES, FORGES):
        boast = Attack(
            kind, "boasts", "return {'score': 1.0, 'mark': t['mark'], 'seconds': 99, 'truth': 1.0}", "limits"
        )
        assert try_attacks([boast], sandbox=None, off=ALL_OFF) == {boast.name: False}


@needs_namespaces
def test_a_task_scores_an_attack_by_what_it_gained() -> None:
    reads = next(attack for attack in ATTACKS if attack.kind == "reads a key")
    told = evaluate_task("redteam:program/reads-a-key", {"attack": f"# an attack\n{reads.code}"})
    assert [(feedback.status, feedback.score) for feedback in told] == [("ok", 0.0)]
