"""Failures, before a wire writes them in its own form. A refused budget is 402: clients retry 429 for minutes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracebench_gateway.access import Refusal
from tracebench_gateway.exchange import ProviderError
from tracebench_gateway.server.metering.accounts import refusal_text

FINAL = {"x-should-retry": "false"}
"""What OpenAI's and Anthropic's own clients honour: the gateway has retried already."""
STATUS = {
    "refused": 502,
    "timeout": 504,
    "rate_limited": 503,
    "server": 502,
    "malformed": 502,
    "auth": 502,
    "request": 400,
    "replay_miss": 409,
}
"""By kind of failure. A provider's 429 or 401 is no longer the caller's business: it holds no account there."""


class Refused(Exception):  # noqa: N818 - the call is refused; nothing went wrong
    """A cap forbids the call."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal_text(refusal))
        self.axis, self.scope = refusal


@dataclass(frozen=True, slots=True)
class Failure:
    """What a caller is told in place of an answer; `extra` tells our own client more."""

    status: int
    message: str
    kind: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=lambda: FINAL)


def failed(error: ProviderError) -> Failure:
    """Return the failure of a call that no model answered."""
    extra = {"kind_of_failure": error.kind, "provider_status": error.status_code}
    return Failure(STATUS[error.kind], str(error), error.kind, extra)


def refused(refusal: Refused, *, close: bool = False) -> Failure:
    """Return the failure of a call that a cap forbids."""
    extra = {"axis": refusal.axis, "scope": refusal.scope}
    headers = FINAL | ({"connection": "close"} if close else {})
    return Failure(402, str(refusal), "insufficient_quota", extra, headers)


def rejected(message: str, *, status: int, kind: str = "invalid_request_error") -> Failure:
    """Return the failure of a request that is not asked of any model."""
    headers = FINAL | ({"connection": "close"} if status in {401, 408, 413} else {})
    return Failure(status, message, kind, {"kind_of_failure": "request"}, headers)


def error_body(failure: Failure) -> dict[str, Any]:
    """Return OpenAI's error object."""
    named = {"message": failure.message, "type": failure.kind, "code": failure.kind, "param": None}
    return {"error": named | {"tracebench": dict(failure.extra)}}
