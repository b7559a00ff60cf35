"""Keeps other processes of the same user from reading this one's memory, where the provider keys are."""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def forbid_inspection() -> None:
    """Make `/proc/self` root's, and leave no core dump (Linux; elsewhere nothing is promised)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
