"""What a scoring has measured so far, kept as it goes: who scores in the place of one that was killed repeats only what is missing.

Lines are keyed with what only processes that score are given, so that nothing that trains can leave measurements here. Evaluations that
asked a model, that stood on an environment, or that came to no score are made again; the answers of models are kept by the gateway.
"""

from __future__ import annotations

import hmac
import json
import logging
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Candidate, Example, ExampleResult, JobOrder, TaskSpec
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import IrregularFileError, open_regular

log = logging.getLogger(__name__)


class ScoredBefore:
    """The measurements of one job's scoring."""

    def __init__(self, path: Path, secret: str) -> None:
        self._path = path
        self._secret = secret.encode()
        self._log: files.AppendLog | None = None
        self._known = dict(self._read())

    def find(self, key: str) -> ExampleResult | None:
        """Return what an earlier process of this scoring measured, marked as reused; None where none did."""
        found = self._known.get(key)
        return None if found is None else found.model_copy(update={"reused": True})

    def keep(self, key: str, result: ExampleResult) -> None:
        """Keep a measurement; what cannot be written, or told as JSON, is made again."""
        if not key or result.feedback.status != "ok":
            return
        try:
            told = result.model_dump(mode="json")
            line = json.dumps([key, told, self._mac(key, told)], allow_nan=False)
            if self._log is None:
                self._log = files.AppendLog(self._path)
            self._log.append(line.encode())
        except (OSError, ValueError) as err:
            log.debug("a measurement is not kept: %s", err)

    def _read(self) -> list[tuple[str, ExampleResult]]:
        found = []
        try:
            with open_regular(self._path) as lines:
                for line in lines:
                    try:
                        key, told, mac = json.loads(line)
                        if hmac.compare_digest(str(mac), self._mac(str(key), told)):
                            found.append((str(key), ExampleResult.model_validate(told)))
                    except (ValueError, TypeError, ValidationError):
                        continue
        except IrregularFileError:  # a process that trained has left it there
            with suppress(OSError):
                files.remove(self._path)
        except OSError:
            return []
        return found

    def _mac(self, key: str, told: object) -> str:
        return hmac.digest(self._secret, key.encode() + canonical_json(told), "sha256").hex()


def open_scored_before(order: JobOrder, spec: TaskSpec) -> ScoredBefore | None:
    """Return the measurements of an order's scoring; None where none are kept."""
    if order.phase != "score" or not order.record or spec.environments:
        return None
    return ScoredBefore(RunLayout(Path(order.run_dir)).job(order.job.job_id).scoring, order.record)


def key_of(candidate: Candidate, example: Example, *, split: str, repeat: int, seed: int) -> str:
    """Return what stands for one measurement; empty where its values cannot be told apart by their text."""
    try:
        content = canonical_json([example.input, example.reference])
    except (TypeError, ValueError):
        content = b""
    try:
        told = [candidate.id, candidate.values, example.id, content_hash(content), split, repeat, seed]
        return content_hash(canonical_json(told))
    except (TypeError, ValueError):
        return ""
