"""Second witnesses: what the index of files says of the journals, and of the files of a job that no journal declares finished."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from tracebench_core.errors import RunDirError, quoted
from tracebench_runs.journal.chain import is_borne_out, last_sound_line
from tracebench_runs.journal.form import sum_at
from tracebench_runs.journal.keys import last_seen
from tracebench_runs.journal.trust import Trust
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.seal import Seal, seal_of

UNDECLARED = b'  "undeclared": '
"""How the line of the index begins that tells the jobs which no journal declared finished."""

_JOURNALS = b'  "journals": '


class Loss(NamedTuple):
    """A journal that is not what it was."""

    path: str
    words: str


def heads(layout: RunLayout, *, anew: bool) -> dict[str, dict[str, Any]]:
    """Return how far each journal has come, for the index.

    Unless it is told `anew`, one that does not bear out the present index keeps what that says of it.
    """
    found = {}
    for path in layout.journals():
        line = last_sound_line(path)
        if line is not None:
            found[path.name] = {"n": json.loads(line)["n"], "head": sum_at(line)}
    kept = {} if anew else _told(layout)
    return found | {name: told for name, told in kept.items() if not _is_borne_out(layout, name, told)}


def losses(layout: RunLayout, *, trust: Trust) -> Iterator[Loss]:
    """Yield the journals that were lost, emptied or cut, as far as anything else tells."""
    if is_lost(layout, trust=trust):
        yield Loss(
            layout.journal("main").name, "it is gone, or says nothing of how the run began; nothing vouches for the run"
        )
        return
    told = _told(layout)
    for name in sorted({*told, *(path.name for path in layout.journals())}):
        if name in told and not _is_borne_out(layout, name, told[name]):
            yield Loss(
                name,
                f"it lacks its line {told[name].get('n')}, which the index of files knows: it was cut, or replaced",
            )
        elif (seen := last_seen(layout, name)) is not None and not is_borne_out(layout.path / name, seen.n, seen.head):
            words = f"it lacks its line {seen.n} as it was when the run was last closed here: it was cut, replaced or put back"
            yield Loss(name, words)


def is_lost(layout: RunLayout, *, trust: Trust) -> bool:
    """Say whether a run has lived and no journal tells how it began."""
    return not trust.meta and layout.mirror.is_file() and has_lived(layout)


def has_lived(layout: RunLayout) -> bool:
    """Say whether anything was made in a run since it was planned."""
    return layout.files_index.exists() or layout.results_csv.exists() or next(layout.job_folders(), None) is not None


def demand_journal(layout: RunLayout, *, trust: Trust) -> None:
    """Refuse a run whose journal is gone.

    Raises:
        RunDirError: saying so.
    """
    if is_lost(layout, trust=trust):
        raise RunDirError(
            f"The journal of run `{layout.run_id}` is gone or emptied, and with it what vouches for its results.",
            hint=f"trace-bench fsck {quoted(layout.path)} --accept",
        )


def harm(layout: RunLayout, *, trust: Trust) -> Loss | None:
    """Return the first journal that is not as it was written, with what is wrong; None where all are, or a person has accepted it."""
    for harmed in trust.damage:
        named = "; ".join(dict.fromkeys(harmed.words[:2])) or f"{harmed.lines} of its lines were changed"
        return Loss(harmed.path, f"it was damaged or edited: {named}")
    return next(losses(layout, trust=trust), None)


def demand_sound(layout: RunLayout, *, trust: Trust) -> None:
    """Refuse to read a run whose journals are not as they were written; what a person has accepted is let through.

    Raises:
        RunDirError: naming the first journal, and what is wrong with it.
    """
    loss = harm(layout, trust=trust)
    if loss is not None:
        raise RunDirError(
            f"`{layout.path / loss.path}` does not vouch for the run any more: {loss.words}.",
            hint=f"trace-bench fsck {shlex.quote(str(layout.path))}",
        )


def speaks_against(layout: JobLayout, *, trust: Trust) -> bool:
    """Say whether the index knows the result or the events of a job as other files than those that lie there."""
    if layout.job_id in trust.begun_since:
        return False  # it speaks of an earlier attempt
    known = _entries(layout)
    return any(known.get(_name(layout, path)) not in {None, seal_of(path)} for path in (layout.results, layout.events))


def vouches_for_events(layout: JobLayout, *, trust: Trust) -> bool:
    """Say whether the index knows the events of a job as they lie there, and was made when a journal declared that job finished."""
    if layout.job_id in trust.begun_since or layout.job_id in _undeclared(layout.run):
        return False
    return _entries(layout).get(_name(layout, layout.events)) == seal_of(layout.events) is not None


def _entries(layout: JobLayout) -> Mapping[str, Seal]:
    begins = f'    {{"path": "jobs/{layout.job_id}/'.encode()
    try:
        lines = [line for line in files.iter_lines(layout.run.files_index) if line.startswith(begins)]
        entries = [json.loads(line.rstrip(b",")) for line in lines]
        return {entry["path"]: Seal(entry["size"], entry["sha256"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _undeclared(layout: RunLayout) -> frozenset[str]:
    """Return the jobs that no journal declared finished when the index was made: it lists their files, and saw nobody vouch for them."""
    try:
        lines = [line for line in files.iter_lines(layout.files_index) if line.startswith(UNDECLARED)]
        return frozenset(job for line in lines for job in json.loads(line.removeprefix(UNDECLARED).rstrip(b",")))
    except (OSError, ValueError, TypeError):
        return frozenset()


def _name(layout: JobLayout, path: Any) -> str:
    return str(path.relative_to(layout.run.path).as_posix())


def _told(layout: RunLayout) -> dict[str, dict[str, Any]]:
    try:
        last = next(
            (line for line in islice(files.last_lines(layout.files_index), 3) if line.startswith(_JOURNALS)), None
        )
        whole = read_whole(layout.files_index) if last is None else b"{%b}" % last  # which may list a million files
        told = json.loads(whole).get("journals", {})
        return {name: head for name, head in told.items() if isinstance(head, dict)}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _is_borne_out(layout: RunLayout, name: str, told: Mapping[str, Any]) -> bool:
    begins = f'{{"n":{told.get("n")},'.encode()
    try:
        lines = files.iter_lines(layout.path / name)
        return any(line.startswith(begins) and sum_at(line) == told.get("head") for line in lines)
    except OSError:
        return False
