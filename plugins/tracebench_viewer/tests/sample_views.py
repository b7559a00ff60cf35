"""Views as a plugin would offer them, one of them broken."""

from __future__ import annotations

from typing import Any

from tracebench_runs.reading.reader import Run


def broken(run: Run, job_id: str | None) -> Any:
    raise RuntimeError("on purpose")


def counted(run: Run, job_id: str | None) -> dict[str, list[Any]]:
    return {"run": [run.run_id], "jobs": [len(run.planned)]}


def drawn(run: Run, job_id: str | None) -> str:
    return '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle cx="10" cy="10" r="9"/></svg>'


def silent(run: Run, job_id: str | None) -> None:
    return None
