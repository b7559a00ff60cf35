"""What litellm's exceptions mean: one kind of failure for each."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from tracebench_core.errors import typed
from tracebench_gateway.exchange import ProviderError
from tracebench_gateway.routing import INSTALL

KINDS = (
    ("timeout", ("Timeout", "APITimeoutError")),
    ("rate_limited", ("RateLimitError",)),
    ("auth", ("AuthenticationError", "PermissionDeniedError")),
    ("server", ("InternalServerError", "ServiceUnavailableError", "BadGatewayError")),
    ("request", ("BadRequestError", "NotFoundError", "UnprocessableEntityError")),
    ("malformed", ("APIResponseValidationError", "JSONDecodeError")),
    ("refused", ("APIConnectionError", "ConnectError", "RemoteProtocolError", "ReadError")),
)
"""By class name, bases included, so that litellm need not be imported to tell."""
MALFORMED_SIGNS = ("Empty or invalid response", "Expecting value", "Expecting ',' delimiter", "Unterminated string")
"""litellm raises server errors for answers that it could not read, too."""
CUT_SIGNS = ("Expecting ',' delimiter", "Unterminated string")
"""Of these, what tells of JSON that began well: a model's answer, which is charged."""
REFUSED_SIGNS = ("Connection error", "Cannot connect", "Server disconnected", "Connection reset")
"""And for connections that were refused or dropped."""
NO_MODULE = re.compile(r"No module named '([\w.]+)'")
"""litellm hides a package that it lacks among connections that failed."""
LONGEST_MESSAGE = 2_000


def as_provider_error(error: Exception, *, base_url: str | None = None) -> ProviderError:
    """Return the failure that an exception of litellm stands for."""
    status = getattr(error, "status_code", None)
    where = f"at `{base_url}`: " if base_url else ""
    text = f"{where}{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
    if lacking := NO_MODULE.search(str(error)):
        text = f"litellm takes the package `{lacking[1]}` for this model, and it is not installed. {typed(INSTALL)}"
        return ProviderError(text, kind="auth")  # asking again would not help
    kind = _kind(error)
    served = "" if kind == "malformed" and any(sign in str(error) for sign in CUT_SIGNS) else None
    return ProviderError(text, kind=kind, status_code=status, retry_after=_retry_after(error), served=served)


def _kind(error: Exception) -> str:
    names = {base.__name__ for base in type(error).__mro__}
    kind = next((kind for kind, classes in KINDS if names & set(classes)), "malformed")
    if kind in {"refused", "server"}:
        text = str(error)
        if any(sign in text for sign in MALFORMED_SIGNS):
            return "malformed"
        if any(sign in text for sign in REFUSED_SIGNS):
            return "refused"
    return kind


def _retry_after(error: Any) -> float | None:
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    return retry_after_seconds(headers.get("retry-after"))


def retry_after_seconds(value: str | None) -> float | None:
    """Return `Retry-After` in seconds: a number, or the date of RFC 9110, section 10.2.3."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
