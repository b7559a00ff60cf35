"""Completions, endpoints and the record of one model call."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, SecretStr

from tracebench_core.specs.base import Spec
from tracebench_core.specs.budget import Usage

Message = dict[str, Any]
"""One chat message in OpenAI's form: `{"role": "user", "content": "…"}`."""


class Completion(Spec):
    """One answer of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    text: str
    model: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    """Of the whole request, on the first completion of it; zero on the others."""


class Endpoint(Spec):
    """An OpenAI-compatible door for foreign frameworks and subprocesses. The key is the job's own, never a provider's."""

    base_url: str
    """Ends in `/v1`."""
    api_key: SecretStr
    model: str
