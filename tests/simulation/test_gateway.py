"""The simulated gateway keeps its laws through every schedule of deaths, and breaks them where a defence is taken back.

A small part of the schedules runs always; `.ci/run` has five hundred (`python -m tests.simulation --part gateway`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.simulation.__main__ import memory
from tests.simulation.gateway import GatewayBench
from tests.whole import cells

from tracebench_gateway.cassette.undelivered import Undelivered
from tracebench_gateway.server import flow
from tracebench_gateway.server.metering.accounts import Account

ALWAYS = 30
MOST = 300
"""Schedules within which a fault of old is found again."""


@pytest.fixture(scope="module")
def bench() -> Iterator[GatewayBench]:
    """Return what the schedules have in common."""
    with memory() as folder:
        yield GatewayBench(folder)


@pytest.mark.timeout(300)
def test_whatever_happens_to_a_gateway_what_is_paid_is_filed_once_and_answered_as_ever(bench: GatewayBench) -> None:
    reports = [bench.try_one(seed) for seed in range(1, ALWAYS + 1)]
    assert {report.seed: report.wrong for report in reports if report.wrong} == {}
    assert len(set().union(*(report.met for report in reports))) > 12


def test_a_schedule_is_what_its_seed_says(bench: GatewayBench) -> None:
    for seed in (3, 4, 5):
        assert bench.try_one(seed).met == bench.try_one(seed).met


def no_keys(patch: pytest.MonkeyPatch) -> None:
    """A call that is asked again is taken for another one."""
    patch.setattr(flow, "read_key", lambda text: "")


def nothing_kept(patch: pytest.MonkeyPatch) -> None:
    """The answers of a real model are not kept until they are delivered."""
    patch.setattr(Undelivered, "add", lambda *given: None)


def no_places(patch: pytest.MonkeyPatch) -> None:
    """The ledger does not tell the place of a call in its section."""
    restore = Account.restore_occurrence

    def restore_elsewhere(*given: Any, place: object, **named: Any) -> None:
        restore(*given, **named)

    patch.setattr(Account, "restore_occurrence", restore_elsewhere)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("take_back", "sign"),
    cells([(no_keys, "used"), (nothing_kept, "used"), (no_places, "answered otherwise")], always=[(no_keys, "used")]),
)
def test_a_defence_that_is_taken_back_is_missed(
    bench: GatewayBench, monkeypatch: pytest.MonkeyPatch, take_back: Callable[[Any], None], sign: str
) -> None:
    take_back(monkeypatch)
    for seed in range(1, MOST):
        if any(sign in words for words in bench.try_one(seed).wrong):
            return
    pytest.fail(f"{MOST} schedules do not miss it")
