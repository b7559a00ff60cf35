"""What is found in a finished run after each of many damages, what a repair leaves of it, and what a resume would run again."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from tests.kept.store import Said, said_of_each
from tests.unit.store.conftest import JOBS, finish_run
from tracebench_core.errors import RunDirError, TraceBenchError
from tracebench_runs.check.checks import Finding
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.check.recovery import settle
from tracebench_runs.check.verifying import chain_of, chain_words, verify_run
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.keys import key_folder
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.files import TEMPORARY_SUFFIX
from tracebench_runs.storage.layout import RunLayout

Damage = Callable[[RunLayout], object]
OF_RUN = [*JOBS[:2], JOBS[3]]
ONE, TWO, _ = (job.job_id for job in OF_RUN)


def _lines(path: Path, change: Callable[[list[bytes]], Sequence[bytes]]) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def _journal(change: Callable[[list[bytes]], Sequence[bytes]]) -> Damage:
    return lambda run: _lines(run.journal("main"), change)


def _replaced(path: Callable[[RunLayout], Path], old: bytes, new: bytes) -> Damage:
    def damage(run: RunLayout) -> None:
        content = path(run).read_bytes()
        assert old in content
        path(run).write_bytes(content.replace(old, new))

    return damage


def _appended(path: Callable[[RunLayout], Path], data: bytes) -> Damage:
    def damage(run: RunLayout) -> None:
        with path(run).open("ab") as file:
            file.write(data)

    return damage


def _linked(path: Callable[[RunLayout], Path]) -> Damage:
    def damage(run: RunLayout) -> None:
        away = run.path.parent / "away"
        path(run).rename(away)
        path(run).symlink_to(away)

    return damage


def _foreign_line(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], b'{"n":99,"kind":"indexed","index":null}\n', lines[-1]]


def _blob(run: RunLayout) -> Path:
    return next(path for path in run.job(TWO).blobs.rglob("*") if path.is_file())


def _without_keys(run: RunLayout) -> None:
    for key in key_folder().glob("*.key"):
        key.unlink()


def _both(*damages: Damage) -> Damage:
    return lambda run: [damage(run) for damage in damages]


def _no_end(lines: list[bytes]) -> list[bytes]:
    """Return a journal of which only the beginning was written."""
    return lines[:2]


def _undeclared(run: RunLayout, *, leans: bool = False) -> None:
    """Run a job again without declaring it finished."""
    with Journal(run) as journal:
        journal.job_started(ONE, leans=leans)


def _unreducible(run: RunLayout) -> None:
    """Have the journal vouch for nothing, and a job's events say what no result can hold."""
    _undeclared(run)
    _lines(run.job(ONE).events, lambda lines: [line.replace(b'"index":0', b'"index":[]') for line in lines])
    run.job(ONE).results.unlink()


DAMAGES: Mapping[str, Damage] = {
    "none": lambda run: None,
    "no result": lambda run: run.job(ONE).results.unlink(),
    "another result": _replaced(lambda run: run.job(ONE).results, b'"score_test": 1.5', b'"score_test": 9.5'),
    "no result and no events": _both(
        lambda run: run.job(ONE).results.unlink(), lambda run: run.job(ONE).events.unlink()
    ),
    "another result and other events": _both(
        lambda run: run.job(ONE).results.write_bytes(b"{}"), _appended(lambda run: run.job(ONE).events, b"{}\n")
    ),
    "no job": lambda run: shutil.rmtree(run.job(ONE).path),
    "no events": lambda run: run.job(ONE).events.unlink(),
    "an event more": _appended(lambda run: run.job(ONE).events, b'{"kind":"new","v":9}\n'),
    "an event fewer": lambda run: _lines(run.job(ONE).events, lambda lines: [*lines[:5], *lines[6:]]),
    "a torn event": _appended(lambda run: run.job(ONE).events, b'{"kind":'),
    "no blob": lambda run: _blob(run).unlink(),
    "another blob": lambda run: _blob(run).write_bytes(b"other"),
    "no best state": lambda run: run.job(ONE).best_state.unlink(),
    "another history": lambda run: run.job(ONE).state_history.write_bytes(b""),
    "another status": _replaced(lambda run: run.job(ONE).meta, b'"ok"', b'"failed"'),
    "no status": lambda run: run.job(ONE).meta.write_bytes(b"{}"),
    "no results.csv": lambda run: run.results_csv.unlink(),
    "another leaderboard": _appended(lambda run: run.leaderboard_csv, b"x\n"),
    "another summary": _replaced(lambda run: run.summary, b'"ok": 2', b'"ok": 3'),
    "a summary of before": lambda run: run.summary.write_text(
        json.dumps({k: v for k, v in json.loads(run.summary.read_text()).items() if k != "overshoot"})
    ),
    "no index": lambda run: run.files_index.unlink(),
    "another index": _replaced(lambda run: run.files_index, b'"size": ', b'"size":  '),
    "no manifest": lambda run: run.manifest.unlink(),
    "another manifest": _replaced(lambda run: run.manifest, b'"abc"', b'"abd"'),
    "no manifest and no mirror": _both(lambda run: run.manifest.unlink(), lambda run: run.mirror.unlink()),
    "no mirror": lambda run: run.mirror.unlink(),
    "another mirror": lambda run: run.mirror.write_bytes(b"PK"),
    "a file more": lambda run: (run.path / "notes.txt").write_text("x"),
    "a folder more": lambda run: (run.jobs / "ffffffffffff").mkdir(),
    "a temporary file": lambda run: (run.path / f".results.csv.1-1{TEMPORARY_SUFFIX}").touch(),
    "a control line that is none": _appended(lambda run: run.control, b"x\n{}\n"),
    "a torn control line": _appended(lambda run: run.control, b'{"v":1'),
    "no journal": lambda run: run.journal("main").unlink(),
    "an empty journal": lambda run: run.journal("main").write_bytes(b""),
    "a journal without its first line": _journal(lambda lines: lines[1:]),
    "a journal without some lines": _journal(lambda lines: [*lines[:3], *lines[5:]]),
    "a journal without its last line": _journal(lambda lines: lines[:-1]),
    "a journal without any end": _journal(_no_end),
    "a line twice": _journal(lambda lines: [*lines[:4], lines[3], *lines[4:]]),
    "lines out of place": _journal(lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]]),
    "a changed line": _journal(lambda lines: [*lines[:3], lines[3].replace(b'"ok"', b'"failed"'), *lines[4:]]),
    "seven changed lines": _journal(lambda lines: [line.replace(b'"t":"2', b'"t":"3') for line in lines]),
    "a foreign line": _journal(_foreign_line),
    "a torn line": _appended(lambda run: run.journal("main"), b'{"n":'),
    "a torn line within": _journal(lambda lines: [*lines[:3], b'{"n":3,"t"\n', *lines[3:]]),
    "a line that is none": _journal(lambda lines: [*lines[:3], b"x\n", *lines[3:]]),
    "another journal": lambda run: run.journal("other").write_bytes(b'{"kind":"x"}\n'),
    "no keys": _without_keys,
    "no keys and a changed line": _both(
        _without_keys, _journal(lambda lines: [*lines[:3], lines[3].replace(b'"ok"', b'"failed"'), *lines[4:]])
    ),
    "a link for events": _linked(lambda run: run.job(ONE).events),
    "a link for a job": _linked(lambda run: run.job(ONE).path),
    "a pipe for a table": _both(lambda run: run.results_csv.unlink(), lambda run: os.mkfifo(run.results_csv)),
    "a folder for an index": _both(lambda run: run.files_index.unlink(), lambda run: run.files_index.mkdir()),
    "an undeclared job": _undeclared,
    "an undeclared job that leans": lambda run: _undeclared(run, leans=True),
    "events that cannot be reduced": _unreducible,
}


LEFT_OUT = re.compile(r"\b[0-9a-f]{64}\b|(?<=cannot be read: )Error [^(]*")
"""Digests, and what a library says in its own words."""


def damaged_of(name: str, folder: Path) -> list[str]:
    """Return what is found in a run that was damaged, and what becomes of it; it is made in a folder once, and copied for each damage."""
    place, whole = folder / "place", folder / "whole"
    with patch.dict(os.environ, {"XDG_STATE_HOME": str(place / "state")}):
        if not whole.exists():
            finish_run(place / "run", OF_RUN)
            place.rename(whole)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(whole, place)
        run = RunLayout(place / "run")
        chain = chain_of(run.path)
        assert chain is not None
        head = chain.head
        DAMAGES[name](run)
        return [LEFT_OUT.sub("…", line.replace(str(place), "PLACE")) for line in _told(run, head)]


def _told(run: RunLayout, head: str) -> Iterator[str]:
    yield from _asked("found", lambda: _findings(check_run(run.path)))
    yield from _asked("verified", lambda: _verified(run, head))
    yield from _asked("read", lambda: _read(run))
    yield from _asked("settled", lambda: _settled(run, write=False))
    repaired = [*_asked("repaired", lambda: _findings(repair_run(run.path)))]
    yield from repaired
    aside = sorted(str(path.relative_to(run.path)) for path in run.lost_and_found.rglob("*") if not path.is_dir())
    yield from (f"set aside: {path}" for path in aside)
    if any(line.endswith("(accept)") for line in repaired):
        yield from _asked("accepted", lambda: _findings(accept_losses(run.path)))
    yield from _asked("goes on", lambda: _settled(run, write=True))


def _asked(what: str, ask: Callable[[], Iterator[str]]) -> Iterator[str]:
    try:
        yield from (f"{what}: {line}" for line in ask())
    except RunDirError as err:
        yield f"{what}, refused: {err} hint: {err.hint}"
    except (TraceBenchError, OSError) as err:
        yield f"{what}, failed: {type(err).__name__}: {err}"


def _findings(found: Sequence[Finding]) -> Iterator[str]:
    return (f"{f.code} {f.path}: {f.message} ({f.mended_by})" for f in found)


def _verified(run: RunLayout, head: str) -> Iterator[str]:
    found = verify_run(run.path, head=head[:16])
    yield f"{found.verdict}: {found.words} ({len(found.findings)} findings), {chain_words(chain_of(run.path)).replace(head, 'as it was')}"


def _read(run: RunLayout) -> Iterator[str]:
    read = load_run(run.path)
    yield " ".join(f"{result.status}:{result.score_test}" for result in read.results.values())
    yield f"{len(read.events(ONE))} events, {len([*read.candidates_of(TWO)])} candidates"


def _settled(run: RunLayout, *, write: bool) -> Iterator[str]:
    ids = [job.job_id for job in OF_RUN]
    if write:
        with Journal(run) as journal:
            found = settle(run.path, ids, journal=journal)
    else:
        found = settle(run.path, ids)
    yield f"finished {found.finished}, adopted {found.adopted}, trained {sorted(found.trained)}, mended {found.has_mended}"
    yield from (f"{job_id} is distrusted: {why}" for job_id, why in found.distrusted.items())


def damages() -> Said:
    """Return what is said now."""
    return said_of_each(DAMAGES, damaged_of)
