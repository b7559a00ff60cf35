"""Reads one journal and verifies its chain: the records that are as they were written, each once, and what was found beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from tracebench_core.specs import JobStatus
from tracebench_runs.journal.form import (
    MAC_DIGITS,
    START,
    digest_before_sum,
    digest_of,
    has_sum,
    is_cut,
    is_keyed_by,
    is_sound,
    number_of,
    parsed,
    prev_of,
)
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.journal.keys import Key, Seen, find_key
from tracebench_runs.storage.regular import open_regular
from tracebench_runs.storage.seal import Seal

STATUSES: Mapping[str, JobStatus] = MappingProxyType({status: status for status in get_args(JobStatus)})
_FINISHED = re.compile(
    r'\{"n":(0|[1-9][0-9]*),"t":"([0-9T:.Z-]+)","kind":"job_finished","job":"([0-9A-Za-z]+)",'
    rf'"status":"({"|".join(STATUSES)})","digest":"([0-9a-f]*)"'
    r'(?:,"events":\[(0|[1-9][0-9]*),"([0-9a-f]{64})"\])?'
    rf'(?:,"prev":"([0-9a-f]{{{len(START)}}})","mac":"[0-9a-f]{{{MAC_DIGITS}}}")?,"sum":"([0-9a-f]{{16}})"\}}\n'
)
"""An end record as `Journal` writes it, of which a run may have 100,000; one that looks otherwise is read as JSON."""
_AFTER = len(',"sum":"0123456789abcdef"}\n')
_END = b'"}'
"""Of a line that was written whole."""
_BUFFER = 1 << 20


class TimedEnd(NamedTuple):
    """An end record with its time."""

    at: str
    end: EndRecord


class JournalReader:
    """Iterate over it once; then `damage` and `torn` say what else there is. One line is held at a time.

    It ends early, with `is_broken`, where a line does not follow the one before it, or was not written with the journal's key: what it
    yielded is then to be forgotten, and the lines are to be sifted.
    """

    def __init__(self, path: Path, *, seen: Seen | None = None) -> None:
        """`seen` says with which keys the journal was written, where that is known."""
        self._path = path
        self._keys_seen = None if seen is None else seen.keys
        self.is_broken = False
        self.is_chained: bool | None = None
        """Whether its lines are chained; None while there is none."""
        self.n = -1
        self.head = START
        """Digest of its last line."""
        self.lost_keys: list[str] = []
        """Ids of keys that are not here."""
        self._key: Key | None = None
        self._last = b""
        self.damage = 0
        """Complete lines that were changed, or are missing, doubled or out of place."""
        self.torn = 0
        """Lines that a crash cut short."""
        self._expected: int | None = None
        self._seen: set[int] = set()
        self._unsound = 0
        self._cut = 0
        """Of these, lines that begin as the next one would."""
        self._garbled = 0
        self._is_of_older: bool | None = None

    def __iter__(self) -> Iterator[TimedEnd | Mapping[str, Any]]:
        """Yield end records with their times, and every other record as it was read."""
        match, seen = _FINISHED.fullmatch, self._seen
        raw = b"\n"
        for raw in self._raw_lines():
            if not self._unsound and (found := match(raw.decode("latin-1"))) is not None:
                digits, at, job, status, digest, size, sha256, prev, told = found.groups()
                number = int(digits)
                if number == self._expected and (own := digest_before_sum(raw[:-_AFTER])).startswith(told):
                    self._expected = number + 1
                    seen.add(number)
                    self._follow(raw, number, prev, own)
                    if self.is_broken:
                        return
                    seal = None if size is None else Seal(int(size), sha256)
                    yield TimedEnd(at, EndRecord(job, STATUSES[status], digest, seal))
                    continue
            if line := raw.removesuffix(b"\n"):
                yield from self._read(line)
            if self.is_broken:
                return
        self._check_key()
        self._end(is_torn=not raw.endswith(b"\n"))

    def _follow(self, line: bytes, number: int, prev: str | None, digest: str) -> None:
        """Take the next sound line of the chain."""
        if self.is_chained is None:
            self.is_chained = prev is not None
        if prev != (self.head if self.is_chained else None):
            self.is_broken = True
        self._last, self.n, self.head = line, number, digest

    def _begin(self, id_: str) -> None:
        """Go on with another key, of which nobody else may have begun the chain."""
        self._key = find_key(id_)
        if self._key is None:
            self.lost_keys.append(id_)
            self.is_broken |= self._keys_seen is not None and id_ not in self._keys_seen

    def _check_key(self) -> None:
        """Say whether the last line was written with the key: by its chain that speaks for all lines before."""
        if self.is_chained and self._key is not None:
            self.is_broken |= not is_keyed_by(self._last.removesuffix(b"\n"), self._key.secret)

    def _raw_lines(self) -> Iterator[bytes]:
        with suppress(FileNotFoundError), open_regular(self._path, buffering=_BUFFER) as journal:
            yield from journal

    def _read(self, line: bytes) -> Iterator[Mapping[str, Any]]:
        if self._is_of_older is None:
            self._is_of_older = not has_sum(line)
        record = next(parsed(line), None)
        number = number_of(record) if is_sound(line) else None
        if number is None or record is None:
            if self._expected is None and not has_sum(line) and record is not None:
                yield record  # written by an older version
            elif has_sum(line) and line.endswith(_END):
                self.damage += 1  # a crash tears the end off
                return
            self._unsound += 1
            self._cut += self._expected is not None and is_cut(line, self._expected)
            self._garbled += record is None
            return
        wanted = self._expected if self._expected is not None else number if self._is_of_older else 0
        prev = prev_of(line)
        if number != wanted:
            self.damage += 1
        elif self._expected is not None:
            took_nothing = self._unsound == 1 or prev == self.head
            self.torn += self._unsound if took_nothing else 0
            self.damage += 0 if took_nothing else self._unsound
        if prev is not None and record.get("kind") == "chained":
            self._check_key()
            self._begin(str(record.get("key")))
        self._follow(line, number, prev, digest_of(line))
        if self.is_broken:
            return
        self._expected = max(number, wanted - 1) + 1
        self._unsound = self._cut = 0
        if number not in self._seen:
            self._seen.add(number)
            yield record

    def _end(self, *, is_torn: bool) -> None:
        if self._expected is None:
            self.damage += self._garbled - (is_torn and self._garbled > 0)
            self.torn += is_torn and self._garbled > 0
            return
        if not self._unsound:
            return
        if (is_torn and self._unsound == 1) or (self.is_chained and self._cut == self._unsound):
            self.torn += self._unsound
        else:
            self.damage += self._unsound
