"""How a job asks models: the standard library's HTTP with one kept connection a thread, and nothing heavier."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_gateway import turns
from tracebench_gateway.access import LEDGER_HEADER, JobAccess, Phase, Refusal

_lock = threading.Lock()
LONGEST_WAIT = 2_000_000.0
"""Seconds of one wait: the system counts milliseconds in 31 bits, and Python takes what is beyond for another number (or raises)."""
_TOLD_AS: dict[Phase, str] = {"training": "refusal", "scoring": "scoring_refusal"}


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - in the parent, another thread may have held it
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class JobCalls:
    """Takes what answers tell, in whatever order they come. Threads may share it, and a forked child may go on with it.

    A gap is a call whose answer was lost, or told nothing: then there may be records that no answer has told of.
    """

    def __init__(self, *, is_whole: bool) -> None:
        """`is_whole`: nothing was called before the first answer."""
        self.used = Usage()
        self.refusals: dict[Phase, Refusal | None] = {"training": None, "scoring": None}
        self.began: float | None = None
        self._calls = -1
        """How many calls were filed when the standing was told."""
        self._before = 0
        """How many calls there were before the first of the records."""
        self._records: list[Mapping[str, Any]] = []
        self._gaps = 0 if is_whole else 1
        self._closed = 0

    @property
    def is_whole(self) -> bool:
        """Whether there is no gap."""
        return self._closed == self._gaps

    @property
    def last(self) -> int:
        """The number of the last record."""
        return self._before + len(self._records)

    @property
    def gaps(self) -> int:
        """How many gaps there were; whoever asks for what is missing says afterwards that these are closed."""
        return self._gaps

    def begin_after(self, call: int) -> None:
        """Let the records begin after a call, whether or not they did."""
        with _lock:
            if self._before <= call <= self.last:
                del self._records[: call - self._before]
            else:
                self._records, self._gaps = [], self._gaps + 1
            self._before = call

    def records(self) -> list[Mapping[str, Any]]:
        """Return the records."""
        with _lock:
            return list(self._records)

    def hear(self, standing: Mapping[str, Any] | None, *, closed: int = 0) -> None:
        """Take an answer: a standing with the records that follow those told before; None is a gap. It closes the first `closed` gaps."""
        with _lock:
            if standing is None:
                self._gaps += 1
                return
            for record in standing["records"]:
                if record["call"] == self.last + 1:
                    self._records.append(record)
            self._gaps += standing["calls"] > self.last
            self._closed = max(self._closed, closed)
            if standing["calls"] >= self._calls:
                self._calls = standing["calls"]
                self.used = Usage(**standing["used"])
                for phase, name in _TOLD_AS.items():
                    self.refusals[phase] = Refusal(*standing[name]) if standing[name] else None
                self.began = standing["began"]


GONE_SECONDS = 60.0
"""How long a gateway that was killed is waited for, until it is given up."""
RECONNECT_DELAY = 0.05
PAYMENT_REQUIRED = 402

_forks: list[None] = []
"""As many as there were forks of this process and of its parents."""
os.register_at_fork(after_in_parent=partial(_forks.append, None), after_in_child=partial(_forks.append, None))


class GatewayClient:
    """One job's line to the gateway. Threads may share it, and a forked child may go on with it."""

    def __init__(self, access: JobAccess, *, is_fresh: bool = False) -> None:
        """`is_fresh`: nobody has asked anything with this access yet."""
        self._access = access
        parts = urlsplit(access.base_url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._prefix = parts.path
        self._local = threading.local()
        self._told = JobCalls(is_whole=is_fresh)
        self._has_open_door = False
        self._forks = len(_forks)
        self._is_untouched = is_fresh
        self._is_over = False

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask the role's model; returns `n` completions, the first of which carries the usage of all.

        Raises:
            BudgetExhausted: when a cap of the job or the run is reached.
            ModelError: when the model cannot be asked or its answer is no completion.
        """
        self._touch(phase)
        model = self._access.models[role].model
        body = {"model": model, "messages": list(messages), "n": n} | sampling
        path, key = f"{self._prefix}/chat/completions", self._access.keys[role][phase]
        headers = {LEDGER_HEADER: f"{self._access.engine_key} {self._told.last}"}
        headers[turns.KEY_HEADER] = secrets.token_hex(8)
        if asker := turns.asker():
            headers[turns.ASKER_HEADER] = asker + (turns.TRAINING if phase == "training" else "")
        answer: dict[str, Any] = {}
        try:
            status, answer = self._send("POST", path, key=key, body=body, headers=headers, turn=turns.current())
        finally:
            self._told.hear(answer.get("tracebench"))
        if status != http.client.OK:
            _raise(status, answer)
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
        self._touch(phase)
        self._has_open_door = True
        key = self._access.keys[role][phase]
        return Endpoint(base_url=self._access.base_url, api_key=SecretStr(key), model=self._access.models[role].model)

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return this job's calls numbered higher than `after`, in order, whoever made them.

        The answer to a call tells what was filed up to then. The gateway is asked only when there can be news beside that: after a call
        whose answer was lost, or once others can call: through an open door, or as forked children.
        """
        self._told.begin_after(after)
        self._catch_up()
        return [LLMCall(**record) for record in self._told.records()]

    def used(self) -> Usage:
        """Return what the training calls have used up to now, of all roles together; asks as `records` does."""
        self._catch_up()
        return self._told.used

    def refusal(self, phase: Phase = "training") -> Refusal | None:
        """Return the cap that first turned one of this job's calls of a phase away; None while none did. Asks as `records` does."""
        self._catch_up()
        return self._told.refusals[phase]

    def overshoot(self) -> dict[str, float]:
        """Return how far training is past its caps, by axis; only calls under way can do that."""
        return dict(self._ask("GET", "/ledger/records")["overshoot"])

    def start_clock(self, *, elapsed: float = 0.0) -> float | None:
        """Let the cap in seconds count from `elapsed` seconds ago, unless it counts already; return since when, on the monotonic clock."""
        self._ask("POST", "/ledger/clock", {"elapsed": elapsed})
        return self._told.began

    def began(self) -> float | None:
        """Return when the first training call, or `start_clock`, let the cap in seconds count; asks only where there can be news."""
        if self._told.began is None:
            self._catch_up()
        return self._told.began

    def end_training(self) -> None:
        """End the training calls that are still under way, whoever made them, and file them; further ones are turned away.

        The gateway is not told where nobody can have asked it for anything, until somebody does.
        """
        self._is_over = True
        if not self._is_untouched or self._is_shared:
            self._end_training()

    def score_anew(self) -> None:
        """Tell the gateway that a scoring which was cut short begins again: its requests count as if none had been made."""
        self._ask("POST", "/ledger/anew", {})

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    @property
    def _is_shared(self) -> bool:
        """Whether others can make calls that our own answers do not tell of."""
        return self._has_open_door or self._forks != len(_forks)

    def _touch(self, phase: Phase) -> None:
        """Somebody is about to ask: a gateway that was not told that training is over is told now."""
        self._is_untouched = False
        if self._is_over and phase == "training":
            self._end_training()

    def _end_training(self) -> None:
        self._ask("POST", "/ledger/end", {})
        self._has_open_door, self._forks, self._is_over = False, len(_forks), False

    def _catch_up(self) -> None:
        """Ask for what no answer has told of, where there can be such a thing."""
        if self._is_shared or not self._told.is_whole:
            self._ask("GET", "/ledger/records")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask for the engine; the answer tells how the job stands."""
        gaps, after = self._told.gaps, self._told.last
        status, answer = self._send(method, f"{path}?after={after}", key=self._access.engine_key, body=body)
        if status != http.client.OK:
            _raise(status, answer)
        self._told.hear(answer, closed=gaps)
        return answer

    def _send(
        self,
        method: str,
        path: str,
        *,
        key: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        turn: turns.Turn | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """Send a request; return the status and the object of its answer."""
        sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        if turn is not None and content is not None:
            sent[turns.HEADER] = "{}.{}".format(*turn.place(f"{key} {content.decode()}"))
        status, text = self._exchange(method, path, sent, content)
        try:
            return status, dict(json.loads(text))
        except (ValueError, TypeError) as err:
            raise ModelError(f"the gateway's answer to `{path}` is not JSON", kind="malformed") from err

    def _exchange(self, method: str, path: str, headers: dict[str, str], content: bytes | None) -> tuple[int, bytes]:
        """Send and receive; a gateway that went away in between is asked again once it is back, under the same key."""
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
            local.connection = http.client.HTTPConnection(
                *self._address, timeout=min(self._access.timeout, LONGEST_WAIT)
            )
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
