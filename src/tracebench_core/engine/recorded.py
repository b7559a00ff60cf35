"""A door to models behind which stands what one job's scoring was answered: nothing is asked, and nothing is made up."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tracebench_core.engine.models import NoModels
from tracebench_core.errors import ModelError
from tracebench_core.ids import canonical_json
from tracebench_core.llm.access import Phase
from tracebench_core.llm.cassette.blobs import Blobs
from tracebench_core.llm.cassette.player import LLM_FOLDER, entries
from tracebench_core.llm.cassette.recorder import BLOBS_FOLDER, CALLS_FILE
from tracebench_core.specs import Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall

DOOR = "a model is asked through an address, whose calls cannot be told apart again"


class Recorded(NoModels):
    """Answers a call as the same call was answered while the job was scored, the n-th time as the n-th time.

    Two calls are the same when role and messages are, and what the caller says of sampling was so: what the config adds is not asked for.
    """

    def __init__(self, run_dir: Path, job_id: str, calls: Iterable[LLMCall]) -> None:
        """`calls` are the job's.

        Raises:
            RunDirError: when the run has no recording that can be read.
        """
        folder = run_dir / LLM_FOLDER
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        requests = {e["digest"]: e["request"] for e in entries(folder / CALLS_FILE) if e["job_id"] == job_id}
        self._left: dict[bytes, list[tuple[dict[str, Any], LLMCall]]] = defaultdict(list)
        for call in calls:
            if call.phase == "scoring" and call.request_hash in requests:
                asked = json.loads(self._blobs.get(requests[call.request_hash]))
                self._left[canonical_json([asked["role"], asked["messages"]])].append((asked["sampling"], call))
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
            calls = [self._take(canonical_json([role, list(messages)]), sampling) for _ in range(n)]
        found = []
        for call in calls:
            if call.status != "ok" or not call.reply_hash:
                raise ModelError(call.error or "it was not answered then", kind="refused")
            reply = json.loads(self._blobs.get(call.reply_hash))
            text = reply["message"].get("content") or ""
            found.append(Completion(text=text, model=call.model, finish_reason=reply["finish_reason"], usage=Usage()))
        return found

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Refuse: whoever asks through an address says not for which evaluation."""
        self.missed = self.missed or DOOR
        raise ModelError(DOOR, kind="refused")

    def _take(self, key: bytes, sampling: dict[str, Any]) -> LLMCall:
        left = self._left.get(key, [])
        for place, (known, call) in enumerate(left):
            if all(name in known and known[name] == value for name, value in sampling.items()):
                del left[place]
                return call
        self.missed = self.missed or (
            "today's task or judge asks a model what it was not asked when the run was scored, and nobody knows the answer"
        )
        raise ModelError(self.missed, kind="replay_miss")
