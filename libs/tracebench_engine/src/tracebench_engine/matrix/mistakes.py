"""Collects what is wrong with a config, so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracebench_core.errors import ConfigError, TraceBenchError

MOST_TOLD = 30


class Mistakes:
    """Takes errors and the fields that they are about; `tell` raises them together."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[tuple[str | int, ...], TraceBenchError]] = {}

    @contextmanager
    def at(self, *field: str | int) -> Iterator[None]:
        """Take the error that the body raises; what stands under it goes on after the body."""
        try:
            yield
        except TraceBenchError as err:
            self._found.setdefault(str(err), (err.field or field, err))

    def __bool__(self) -> bool:
        return bool(self._found)

    def tell(self) -> None:
        """Raise what was found: one error as it is, several as one that says them all; return when there is none.

        Raises:
            TraceBenchError: the one mistake.
            ConfigError: several; each is in `parts`.
        """
        if not self._found:
            return
        parts = [*self._found.values()]
        for field, err in parts:
            err.field = field
        if len(parts) == 1:
            raise parts[0][1]
        errors = [err for _, err in parts]
        lines = [str(err) for err in errors[:MOST_TOLD]]
        if len(errors) > MOST_TOLD:
            lines.append(f"… and {len(errors) - MOST_TOLD} more.")
        hints = dict.fromkeys(err.hint for err in errors if err.hint)
        told = ConfigError("\n".join(lines), hint="\n        ".join(hints))
        told.parts = tuple(errors[:MOST_TOLD])
        raise told
