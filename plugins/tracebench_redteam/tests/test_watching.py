"""What is seen from outside of what a participant leaves behind: real processes under a name of their own."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from tests.whole import one_in

from tracebench_redteam.watching import Watch

_BURN = """
import ctypes, time  # 15: PR_SET_NAME, prctl(2)
ctypes.CDLL(None).prctl(15, {mark!r}.encode(), 0, 0, 0)
print(flush=True)
while time.process_time() < {seconds}: pass
"""


def start(mark: str, seconds: float) -> subprocess.Popen[bytes]:
    """A process of this name that uses so much processor time, and ends; it has its name when this returns."""
    program = _BURN.format(mark=mark, seconds=seconds)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


@pytest.mark.parametrize("seconds", one_in(2, [60.0, 0.9]), ids=["goes on", "has done with its work soon"])
def test_what_got_away_counts_whether_it_is_gone_soon_or_not(seconds: float) -> None:
    with Watch(["redaway"]) as watch, start("redaway", seconds) as process:
        watch.participant_ended()
        # However little it gets of a busy machine: of what was killed nothing counts.
        assert watch.late_seconds("redaway") > 0.0
        process.kill()


def test_what_was_killed_counts_for_nothing_and_what_it_used_before_is_told() -> None:
    with Watch(["redkilled"]) as watch, start("redkilled", 60.0) as process:
        time.sleep(0.4)
        process.kill()
        watch.participant_ended()
        process.wait()
        assert watch.late_seconds("redkilled") == 0.0
        assert watch.seconds("redkilled") > 0.0
