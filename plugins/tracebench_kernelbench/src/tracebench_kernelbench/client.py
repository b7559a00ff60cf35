"""Asks an evaluation server, and waits for it where it is away for a while."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Self

import httpx
from pydantic import TypeAdapter, ValidationError

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.options import Effort

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
        self._http.close()

    def status(self) -> dict[str, Any]:
        """Return devices and queue."""
        return self._ask("GET", "/status")

    def submit(self, problem: str, source: str, effort: Effort) -> str:
        """Queue a source, and return the job's id."""
        body = {"problem": problem, "custom_cuda": source, "effort": effort.model_dump()}
        job_id = self._ask("POST", "/evaluate", json=body).get("job_id")
        if not isinstance(job_id, str):
            raise Away("no job in its answer")
        return job_id

    def job(self, job_id: str) -> dict[str, Any] | None:
        """Return a job's state; None when the server does not know it."""
        answer = self._ask("GET", f"/job/{job_id}", missing=True)
        return answer or None

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


def judge_remotely(
    client: Client,
    problem: str,
    source: str,
    effort: Effort,
    *,
    patience: float,
    check: Callable[[], None] = lambda: None,
) -> Verdict:
    """Have a source judged. A server that is away is asked again for `patience` seconds; one that has forgotten the job gets it anew.

    Raises:
        NotMeasured: when it stays away, or could not judge.
    """
    job: str | None = None
    heard, trouble = time.monotonic(), ""
    while True:
        check()
        try:
            if job is None:
                job = client.submit(problem, source, effort)
            state = client.job(job)
            if state is None:
                job, trouble = None, "it forgets its jobs"
            elif state.get("status") == "completed":
                return _verdict(state)
            elif state.get("status") == "failed":
                raise NotMeasured(f"The KernelBench server could not judge: {state.get('error')}", suspect=True)
            else:
                heard = time.monotonic()
        except Away as away:
            trouble = str(away)
        if time.monotonic() - heard > patience:
            raise NotMeasured(f"The KernelBench server at {client.address} is away ({trouble}).")
        time.sleep(_POLL)


def _verdict(state: dict[str, Any]) -> Verdict:
    try:
        return _VERDICT.validate_python(state["result"]["metadata"]["verdict"])
    except (KeyError, TypeError, ValidationError) as err:
        raise Away(f"no verdict in its answer: {err!r}") from err
