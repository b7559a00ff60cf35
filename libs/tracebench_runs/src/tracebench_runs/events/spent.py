"""What a run paid for: every call of its ledger, those of attempts that were lost included, by job, role and model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tracebench_core.specs import Role, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_runs.events.metering import usage_of
from tracebench_runs.storage.regular import open_regular

_MARK = b'"kind":"llm_call"'
_FIELDS = frozenset(LLMCall.model_fields)


class Payer(NamedTuple):
    """Whom a call was made for, and who answered it."""

    role: Role
    model: str


class LedgerReader:
    """Adds up a ledger that may still grow: every `read` takes the lines that came since the last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._jobs: dict[str, dict[Payer, Usage]] = {}
        self._left_out: dict[str, Counter[str]] = {}
        self._is_there = False

    def read(self) -> None:
        """Take the complete lines that are new. What an earlier attempt paid for and a later one went through again counts once."""
        try:
            with open_regular(self._path) as ledger:
                ledger.seek(self._offset)
                data = ledger.read()
        except FileNotFoundError:
            return
        self._is_there = True
        lines = data[: data.rfind(b"\n") + 1]
        self._offset += len(lines)
        for job_id, call, left_out in _paid_calls(lines.splitlines()):
            payers = self._jobs.setdefault(job_id, {})
            payer = Payer(call.role, call.model)
            payers[payer] = payers.get(payer, Usage()) + usage_of(call)
            self._left_out.setdefault(job_id, Counter()).update(set(left_out))

    def of(self, job_id: str) -> Usage | None:
        """Return what a job's attempts spent together; None of a run without a ledger, of which nothing is known."""
        return sum(self._jobs.get(job_id, {}).values(), Usage()) if self._is_there else None

    def left_out(self, job_ids: Collection[str] | None = None) -> dict[str, int]:
        """Return the fields of requests that did not reach the model, each with the number of calls that had it, most frequent first."""
        found = Counter[str]()
        for job_id, fields in self._left_out.items():
            if job_ids is None or job_id in job_ids:
                found += fields
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def by_payer(self, job_ids: Collection[str] | None = None) -> dict[Payer, Usage] | None:
        """Return what was spent by role and model, of some jobs or of all; None without a ledger."""
        if not self._is_there:
            return None
        found: dict[Payer, Usage] = {}
        for job_id, payers in self._jobs.items():
            if job_ids is None or job_id in job_ids:
                for payer, usage in payers.items():
                    found[payer] = found.get(payer, Usage()) + usage
        return dict(sorted(found.items()))


def spent_of(ledger: LedgerReader, *, job_ids: Collection[str] | None = None) -> dict[str, Any] | None:
    """Return the spending of a run, or of some of its jobs, as JSON data: `total`, and `by` role and model."""
    payers = ledger.by_payer(job_ids)
    if payers is None:
        return None
    by = [{**payer._asdict(), **usage.model_dump(mode="json")} for payer, usage in payers.items()]
    return {"total": sum(payers.values(), Usage()).model_dump(mode="json"), "by": by}


def _paid_calls(lines: Collection[bytes]) -> Iterator[tuple[str, LLMCall, list[str]]]:
    for line in lines:
        if _MARK not in line:
            continue
        try:
            entry = json.loads(line)
            if not entry.get("reused"):
                call = LLMCall.model_validate({k: entry[k] for k in _FIELDS & entry.keys()})
                yield str(entry["job_id"]), call, [str(name) for name in entry.get("left_out") or ()]
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError):  # a line that a crash tore
            continue
