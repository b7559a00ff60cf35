"""What a logger hands over is delivered in order, and nothing that a tracker does reaches the job."""

from __future__ import annotations

import logging
import math
import threading

import pytest

from tracebench_trackers.courier import Courier


def test_items_come_in_their_order() -> None:
    got: list[int | None] = []
    courier = Courier("it", got.append)
    for item in (*range(100), None, 100):
        courier.send(item)
    courier.close(60)
    assert got == [*range(100), None, 100]


@pytest.mark.parametrize("patience", [math.inf, 1e300, 1e10])
def test_patience_may_be_longer_than_a_system_waits(patience: float) -> None:
    got: list[int] = []
    courier = Courier("it", got.append)
    courier.send(1)
    courier.close(patience)
    assert got == [1]


def test_a_failure_is_told_once_and_ends_the_delivery(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[int] = []

    def fail(item: int) -> None:
        tried.append(item)
        raise ConnectionError("refused")

    courier = Courier("it", fail)
    with caplog.at_level(logging.WARNING):
        for i in range(100):
            courier.send(i)
        courier.close(60)
    assert tried == [0]
    assert [record.getMessage() for record in caplog.records] == ["it is off: ConnectionError: refused"]


def test_a_tracker_that_hangs_holds_nobody_up_and_what_is_left_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    lock = threading.Event()
    courier: Courier[int] = Courier("it", lambda _: lock.wait() and None, most_waiting=10)
    with caplog.at_level(logging.WARNING):
        for i in range(1000):
            courier.send(i)
        courier.close(0.05)
    lock.set()
    [record] = caplog.records
    assert "items were not delivered" in record.getMessage()
