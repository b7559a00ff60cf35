"""Hundreds of thousands of a job's candidates in little memory: their numbers, their texts, and what is known of each as packed bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
AT_HAND = 1024
"""So many records are objects; all others are bytes until they are asked for."""


class Numbers:
    """Numbers candidates in the order in which they are met; ids as the engine gives them, `c0`, `c1`, …, need no memory."""

    def __init__(self) -> None:
        self._count = 0
        self._others: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        return self._count

    def find(self, id_: str) -> int | None:
        """Return a candidate's number; None where it was not met."""
        digits = id_[1:]
        if id_[:1] == "c" and digits.isdecimal() and len(digits) < 16:  # noqa: PLR2004 - beyond, none is the engine's
            number = int(digits)
            if number < self._count and number not in self._names and id_ == f"c{number}":
                return number
        return self._others.get(id_)

    def add(self, id_: str) -> tuple[int, bool]:
        """Return a candidate's number, and whether it was met for the first time."""
        known = self.find(id_)
        if known is not None:
            return known, False
        number, self._count = self._count, self._count + 1
        if id_ != f"c{number}":
            self._others[id_] = number
            self._names[number] = id_
        return number, True

    def name(self, number: int) -> str:
        """Return the id of a candidate that was met."""
        return self._names.get(number, f"c{number}")


class Tally:
    """How often each of a few things was met of each candidate."""

    def __init__(self) -> None:
        self._candidates = Numbers()
        self._things: dict[Hashable, int] = {}
        self._times: dict[int, int] = {}

    def add(self, id_: str, thing: Hashable) -> int:
        """Count it once more, and return how often it was met before."""
        which = self._candidates.add(id_)[0] << 32 | self._things.setdefault(thing, len(self._things))
        before = self._times.get(which, 0)
        self._times[which] = before + 1
        return before


class Texts:
    """Texts by number, one after another in one buffer."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, text: bytes) -> None:
        """Add a text under the next number."""
        self._data += text
        self._ends.append(len(self._data))

    def __getitem__(self, number: int) -> bytes:
        return bytes(self._data[self._ends[number - 1] if number else 0 : self._ends[number]])


class Shelf(Generic[T]):
    """Records by number that change now and then: those that were used last are objects, the others packed."""

    def __init__(self, pack: Callable[[T], bytes], unpack: Callable[[bytes], T], *, at_hand: int = AT_HAND) -> None:
        """`unpack` undoes `pack`."""
        self._pack, self._unpack, self._most = pack, unpack, at_hand
        self._objects: dict[int, T] = {}
        self._packed: list[bytes] = []

    def append(self, record: T) -> None:
        """Add a record under the next number."""
        self._packed.append(b"")
        self._place(len(self._packed) - 1, record)

    def get(self, number: int) -> T:
        """Return a record, which may be changed until the next one is asked for."""
        record = self._objects.pop(number, None)
        if record is None:
            return self._place(number, self._unpack(self._packed[number]))
        self._objects[number] = record
        return record

    def __iter__(self) -> Iterator[T]:
        """Yield all of them in their order; they are not to be changed."""
        for number, packed in enumerate(self._packed):
            record = self._objects.get(number)
            yield self._unpack(packed) if record is None else record

    def _place(self, number: int, record: T) -> T:
        if len(self._objects) >= self._most:
            oldest = next(iter(self._objects))
            self._packed[oldest] = self._pack(self._objects.pop(oldest))
        self._objects[number] = record
        return record
