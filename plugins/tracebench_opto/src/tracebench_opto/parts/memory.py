"""Where a priority search keeps its candidates: a long-term memory, and a short-term one that is searched first."""

from __future__ import annotations

from collections.abc import Callable

from tracebench_opto.parts.archive import Entry

Order = Callable[[list[Entry]], list[Entry]]


class Memory:
    """Two pools of candidates, each ordered by current priority and cut to its size.

    New candidates go to the short-term memory, which is searched while it holds any and which flows into the long-term memory every
    `update_frequency` steps: short bursts of depth in a broad search. With an `update_frequency` of 0 there is only the long-term memory.
    """

    def __init__(
        self,
        order: Order,
        *,
        update_frequency: int = 0,
        long_term_size: int | None = None,
        short_term_size: int | None = None,
    ) -> None:
        self._order = order
        self._frequency = update_frequency
        self._long_size, self._short_size = long_term_size, short_term_size
        self._long: list[Entry] = []
        self._short: list[Entry] = []
        self._steps = 0

    def __len__(self) -> int:
        return len(self._long) + len(self._short)

    def top(self, n: int) -> list[Entry]:
        """Return the `n` most urgent candidates of the memory that is searched now. They stay in it, at their updated priority."""
        return self._order(self._short or self._long)[:n]

    def add(self, entries: list[Entry]) -> None:
        """Take in candidates; what is held already is not held twice."""
        held = {e.index for e in (*self._long, *self._short)}
        new = [e for e in entries if e.index not in held]
        if self._frequency and self._long:
            self._short = self._order(self._short + new)[: self._short_size]
        else:
            self._long = self._order(self._long + new)[: self._long_size]

    def end_step(self) -> None:
        """Count a step, and merge the memories when it is time."""
        self._steps += 1
        if self._frequency and self._steps % self._frequency == 0:
            self._long = self._order(self._long + self._short)[: self._long_size]
            self._short = []
