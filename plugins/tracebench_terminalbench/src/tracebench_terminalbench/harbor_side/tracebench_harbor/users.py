"""The user that a command of a sandbox runs as, found in the image's own list of users."""

from __future__ import annotations

from typing import NamedTuple

MOST = 0xFFFF
"""The highest number of a user or a group that a sandbox has."""


class User(NamedTuple):
    """A user of an image."""

    number: int
    group: int
    home: str


def find_user(written: str, accounts: str) -> User | None:
    """Return the user of a name or a number, by the lines of `/etc/passwd`; None for a name that is not there.

    `written` is `user` or `user:group`, of which the group counts where it is a number.
    """
    name, _, group = written.partition(":")
    for line in accounts.splitlines():
        parts = line.split(":")
        is_sound = len(parts) >= 6 and parts[2].isdecimal() and parts[3].isdecimal()  # noqa: PLR2004 - fields of passwd(5)
        if is_sound and name in (parts[0], parts[2]):
            return User(int(parts[2]), int(group) if group.isdecimal() else int(parts[3]), parts[5] or "/")
    return User(int(name), int(group) if group.isdecimal() else 0, "/") if name.isdecimal() else None
