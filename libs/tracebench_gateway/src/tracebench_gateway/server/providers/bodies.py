"""What a server of OpenAI's API answers, by what is asked of it: chat, a bare completion, vectors."""

from __future__ import annotations

import json
from typing import Any

from tracebench_gateway.exchange import Kind, ProviderError, Reply, Tokens
from tracebench_gateway.server.providers.pieces import kept_message
from tracebench_gateway.server.providers.usage import read_usage

PATHS: dict[Kind, str] = {"chat": "/chat/completions", "completion": "/completions", "embedding": "/embeddings"}


def reply_of(content: bytes, kind: Kind) -> Reply:
    """Return what a whole answer says.

    Raises:
        ProviderError: `malformed`, with the counts of what was served all the same, where the answer has them.
    """
    try:
        data = json.loads(content)
    except ValueError as err:
        raise _malformed(content, is_served=content.lstrip().startswith(b"{")) from err
    if not isinstance(data, dict):
        raise _malformed(content)
    usage = read_usage(data)
    try:
        return _vectors(data, usage) if kind == "embedding" else _answer(data, kind, usage)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as err:
        raise _malformed(content, usage, is_served="error" not in data) from err


def _answer(data: dict[str, Any], kind: Kind, usage: Tokens | int | None) -> Reply:
    choice = data["choices"][0]
    message = {"content": choice["text"]} if kind == "completion" else choice["message"]
    kept = {"role": "assistant", "content": ""} | kept_message(message)
    return Reply(kept, str(choice.get("finish_reason") or "stop"), **counted(usage))


def _vectors(data: dict[str, Any], usage: Tokens | int | None) -> Reply:
    entries = sorted(data["data"], key=lambda entry: entry["index"])
    vectors = [[float(x) for x in entry["embedding"]] for entry in entries]
    if isinstance(usage, int):
        usage = Tokens(prompt=usage, completion=0)
    return Reply({"embeddings": vectors}, "stop", **counted(usage))


def counted(usage: Tokens | int | None) -> dict[str, Any]:
    """Return counts as a reply holds them."""
    return {"total": usage} if isinstance(usage, int) else {"reported": usage}


def _malformed(content: bytes, usage: Tokens | int | None = None, *, is_served: bool = False) -> ProviderError:
    """`is_served`: a model's answer, cut or empty, for which its provider charges; a page of some proxy is none."""
    text = content.decode(errors="replace")
    return ProviderError(
        f"the answer is no completion: {text[:200]}",
        kind="malformed",
        reported=usage if isinstance(usage, Tokens) else None,
        served=text if is_served else None,
    )
