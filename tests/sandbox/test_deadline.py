"""A session's deadline, written by one process while another reads it."""

from __future__ import annotations

import os
import socket
import time

from tracebench_sandbox.session import Clock
from tracebench_sandbox.template.server import Child

LOOKS = 150_000


def test_a_deadline_that_is_written_while_it_is_read_is_never_long_past() -> None:
    clock = Clock()
    # Any bits of this and of infinity, mixed: some of them are a time before `now`.
    due, now = float.fromhex("0x1.d5bf5c28f5c29p+15"), float.fromhex("0x1.d5b0000000000p+15")
    writer = os.fork()
    if writer == 0:
        try:
            while os.getppid() != 1:
                for _ in range(1000):
                    clock.set(due)
                    clock.set(float("inf"))
        finally:
            os._exit(0)
    try:
        with socket.socket() as link:
            child = Child(0, 0, link, None, 0.0, None, family=False, clock=clock.fileno())  # type: ignore[arg-type]
            late = sum(child.is_late(now) for _ in range(LOOKS))
    finally:
        os.kill(writer, 9)
        os.waitpid(writer, 0)

    assert late == 0
    clock.set(now - 10)
    assert child.is_late(now)
    clock.set(time.monotonic() + 100)
    assert not child.is_late(time.monotonic())
    clock.close()
    assert child.is_late(now), "a deadline that cannot be read is over"
