"""Tools that a request offers: functions reach the model, what only the provider could run is left out and told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tracebench_gateway.server.requests.reading import BadRequest


class Offered(NamedTuple):
    """The functions of a request in the form of the chat API, and what became of the rest."""

    functions: list[dict[str, Any]]
    left_out: tuple[str, ...]
    """`tools[].<type>`, by the type of each tool that is left out."""
    namespaces: dict[str, str]
    """By name of a function, the namespace that it was offered in."""


NOTHING = Offered([], (), {})


def read_functions(given: Any) -> Offered:
    """Read the tools of OpenAI's Responses; a namespace is flattened into its functions.

    Raises:
        BadRequest: when they are no list of objects.
    """
    functions, kinds, namespaces = [], set[str](), dict[str, str]()
    for tool in objects(given, "tools"):
        kind = tool.get("type")
        if kind == "namespace":
            inside = read_functions(tool.get("tools"))
            functions += inside.functions
            kinds |= {*inside.left_out}
            namespaces |= {f["function"]["name"]: str(tool.get("name")) for f in inside.functions}
        elif kind == "function":
            named = {k: tool[k] for k in ("name", "description", "parameters", "strict") if tool.get(k) is not None}
            functions.append({"type": "function", "function": {"name": "", **named}})
        else:
            kinds.add(_told(kind))
    return Offered(functions, tuple(sorted(kinds)), namespaces)


def read_custom(given: Any) -> Offered:
    """Read the tools of Anthropic's Messages.

    Raises:
        BadRequest: when they are no list of objects.
    """
    functions, kinds = [], set[str]()
    for tool in objects(given, "tools"):
        if tool.get("type", "custom") not in {"custom", None} or "input_schema" not in tool:
            kinds.add(_told(tool.get("type")))
            continue
        described = {"description": tool["description"]} if tool.get("description") else {}
        function = {"name": tool.get("name"), **described, "parameters": tool["input_schema"]}
        cached = {"cache_control": tool["cache_control"]} if tool.get("cache_control") else {}
        functions.append({"type": "function", "function": function, **cached})
    return Offered(functions, tuple(sorted(kinds)), {})


def refuse_forced(name: str | None, offered: Offered, *, must_call: bool) -> None:
    """See that what a request forces the model to call is there.

    Args:
        name: of the tool that it must call; None where it may choose.
        must_call: it must call some tool.

    Raises:
        BadRequest: when it was left out.
    """
    if not offered.left_out:
        return
    if (name is None and must_call and not offered.functions) or (
        name is not None and all(f["function"]["name"] != name for f in offered.functions)
    ):
        kinds = ", ".join(f"`{kind.removeprefix('tools[].')}`" for kind in offered.left_out)
        raise BadRequest(
            f"the request forces a tool that the gateway cannot offer; it runs no tools of a provider's: {kinds}"
        )


def of_functions(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields about tools, none of which stands where no function is left."""
    if sampling.get("tools"):
        return dict(sampling)
    return {k: v for k, v in sampling.items() if k not in {"tools", "tool_choice", "parallel_tool_calls"}}


def objects(given: Any, name: str) -> list[dict[str, Any]]:
    """Return a list of objects, none where nothing is given.

    Raises:
        BadRequest: naming the field, when it is no such list.
    """
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(tool, dict) for tool in given):
        raise BadRequest(f"`{name}` must be a list of objects")
    return given


def _told(kind: Any) -> str:
    return f"tools[].{str(kind)[:80]}"
