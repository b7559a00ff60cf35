"""The user that a command of a sandbox runs as, found in the image's own list of users."""

from __future__ import annotations

from typing import NamedTuple


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
        if len(parts) >= 6 and name in (parts[0], parts[2]):  # noqa: PLR2004 - fields of passwd(5)
            return User(int(parts[2]), int(group) if group.isdigit() else int(parts[3]), parts[5] or "/")
    return User(int(name), int(group) if group.isdigit() else 0, "/") if name.isdigit() else None
