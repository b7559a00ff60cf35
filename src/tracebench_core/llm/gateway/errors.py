"""Failures in OpenAI's form. A refused budget is 402: clients retry 429 for minutes."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

from tracebench_core.llm.exchange import ProviderError
from tracebench_core.llm.gateway.service import Refused

FINAL = {"x-should-retry": "false"}
"""What OpenAI's own client honours: the gateway has retried already."""
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


def error_body(message: str, *, kind: str, **extra: Any) -> dict[str, Any]:
    """Return OpenAI's error object; `extra` tells our own client more."""
    return {"error": {"message": message, "type": kind, "code": kind, "param": None, "tracebench": extra}}


def failed(error: ProviderError) -> JSONResponse:
    """Return the answer for a call that no model answered."""
    body = error_body(str(error), kind=error.kind, kind_of_failure=error.kind, provider_status=error.status_code)
    return JSONResponse(body, STATUS[error.kind], headers=FINAL)


def refused(refusal: Refused, *, close: bool) -> JSONResponse:
    """Return the answer for a call that a cap forbids."""
    body = error_body(str(refusal), kind="insufficient_quota", axis=refusal.axis, scope=refusal.scope)
    return JSONResponse(body, 402, headers=FINAL | ({"connection": "close"} if close else {}))


def rejected(message: str, *, status: int, kind: str = "invalid_request_error") -> JSONResponse:
    """Return the answer for a request that is not asked of any model."""
    return JSONResponse(error_body(message, kind=kind, kind_of_failure="request"), status, headers=FINAL)
