"""What the forms of edits share: names of files, and the error."""

from __future__ import annotations

from collections.abc import Collection


class UnusableEdit(ValueError):  # noqa: N818 - says what the edit is
    """The edit cannot be applied; the text says why, for the model to read."""


def clean_path(written: str) -> str:
    """Return a path without what models write around it: quotes, backticks, a colon, `./`."""
    return written.strip(" \t\r\n`*\"':#").removeprefix("./")


def demand_known(path: str, known: Collection[str]) -> None:
    """Refuse a path that is not among the files.

    Raises:
        UnusableEdit: when it is not.
    """
    if path not in known:
        raise UnusableEdit(f"there is no file `{path}`; the files are {', '.join(f'`{p}`' for p in known)}")
