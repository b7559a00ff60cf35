"""What a check says: something is wrong, or it could not be asked here."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is wrong."""

    code: str
    message: str
    subject: str = ""
    """The id of the task or part that it is about; empty for the whole plugin or trainer."""


class Skipped(NamedTuple):
    """A check that could not be made on this machine."""

    code: str
    reason: str
    subject: str = ""
