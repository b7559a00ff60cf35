"""Calls of tools in a model's message, whatever a server left out of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4


def tool_calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of functions in a message, each with an id and a name."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        named = {"name": function.get("name") or "", "arguments": function.get("arguments") or ""}
        calls.append({"id": call.get("id") or f"call_{uuid4().hex}", "function": named})
    return calls


def arguments_of(call: Mapping[str, Any]) -> str:
    """Return a call's arguments as JSON text; some servers send an object."""
    arguments = call["function"]["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def input_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments as an object; what is none stands under `arguments`."""
    text = arguments_of(call)
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}
