"""Continues the chain of a journal: which line it goes on behind, with which key, and how far it had come when it was last closed."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tracebench_runs.journal.form import (
    START,
    digest_of,
    encode,
    is_keyed_by,
    is_sound,
    number_of,
    parsed,
    prev_of,
)
from tracebench_runs.journal.keys import Key, draw_key, find_key, last_seen, see
from tracebench_runs.journal.sifted import sift
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import open_regular

CHAINED = "chained"
"""The kind of record that begins a chain, over the head of the one before."""
_CLOSING = {"opened", "indexed", "accepted"}
"""What a process that was not cut short writes last."""
_TAIL = 1 << 16
"""Bytes at the end of a journal in which its last sound line is looked for first."""


class Chain:
    """The end of one journal, to be written on. A journal that an older version began without a chain goes on without."""

    def __init__(self, layout: RunLayout, path: Path) -> None:
        self._layout, self._name = layout, path.name
        seen = last_seen(layout, path.name)
        self._own_secret = secrets.token_bytes(32)
        self._keys = seen.keys if seen is not None else tuple(_keys_told(path))
        last = _last_sound_lines(path)
        self._key = _present_key(path, self._keys, last)
        is_chained = bool(self._keys) or (bool(last) and prev_of(last[0]) is not None)
        self.is_kept = is_chained or (not last and not _is_older(path))
        """Whether lines are chained."""
        number = number_of(json.loads(last[0])) if last else None
        self.next = number + 1 if number is not None else len(files.read_lines(path).lines)
        """Number of the next line: one more than that of the last sound one, else the number of lines."""
        self._head = digest_of(last[0]) if last else START
        if is_chained and not _is_end(last, self._key):
            found = sift(path, seen=seen)
            self.next, self._head = (found.n + 1, found.head) if found.records else (self.next, self._head)
        self._is_new = self.next == 0
        self._is_borne_out = seen is None or is_borne_out(path, seen.n, seen.head)
        self._must_begin = self._key is None or json.loads(last[0]).get("kind") not in _CLOSING

    def begin(self) -> Iterator[Mapping[str, Any]]:
        """Yield the record that has to come before the next one: where there is no key, and behind a process that was cut short."""
        if self.is_kept and self._must_begin:
            self._must_begin = False
            if self._key is None:
                self._key = draw_key()
            if self._key.id not in self._keys:
                self._keys = (*self._keys, self._key.id)
            yield {"kind": CHAINED, "key": self._key.id}

    def line(self, record: Mapping[str, Any]) -> bytes:
        """Return a record as the next line; who has written it says so with `written`."""
        if not self.is_kept or self._key is None:
            return encode({"n": self.next, **record})
        return encode({"n": self.next, **record}, before=self._head, key=self._key.secret)

    def written(self, line: bytes) -> None:
        """Go on behind a line."""
        self.next += 1
        self._head = digest_of(line)

    def secret(self, purpose: str) -> str:
        """Return what follows from the key for one purpose; of a journal without a key it ends with this process."""
        key = self._key.secret if self._key is not None else self._own_secret
        return hmac.digest(key, purpose.encode(), "sha256").hex()

    def closed(self, *, anew: bool = False) -> None:
        """Keep how far the journal has come. A journal that lost what was known of it is not taken for whole, unless `anew`."""
        if not self.is_kept or not (self._is_borne_out or (anew and self._is_new)):
            return
        self._is_borne_out = True
        see(self._layout, self._name, n=self.next - 1, head=self._head, keys=self._keys)

    def accepted(self) -> None:
        """Keep how far the journal has come, whatever it lost: a person knows."""
        self._is_borne_out = True
        self.closed()


def is_borne_out(journal: Path, n: int, head: str) -> bool:
    """Say whether a journal has the line of this number and digest."""
    begins = f'{{"n":{n},'.encode()
    try:
        last = last_sound_line(journal)
        if last is not None and digest_of(last) == head:
            return True
        return any(line.startswith(begins) and digest_of(line) == head for line in files.iter_lines(journal))
    except OSError:
        return False


def last_sound_line(journal: Path) -> bytes | None:
    """Return the last line that is as it was written, with a number; None where there is none."""
    return next(iter(_last_sound_lines(journal, most=1)), None)


def _last_sound_lines(journal: Path, *, most: int = 2) -> list[bytes]:
    """Return the last lines that are as they were written, the last one first."""
    with open_regular(journal) as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - _TAIL))
        tail = content.read().split(b"\n")
    found = [*islice(filter(_is_record, reversed(tail)), most)]  # a line that the tail begins within is not sound
    if len(found) < most and size > _TAIL:
        found = [*islice(filter(_is_record, files.last_lines(journal)), most)]
    return found


def _is_record(line: bytes) -> bool:
    return is_sound(line) and number_of(next(parsed(line), None)) is not None


def _is_end(last: Sequence[bytes], key: Key | None) -> bool:
    """Say whether the last of these lines follows the one before it, and was written with the key where that is here."""
    if not last or (key is not None and not is_keyed_by(last[0], key.secret)):
        return False
    return prev_of(last[0]) == (digest_of(last[1]) if len(last) > 1 else START)


def _present_key(path: Path, ids: Sequence[str], last: Sequence[bytes]) -> Key | None:
    """Return the key that the last chain was begun with, None where there is none or it is not here."""
    if not ids or not last:
        return None
    key = find_key(ids[-1])
    if key is not None and prev_of(last[0]) is not None and is_keyed_by(last[0], key.secret):
        return key
    begun = [id_ for id_ in _keys_told(path) if id_ in ids]
    return find_key(begun[-1]) if begun else key


def _keys_told(path: Path) -> Iterator[str]:
    """Yield the ids of the keys by which a journal says that its chains were begun, each once, in order."""
    told = (json.loads(line) for line in files.iter_lines(path) if b'"kind":"chained"' in line and _is_record(line))
    yield from dict.fromkeys(str(record.get("key")) for record in told)


def _is_older(path: Path) -> bool:
    """Say whether a journal without a sound line was begun by a version that wrote none."""
    return any(number_of(record) is None for line in files.iter_lines(path) for record in parsed(line))
