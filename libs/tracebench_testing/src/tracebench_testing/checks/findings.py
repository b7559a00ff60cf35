"""What a check says: something is wrong, or will be with the next minor version, or could not be asked here."""

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


class Warned(NamedTuple):
    """One thing that will be wrong with the next minor version."""

    code: str
    message: str
    subject: str = ""
