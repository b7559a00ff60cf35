"""`regrades.jsonl`: what stored candidates scored under later judges. The results of the run's own judge are never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from tracebench_core.specs import JobResult
from tracebench_core.specs.events import Scored
from tracebench_core.specs.regrade import Regrade
from tracebench_runs.events.reduce import scores_of
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import Trust, damaged, read_trust
from tracebench_runs.storage.files import AppendLog, iter_lines
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import seal_of


def append_regrades(layout: RunLayout, regrades: Iterable[Regrade]) -> Iterator[Regrade]:
    """Add lines as they come, yield each once the journal vouches for it, and list the file in the index. The caller holds the lock."""
    log = AppendLog(layout.regrades)
    with Journal(layout) as journal:
        try:
            for regrade in regrades:
                log.append(regrade.model_dump_json().encode(), durable=True)
                journal.grown()
                yield regrade
        finally:
            log.close()
            write_files_index(layout, trust=read_trust(layout))
            journal.indexed(seal_of(layout.files_index))


def read_regrades(layout: RunLayout, *, trust: Trust) -> list[Regrade]:
    """Return the lines that the journal vouches for, in their order; one that cannot be read is left out.

    What stands behind them was cut short by a crash, or is nobody's. A file that was never sealed is of an older version, and read whole.

    Raises:
        RunDirError: when they are not what the journal sealed.
    """
    name = layout.regrades.relative_to(layout.path).as_posix()
    if not trust.is_intact(layout, name, seal := trust.seals.get(name)):
        raise damaged(layout, layout.regrades)
    seal = trust.accepted.get(name, seal)
    found, end = [], 0
    for line in iter_lines(layout.regrades) if layout.regrades.is_file() else ():
        end += len(line) + 1
        if seal is not None and end > seal.size:
            break
        try:
            found.append(Regrade.model_validate_json(line))
        except ValidationError:
            continue
    return found


def regraded(result: JobResult, regrade: Regrade) -> JobResult:
    """Return a job's result with the scores of another judge in the place of its own."""
    return result.model_copy(update=rescored(regrade))


def rescored(regrade: Regrade) -> dict[str, Any]:
    """Return the fields of a result that another judge's scores take the place of."""
    scored: dict[tuple[str, str], Scored] = {(event.what, event.split): event for event in regrade.scored}
    return {**scores_of(scored), "judge": regrade.judge}


def latest(regrades: Sequence[Regrade]) -> dict[tuple[str, str], Regrade]:
    """Return the last scoring of each job by each judge, by job and the judge's digest, of those that scored something."""
    return {(each.job_id, each.judge.digest): each for each in regrades if each.scored}
