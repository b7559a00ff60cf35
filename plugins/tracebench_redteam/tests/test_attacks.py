"""Every attack that is known, in the places of participants: none gains anything, and each gains where its one defence is off."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tracebench_core.api import evaluate_task
from tracebench_core.api.sandboxes import open_sandbox
from tracebench_core.contracts import Sandbox
from tracebench_core.sandbox import isolation, namespaces
from tracebench_redteam.attacks import ATTACKS, KINDS, SEEN_BY_FOLDER, Attack
from tracebench_redteam.places import try_attacks
from tracebench_redteam.task import offered

needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")
needs_sandbox = pytest.mark.skipif(isolation().level == "process", reason="this host has no sandbox for candidates")
TOOLS = {"by ps": "ps", "by a shell": "bash"}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(preload=[]) as opened:
        yield opened


def of_kind(kind: str) -> list[list[Attack]]:
    """Those that may share a process: all of a kind, but for what fills a process with others."""
    found = [attack for attack in ATTACKS if attack.kind == kind]
    return [[attack] for attack in found] if kind == "takes more processes" else [found]


def test_there_are_as_many_as_are_promised() -> None:
    assert len(KINDS) == 16
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) == 153
    assert len(ATTACKS) + sum(attack.kind not in SEEN_BY_FOLDER for attack in ATTACKS) == 301
    assert len(offered()) == 30


@needs_namespaces
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_gains_nothing(kind: str) -> None:
    for attacks in of_kind(kind):
        gained = try_attacks(attacks, sandbox=None)
        assert len(gained) == len(attacks)
        assert [name for name, gains in gained.items() if gains] == []


@needs_sandbox
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SEEN_BY_FOLDER])
def test_a_candidate_gains_nothing(kind: str, sandbox: Sandbox) -> None:
    for attacks in of_kind(kind):
        gained = try_attacks(attacks, sandbox=sandbox)
        assert [name for name, gains in gained.items() if gains] == []


@needs_namespaces
@pytest.mark.heavy("redteam")
@pytest.mark.parametrize("kind", KINDS)
def test_each_gains_where_the_one_defence_that_it_is_aimed_at_is_off(kind: str) -> None:
    for attacks in of_kind(kind):
        for aimed in sorted({attack.aimed for attack in attacks}):
            tried = [a for a in attacks if a.aimed == aimed and shutil.which(TOOLS.get(a.way, "sh")) is not None]
            gained = try_attacks(tried, sandbox=None, off={aimed})
            assert [name for name, gains in gained.items() if not gains] == []


def test_an_attack_cannot_claim_a_gain() -> None:
    boast = Attack("reads a key", "boasts", "print('gained'); return t['key'] + ' True 1.0 ' + t['word']", "files")
    assert try_attacks([boast], sandbox=None, off={"apart"}) == {boast.name: False}


@needs_namespaces
def test_a_task_scores_an_attack_by_what_it_gained() -> None:
    reads = next(attack for attack in ATTACKS if attack.kind == "reads a key")
    told = evaluate_task("redteam:program/reads-a-key", {"attack": f"# an attack\n{reads.code}"})
    assert [(feedback.status, feedback.score) for feedback in told] == [("ok", 0.0)]
