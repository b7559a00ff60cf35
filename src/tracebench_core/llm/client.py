"""How a job asks models: the standard library's HTTP with one kept connection a thread, and nothing heavier."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.llm import turns
from tracebench_core.llm.access import JobAccess, Phase, Refusal
from tracebench_core.specs import Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall

GONE_SECONDS = 60.0
"""How long a gateway that was killed is waited for, until it is given up."""
RECONNECT_DELAY = 0.05
PAYMENT_REQUIRED = 402


class GatewayClient:
    """One job's line to the gateway. Threads may share it, and a forked child may go on with it."""

    def __init__(self, access: JobAccess) -> None:
        self._access = access
        parts = urlsplit(access.base_url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._prefix = parts.path
        self._local = threading.local()
        self._asked = 0
        self._has_open_door = False
        self._known_records = -1
        self._last_call = 0
        self._usage = (-1, Usage())  # after how many calls of ours it was told, and what
        self._began: float | None = None

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask the role's model; returns `n` completions, the first of which carries the usage of all.

        Raises:
            BudgetExhausted: when a cap of the job or the run is reached.
            ModelError: when the model cannot be asked or its answer is no completion.
        """
        model = self._access.models[role].model
        body = {"model": model, "messages": list(messages), "n": n} | sampling
        try:
            path, key = f"{self._prefix}/chat/completions", self._access.keys[role][phase]
            answer = self._ask("POST", path, key=key, body=body, turn=turns.current())
        finally:
            self._asked += 1
        usage = _usage(answer["usage"], calls=n)
        return [
            Completion(
                text=choice["message"].get("content") or "",
                model=answer["model"],
                finish_reason=choice["finish_reason"],
                usage=usage if index == 0 else Usage(),
            )
            for index, choice in enumerate(answer["choices"])
        ]

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the door for a foreign framework or a subprocess that speaks OpenAI's API."""
        self._has_open_door = True
        key = self._access.keys[role][phase]
        return Endpoint(base_url=self._access.base_url, api_key=SecretStr(key), model=self._access.models[role].model)

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return this job's calls numbered higher than `after`, in order, whoever made them.

        The gateway is asked only when there can be news: after a call of ours, or once a door is open to others.
        """
        asked = self._asked
        if self._is_known(self._known_records) and after >= self._last_call:
            return []
        answer = self._get(f"/ledger/records?after={max(after, 0)}")
        self._learn(answer, asked)
        records = [LLMCall(**record) for record in answer["records"]]
        self._known_records = asked
        self._last_call = max((record.call for record in records), default=self._last_call)
        return records

    def used(self) -> Usage:
        """Return what the training calls have used up to now, of all roles together; asks as `records` does."""
        asked = self._asked
        known, usage = self._usage
        return usage if self._is_known(known) else self._learn(self._get("/ledger/used"), asked)

    def refusal(self) -> Refusal | None:
        """Return the cap that first turned one of this job's training calls away; None while none did."""
        asked = self._asked
        answer = self._get("/ledger/used")
        self._learn(answer, asked)
        refused = answer["refusal"]
        return Refusal(*refused) if refused else None

    def overshoot(self) -> dict[str, float]:
        """Return how far training is past its caps, by axis; only calls under way can do that."""
        return dict(self._get("/ledger/used")["overshoot"])

    def start_clock(self, *, elapsed: float = 0.0) -> float | None:
        """Let the cap in seconds count from `elapsed` seconds ago, unless it counts already; return since when, on the monotonic clock."""
        asked = self._asked
        answer = self._ask("POST", "/ledger/clock", key=self._access.engine_key, body={"elapsed": elapsed})
        self._learn(answer, asked)
        self._began = float(answer["began"])
        return self._began

    def began(self) -> float | None:
        """Return when the first training call, or `start_clock`, let the cap in seconds count; asks only where there can be news."""
        if self._began is None and not self._is_known(0):
            self._began = self._get("/ledger/used")["began"]
        return self._began

    def end_training(self) -> None:
        """End the training calls that are still under way, whoever made them, and file them; further ones are turned away."""
        asked = self._asked
        answer = self._ask("POST", "/ledger/end", key=self._access.engine_key, body={})
        self._known_records = -1
        self._learn(answer, asked)

    def score_anew(self) -> None:
        """Tell the gateway that a scoring which was cut short begins again: its requests count as if none had been made."""
        self._ask("POST", "/ledger/anew", key=self._access.engine_key, body={})

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _learn(self, standing: Mapping[str, Any], asked: int) -> Usage:
        """Keep and return the usage that an answer tells; `asked` is how many calls of ours were over before it was asked for."""
        usage = Usage(**standing["used"])
        self._usage = (asked, usage)
        return usage

    def _is_known(self, asked: int) -> bool:
        """Tell whether nothing can have been called since the `asked`-th call of ours."""
        return asked == self._asked and not self._has_open_door

    def _get(self, path: str) -> dict[str, Any]:
        return self._ask("GET", path, key=self._access.engine_key)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        key: str,
        body: Mapping[str, Any] | None = None,
        turn: turns.Turn | None = None,
    ) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        if turn is not None and content is not None:
            headers[turns.HEADER] = "{}.{}".format(*turn.place(f"{key} {content.decode()}"))
        status, text = self._exchange(method, path, headers, content)
        try:
            answer = json.loads(text)
        except ValueError as err:
            raise ModelError(f"the gateway's answer to `{path}` is not JSON", kind="malformed") from err
        if status != http.client.OK:
            _raise(status, answer)
        return dict(answer)

    def _exchange(self, method: str, path: str, headers: dict[str, str], content: bytes | None) -> tuple[int, bytes]:
        """Send and receive; a gateway that went away in between is asked again once it is back."""
        deadline = time.monotonic() + GONE_SECONDS
        while True:
            connection = self._connection()
            try:
                connection.request(method, path, body=content, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()
            except TimeoutError as err:
                self.close()
                raise ModelError(f"no answer within {self._access.timeout:g} s", kind="timeout") from err
            except (OSError, http.client.HTTPException) as err:
                self.close()
                if time.monotonic() > deadline:
                    raise ModelError(f"the gateway is gone: {err}", kind="refused") from err
                time.sleep(RECONNECT_DELAY)

    def _connection(self) -> http.client.HTTPConnection:
        """Return this thread's connection; one inherited through a fork is left to the parent."""
        local = self._local
        if getattr(local, "connection", None) is None or local.pid != os.getpid():
            local.connection = http.client.HTTPConnection(*self._address, timeout=self._access.timeout)
            local.pid = os.getpid()
        connection: http.client.HTTPConnection = local.connection
        return connection


def _raise(status: int, answer: Mapping[str, Any]) -> None:
    error = answer.get("error") or {}
    ours = error.get("tracebench") or {}
    if status == PAYMENT_REQUIRED:
        raise BudgetExhausted(ours.get("axis", "llm_calls"), scope=ours.get("scope", "job"))
    message = error.get("message", f"the gateway answered {status}")
    kind = ours.get("kind_of_failure", "request")
    raise ModelError(message, kind=kind, status_code=ours.get("provider_status") or status)


def _usage(usage: Mapping[str, Any], *, calls: int) -> Usage:
    """Return the tokens of an answer; what it cost is in the ledger's records."""
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        llm_calls=calls,
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        cached_tokens=details.get("cached_tokens") or 0,
        usd=None,
    )
