"""Parts the lines of a journal that its keys or its chain vouch for from all others, and names those. Asked once one does not fit."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_runs.journal.form import (
    START,
    digest_of,
    is_cut,
    is_keyed_by,
    is_sound,
    number_of,
    parsed,
    prev_of,
)
from tracebench_runs.journal.keys import Seen, find_key
from tracebench_runs.storage import files

_WHOLE = b'"}'
"""How a line ends that was written whole."""
_DIGITS = 20
"""Digits of a line's number that are told: a forged one may have hundreds."""


class _Line(NamedTuple):
    place: int
    """In the file."""
    n: int
    prev: str | None
    digest: str
    raw: bytes
    record: Mapping[str, Any]


@dataclass(slots=True)
class Sifted:
    """What of a journal is as it was written, in the order in which it was written."""

    records: list[Mapping[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What was changed, removed, doubled or moved, one sentence each."""
    torn: int = 0
    """Lines that a crash cut short."""
    n: int = -1
    head: str = START
    lost_keys: list[str] = field(default_factory=list)
    """Ids of keys that are not here: their lines are held together by the chain alone."""


def sift(path: Path, *, seen: Seen | None) -> Sifted:
    """Read a chained journal whose lines do not all fit; `seen` says which keys wrote it, where that is known."""
    found = Sifted()
    lines = files.read_lines(path)
    sound = [*_sound(lines.lines)]
    ids = {str(line.record.get("key")) for line in sound if line.record.get("kind") == "chained"}
    ids |= set(seen.keys) if seen is not None else set()
    keys = {id_: find_key(id_) for id_ in sorted(ids)}
    secrets = [key.secret for key in keys.values() if key is not None]
    found.lost_keys = [id_ for id_, key in keys.items() if key is None and (seen is None or id_ in seen.keys)]
    keyed = {line.place for line in sound if line.prev is not None and _is_keyed(line, secrets)}
    held = {line.place for line in _chained(sound)} if found.lost_keys else set()
    true = [line for line in sound if line.place in keyed | held]
    kept = _in_order(true, found)
    false = [line for line in sound if line.place not in keyed | held]
    found.faults += [f"line {_named(line)} was changed, or not written by this run" for line in false]
    _tell_missing(kept, {line.n for line in false}, found)
    _tell_unsound(lines, sound, true, found)
    found.records = [line.record for line in kept]
    if kept:
        found.n, found.head = kept[-1].n, kept[-1].digest
    return found


def _sound(lines: Sequence[bytes]) -> Iterator[_Line]:
    for place, raw in enumerate(lines):
        record = next(parsed(raw), None) if is_sound(raw) else None
        number = number_of(record)
        if record is not None and number is not None:
            yield _Line(place, number, prev_of(raw), digest_of(raw), raw, record)


def _is_keyed(line: _Line, secrets: Sequence[bytes]) -> bool:
    return any(is_keyed_by(line.raw, secret) for secret in secrets)


def _chained(sound: Sequence[_Line]) -> Iterator[_Line]:
    """Yield the lines of a chain that others hold: each follows one that lies there, and is followed, or is the last."""
    digests = {START, *(line.digest for line in sound)}
    followed = {line.prev for line in sound}
    last = sound[-1].place if sound else -1
    yield from (line for line in sound if line.prev in digests and (line.digest in followed or line.place == last))


def _in_order(true: Sequence[_Line], found: Sifted) -> list[_Line]:
    kept: dict[int, _Line] = {}
    highest = -1
    for line in true:
        if line.n in kept:
            found.faults.append(f"line {_named(line)} is there twice")
            continue
        if line.n < highest:
            found.faults.append(f"line {_named(line)} is out of place")
        highest = max(highest, line.n)
        kept[line.n] = line
    return [kept[n] for n in sorted(kept)]


def _tell_missing(kept: Sequence[_Line], changed: set[int], found: Sifted) -> None:
    """Name the lines that others speak of and that are not there; of one that was changed, that is told already."""
    if not kept:
        return
    first = kept[0]
    missing = [*range(first.n)]
    for before, line in pairwise(kept):
        missing += range(before.n + 1, line.n)
        if line.n == before.n + 1 and line.prev != before.digest:
            found.faults.append(f"line {_named(line)} was written behind another line {before.n}")
    missing = [n for n in missing if n not in changed]
    if missing:
        many = f"lines {missing[0]} to {missing[-1]}" if len(missing) > 1 else f"line {missing[0]}"
        found.faults += [f"{many} {'are' if len(missing) > 1 else 'is'} missing"] * len(missing)


def _tell_unsound(lines: files.Lines, sound: Sequence[_Line], true: Sequence[_Line], found: Sifted) -> None:
    """Part lines that a crash tore from those that were changed: torn ones took nothing from the chain around them."""
    places = {line.place for line in sound}
    of_true = [line.place for line in true]
    for place, raw in enumerate(lines.lines):
        if place in places:
            continue
        following = bisect(of_true, place)
        before = true[following - 1] if following else None
        after = true[following] if following < len(true) else None
        is_last = place == len(lines.lines) - 1
        if before is not None and after is not None:
            took_nothing = after.prev == before.digest
        else:
            took_nothing = (is_last and lines.torn) or (before is not None and is_cut(raw, before.n + 1))
        if not raw.endswith(_WHOLE) and took_nothing:
            found.torn += 1
        elif raw.endswith(_WHOLE) or not is_last or not lines.torn:
            found.faults.append(f"line {place + 1} of the file cannot be read")


def _named(line: _Line) -> str:
    """Return a line's number, kind and job."""
    kind, job = line.record.get("kind"), line.record.get("job")
    return f"{str(line.n)[:_DIGITS]} (`{kind}`{f' of `{job}`' if isinstance(job, str) else ''})"
