"""How long an import may take: the variable's seconds, the default where it is no number, and no limit where it is none."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from tracebench_core.plugins.import_timeout import SECONDS, import_timeout


@pytest.fixture(autouse=True)
def no_timer() -> Iterator[None]:
    """Take the timer away that cuts off a test, and set it again."""
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, left, interval)


def limit() -> float:
    """Return the seconds that are left in a body under the limit; 0 where there is none."""
    with import_timeout():
        return signal.getitimer(signal.ITIMER_REAL)[0]


@pytest.mark.parametrize(
    ("told", "at_most"),
    [
        ("200", 200.0),
        ("soon", SECONDS),
        ("", SECONDS),
        ("0", 0.0),
        ("-1", 0.0),
        ("inf", 0.0),
        ("nan", 0.0),
        ("1e300", 0.0),
    ],
)
def test_an_import_is_cut_off_after_a_number_of_seconds_that_is_one(
    monkeypatch: pytest.MonkeyPatch, told: str, at_most: float
) -> None:
    monkeypatch.setenv("TRACEBENCH_IMPORT_SECONDS", told)
    assert 0 <= limit() <= at_most
    assert (limit() > 0) == (at_most > 0)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_nothing_is_cut_off() -> None:
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(limit()))
    thread.start()
    thread.join()
    assert found == [0.0]


def test_a_timer_that_was_set_goes_on() -> None:
    earlier = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 5000, 7)
    assert limit() <= SECONDS
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert SECONDS < left <= 5000
    assert interval == 7
    assert signal.getsignal(signal.SIGALRM) is earlier
