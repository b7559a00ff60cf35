"""A job's result as the journal vouches for it."""

from __future__ import annotations

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobResult
from tracebench_runs.journal.trust import Trust, damaged, read_trust
from tracebench_runs.results.results import read_result
from tracebench_runs.storage.layout import JobLayout


def trusted_result(layout: JobLayout, *, trust: Trust) -> JobResult | None:
    """Return a job's result, None where there is none that can be read; of a run under way, what the journal says now decides.

    Raises:
        RunDirError: when it is not what the journal vouches for.
    """
    try:
        stored = read_result(layout)
    except RunDirError:
        stored = None
    digest = stored.digest if stored is not None else None
    job_id = layout.job_id
    if not _fits(digest, trust, job_id) and not _fits(digest, read_trust(layout.run, known=trust), job_id):
        raise damaged(layout.run, layout.results)
    return stored.result if stored is not None else None


def _fits(digest: str | None, trust: Trust, job_id: str) -> bool:
    """Say whether nothing speaks against a result: where a chain was broken, the end record that is missing may be what was changed."""
    end = trust.end(job_id)
    if end is None:
        return digest is None or not (trust.damage and trust.chains)
    return not end.digest or end.digest == digest
