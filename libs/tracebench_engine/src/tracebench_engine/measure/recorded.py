"""A door to models behind which stands what one job's scoring was answered: nothing is asked, and nothing is made up."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracebench_core.errors import ModelError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Completion, Endpoint, LLMConfig, Message, Role, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_engine.measure.models import NoModels
from tracebench_gateway import turns
from tracebench_gateway.access import Phase
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.player import LLM_FOLDER, entries
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE
from tracebench_gateway.models import role_config, sampled

DOOR = "a model is asked through an address, whose calls cannot be told apart again"
NOT_ASKED = (
    "today's task or judge asks a model what it was not asked when the run was scored, and nobody knows the answer"
)
WHOSE = (
    "the same was asked several times and answered differently, and the recording, which an earlier version made, does not tell which "
    "evaluation had which answer: only a new run can measure it"
)
WHICH = "the same was asked with several settings, and which of them today's task or judge means cannot be told"


@dataclass
class _Asked:
    """One request of a job's scoring, and what it was answered."""

    sampling: dict[str, Any]
    answers: dict[str, dict[int, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    """By evaluation and n-th time of asking; the evaluation is empty where the recording does not tell it."""


class Recorded(NoModels):
    """Answers a call of an evaluation as the same call of the same evaluation was answered, the n-th time as the n-th time.

    An evaluation is that of a candidate on an example. Two calls are the same when role, messages and sampling are, with what the config
    adds to it; where the config says something else now, what the caller says of sampling decides. A recording of an earlier version does
    not tell whose calls are whose: there, what was asked several times is answered only where each answer was the same.
    """

    def __init__(self, run_dir: Path, job_id: str, calls: Iterable[LLMCall], llm: LLMConfig) -> None:
        """`calls` are the job's, `llm` the run's.

        Raises:
            RunDirError: when the run has no recording that can be read.
        """
        folder = run_dir / LLM_FOLDER
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        self._llm = llm
        scored = [call for call in calls if call.phase == "scoring"]
        self._models = {call.request_hash: call.model for call in scored}
        replies = {(call.request_hash, call.reply_hash) for call in scored}
        known: dict[str, _Asked] = {}
        self._asked: dict[bytes, list[_Asked]] = defaultdict(list)
        for entry in entries(folder / CALLS_FILE):
            digest = entry["digest"]
            if entry["job_id"] != job_id or digest not in self._models:
                continue
            if digest not in known:
                request = json.loads(self._blobs.get(entry["request"]))
                known[digest] = _Asked(request["sampling"])
                self._asked[canonical_json([request["role"], request["messages"]])].append(known[digest])
            if "asker" in entry or (digest, entry.get("reply", "")) in replies:
                # what was asked again at the same place, by a scoring that began anew, is what the job's scores are from
                known[digest].answers[entry.get("asker", "")][entry["occurrence"]] = entry
        self._is_named = any(name for asked in known.values() for name in asked.answers)
        self._lock = threading.Lock()
        self.missed = ""
        """Why the first call that has no answer here has none."""

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Return what was answered.

        Raises:
            ModelError: when there was no such call, or it failed then, too.
        """
        with self._lock:
            asked = self._find(canonical_json([role, list(messages)]), role, sampling)
            found = [self._take(asked) for _ in range(n)]
        return [self._said(entry) for entry in found]

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Refuse: whoever asks through an address says not for which evaluation."""
        self.missed = self.missed or DOOR
        raise ModelError(DOOR, kind="refused")

    def _said(self, entry: dict[str, Any]) -> Completion:
        if "error" in entry:
            raise ModelError(f"{entry['error']['kind']}: {entry['error']['message']}", kind="refused")
        reply = json.loads(self._blobs.get(entry["reply"]))
        text = reply["message"].get("content") or ""
        model = self._models[entry["digest"]]
        return Completion(text=text, model=model, finish_reason=reply["finish_reason"], usage=Usage())

    def _find(self, key: bytes, role: Role, given: dict[str, Any]) -> _Asked:
        """Return the request that a call repeats."""
        same = self._asked.get(key, [])
        given = {name: value for name, value in given.items() if value is not None}
        wanted = sampled(given, role_config(self._llm, role))
        exact = [asked for asked in same if asked.sampling == wanted]
        alike = exact or [asked for asked in same if asked.sampling.items() >= given.items()]
        if len(alike) == 1:
            return alike[0]
        raise self._miss(WHICH if alike else NOT_ASKED)

    def _take(self, asked: _Asked) -> dict[str, Any]:
        """Return the next answer of the evaluation that asks now."""
        own = asked.answers.get(turns.asker()) or {}
        if own:
            return own.pop(min(own))
        unnamed = {} if self._is_named else asked.answers.get("", {})
        if len({entry.get("reply", "") for entry in unnamed.values()}) > 1:
            raise self._miss(WHOSE)
        if unnamed:
            return next(iter(unnamed.values()))
        raise self._miss(NOT_ASKED)

    def _miss(self, words: str) -> ModelError:
        self.missed = self.missed or words
        return ModelError(words, kind="replay_miss")
