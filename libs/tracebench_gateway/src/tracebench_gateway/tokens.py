"""Keys that carry their own account: signed claims, so that registering a job costs no round trip."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import zlib
from typing import Any

from pydantic import Field

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Budget, ModelIdentity, Role
from tracebench_core.specs.base import Spec
from tracebench_gateway.access import Phase

PREFIX = "tb-"
SIGNATURE_BYTES = 16
LONGEST_TOKEN = 16_384
"""Characters. HTTP headers are not meant for more; hints that do not fit are left out."""


class Claims(Spec):
    """Whose call it is, and what it may use."""

    job_id: str
    attempt: str
    """Tells a re-run of a job from its earlier tries: each starts from an unspent budget."""
    role: Role
    phase: Phase
    seed: int
    budget: Budget
    model: ModelIdentity
    variant: str = ""
    """Which of the run's variants of models the job belongs to."""
    recorded: str = ""
    """In a replay: the job of the recording that this one repeats."""
    is_engine: bool = False
    """The engine's own key: it opens the account and asks no model."""
    hints: dict[str, Any] = Field(default_factory=dict)
    """What the stub model may know of the job's parameters: `{"parameters": [Parameter as JSON, ...]}`."""


def sign(claims: Claims, *, secret: bytes) -> str:
    """Return the key for these claims: URL-safe characters only, the same for the same claims and secret."""
    token = _seal(claims, secret)
    return token if len(token) <= LONGEST_TOKEN else _seal(claims.model_copy(update={"hints": {}}), secret)


def verify(token: str, *, secret: bytes) -> Claims | None:
    """Return the claims of a key that was signed with `secret`, and None for anything else."""
    body, _, signature = token.removeprefix(PREFIX).partition(".")
    if not token.startswith(PREFIX) or not hmac.compare_digest(signature.encode(), _signature(body, secret).encode()):
        return None
    try:
        return Claims(**json.loads(zlib.decompress(base64.urlsafe_b64decode(body))))
    except (ValueError, binascii.Error, zlib.error):
        return None


def _seal(claims: Claims, secret: bytes) -> str:
    packed = zlib.compress(canonical_json(claims.model_dump(mode="json", exclude_defaults=True)))
    body = base64.urlsafe_b64encode(packed).decode()
    return f"{PREFIX}{body}.{_signature(body, secret)}"


def _signature(body: str, secret: bytes) -> str:
    return hmac.new(secret, body.encode(), hashlib.sha256).hexdigest()[: 2 * SIGNATURE_BYTES]
