"""A second opinion: what a job's stored candidates score under another judge than the one that its run had."""

from __future__ import annotations

from pydantic import AwareDatetime

from tracebench_core.specs.base import Spec
from tracebench_core.specs.events import Scored
from tracebench_core.specs.job import Judge


class Regrade(Spec):
    """One job's finished candidates, scored again. A line of `regrades.jsonl`; lines are only added."""

    v: int = 1
    t: AwareDatetime
    job_id: str
    task_id: str
    comparability: int
    """Of the task, as it judged."""
    judge: Judge
    scored: tuple[Scored, ...]
    """As the engine scores at the end of a job; empty where nothing could be scored."""
    flags: dict[str, str] = {}
    """What a reader must know, such as `random-candidate`."""
    error: str = ""
    """Why it could not be scored."""
