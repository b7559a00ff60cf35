"""How many files this process, and what it starts, may have open at once."""

from __future__ import annotations

import resource

WANTED = 1024
"""Descriptors that a server of helpers asks for, for them all."""


def lift_open_files(wanted: int = WANTED) -> int:
    """Lift this process's own limit to so many open files, as far as it may; return what it, and what it starts, may have then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return max(soft, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most
