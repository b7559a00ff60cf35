"""Asks an evaluation server, and waits for it where it is away for a while."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import httpx
from pydantic import TypeAdapter, ValidationError

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import UsageError
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.server.orders import Order, sent

log = logging.getLogger(__name__)

TOKEN = "KERNELBENCH_TOKEN"  # noqa: S105 - the name of a variable
_POLL = 0.1
_SECONDS = 10.0
_VERDICT = TypeAdapter(Verdict)
_REFUSED = (400, 401, 403, 413, 422)


class Away(Exception):  # noqa: N818 - says where it is
    """The server does not answer, or not as one."""


class Client:
    """The server's API. Every method raises Away when there is no proper answer, NotMeasured when the answer is a refusal."""

    def __init__(self, address: str, *, token_variable: str | None = None) -> None:
        token = os.environ.get(token_variable or TOKEN)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.address = address if "://" in address else f"http://{address}"
        self._http = httpx.Client(base_url=self.address, headers=headers, timeout=_SECONDS, trust_env=False)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Disconnect."""
        self.close()

    def close(self) -> None:
        """Disconnect."""
        self._http.close()

    def status(self) -> dict[str, Any]:
        """Return devices and queue."""
        return self._ask("GET", "/status")

    def submit(self, order: Order) -> str:
        """Queue a candidate, and return the job's id."""
        job_id = self._ask("POST", "/evaluate", json=sent(order)).get("job_id")
        if not isinstance(job_id, str):
            raise Away("no job in its answer")
        return job_id

    def job(self, job_id: str) -> dict[str, Any] | None:
        """Return a job's state; None when the server does not know it."""
        answer = self._ask("GET", f"/job/{job_id}", missing=True)
        return answer or None

    def cancel(self, job_id: str) -> None:
        """End a job that nobody waits for any more."""
        self._ask("POST", f"/job/{job_id}/cancel", missing=True)

    def _ask(self, method: str, path: str, *, missing: bool = False, **extra: Any) -> dict[str, Any]:
        try:
            answer = self._http.request(method, path, **extra)
        except (httpx.HTTPError, httpx.InvalidURL) as err:
            raise Away(f"{type(err).__name__}: {err}") from err
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Away(f"status {answer.status_code}, and no JSON")
        if answer.status_code in _REFUSED:
            raise NotMeasured(
                f"The KernelBench server at {self.address} refuses this: {body.get('detail', answer.status_code)}",
                retry=False,
            )
        if missing and answer.status_code == httpx.codes.NOT_FOUND and "detail" in body:
            return {}
        if answer.is_error:
            raise Away(f"status {answer.status_code}")
        return body


class Servers:
    """One server or several. A job goes to the one with the least to do; where that one goes away, to another.

    One of several that refuses to be asked, as for its token, is left out and told of once in the log; the job goes to the others.
    """

    def __init__(self, addresses: str, *, token_variable: str | None = None) -> None:
        """Take addresses with commas between.

        Raises:
            UsageError: for none.
        """
        told = [address for part in addresses.split(",") if (address := part.strip())]
        if not told:
            raise UsageError("`server` names no address.", hint="server: http://127.0.0.1:6000")
        self.clients = [Client(address, token_variable=token_variable) for address in told]
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Disconnect."""
        for client in self.clients:
            client.close()

    def choose(self, avoided: Client | None) -> Client:
        """Return the server with the least to do for each of its devices; one that is `avoided` only where all others are away.

        Raises:
            Away: when none answers.
            NotMeasured: when all refuse to be asked.
        """
        if len(self.clients) == 1:
            return self.clients[0]
        loads: list[tuple[bool, float, int]] = []
        trouble: Away | None = None
        refusal: NotMeasured | None = None
        for place, client in enumerate(self.clients):
            try:
                loads.append((client is avoided, _load(client.status()), place))
            except Away as away:
                trouble = away
            except NotMeasured as refused:
                refusal = refused
                self._tell(str(refused))
        if not loads:
            raise trouble or refusal or Away("none answers")
        return self.clients[min(loads)[2]]

    def _tell(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            log.warning("%s; the others are asked", words)


def _load(status: dict[str, Any]) -> float:
    try:
        queue, devices = status["queue_info"], len(status["device_status"])
        return float(queue["queued_jobs"] + queue["active_jobs"]) / max(1, devices)
    except (KeyError, TypeError) as err:
        raise Away(f"no queue in its answer: {err!r}") from err


def judge_remotely(
    servers: Servers, order: Order, *, patience: float, check: Callable[[], None] = lambda: None
) -> Verdict:
    """Have a candidate judged. Servers that are away are asked again for `patience` seconds; one that has forgotten the job gets it anew.

    A job that is waited for no longer is cancelled.

    Raises:
        NotMeasured: when they stay away, or could not judge.
    """
    asked = _Asked(servers, order)
    try:
        while True:
            check()
            if (verdict := asked.look()) is not None:
                return verdict
            if time.monotonic() - asked.heard > patience:
                raise NotMeasured(f"The KernelBench server at {asked.client.address} is away ({asked.trouble}).")
            time.sleep(_POLL)
    except BaseException:
        asked.cancel()
        raise


class _Asked:
    """One order on its way: which server has it, under which id, and when it was heard of last."""

    def __init__(self, servers: Servers, order: Order) -> None:
        self._servers, self._order = servers, order
        self.client = servers.clients[0]
        self._job: str | None = None
        self._left: Client | None = None
        self.heard, self.trouble = time.monotonic(), ""

    def look(self) -> Verdict | None:
        """Send the order where no server has it, else ask after it; return the verdict once there is one.

        Raises:
            NotMeasured: when the server could not judge.
        """
        try:
            return self._look()
        except Away as away:
            self.trouble = str(away)
            if len(self._servers.clients) > 1:
                self._left, self._job = self.client, None
        return None

    def _look(self) -> Verdict | None:
        if self._job is None:
            self.client = self._servers.choose(self._left)
            self._job = self.client.submit(self._order)
        state = self.client.job(self._job)
        if state is None:
            self._job, self.trouble = None, "it forgets its jobs"
            return None
        if state.get("status") == "completed":
            return _verdict(state)
        if state.get("status") == "failed":
            self._job = None
            raise NotMeasured(f"The KernelBench server could not judge: {state.get('error')}", suspect=True)
        self.heard = time.monotonic()
        return None

    def cancel(self) -> None:
        """End a job that nobody waits for any more."""
        if self._job is not None:
            with suppress(Away, NotMeasured):
                self.client.cancel(self._job)


def _verdict(state: dict[str, Any]) -> Verdict:
    try:
        return _VERDICT.validate_python(state["result"]["metadata"]["verdict"])
    except (KeyError, TypeError, ValidationError) as err:
        raise Away(f"no verdict in its answer: {err!r}") from err
