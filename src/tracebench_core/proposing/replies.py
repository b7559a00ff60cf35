"""Read a model's free-form reply into suggested values: JSON, XML or one fenced block, whichever the model chose."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tracebench_core.specs import Parameter

STARTS = 64
"""How many opening braces of one reply are tried as the beginning of an object."""

_FENCE = re.compile(r"```[\w+-]*[ \t]*\r?\n(.*?)(?:\r?\n|\r|(?<![ \t]))[ \t]*```", re.DOTALL)
_VARIABLE = re.compile(r"<variable\b")
_OPENS = re.compile(r"\s*<(name|value)>")
_NAME_ENDS = re.compile(r"</name>\s*<value>")
_VALUE_ENDS = re.compile(r"</value>\s*</variable>")
_NAME_ATTRIBUTE = re.compile(r"""\bname\s*=\s*["'](.*?)["']""")
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*+"?)|,(\s*[}\]])', re.DOTALL)
"""A string that never ends goes to the end of the text: looked for from every quote in it, the end would cost the square of its length."""
_WRAPPERS = ("values", "suggestion", "variables")
_DECODER = json.JSONDecoder(strict=False)


class UnreadableReply(ValueError):  # noqa: N818 - says what the reply is
    """The reply names no value in any form that is understood; the text says what was missing, for the model to read."""


def read_reply(text: str, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the suggested values by name, as the model wrote them: untyped, unchecked, perhaps of unknown names.

    Raises:
        UnreadableReply: when there is nothing to read.
    """
    if not text.strip():
        raise UnreadableReply("the reply was empty")
    names = {p.name for p in parameters}
    if variables := _read_xml(text):
        return variables
    for candidate in _objects(text):
        values = _values_of(candidate, names)
        if values is not None:
            return values
    if (block := _read_fenced(text, parameters)) is not None:
        return block
    raise UnreadableReply("the reply held no JSON object with the key `values`")


def strip_fence(text: str) -> str:
    """Return the content of `text` when all of it is one fenced block, else `text` itself."""
    match = _FENCE.fullmatch(text.strip())
    return match[1] if match else text


def _read_xml(text: str) -> dict[str, Any]:
    found = {}
    for attributes, within, value in _variables(text):
        attribute = _NAME_ATTRIBUTE.search(attributes)
        name = within.strip() or (attribute[1] if attribute else None)
        if name:
            found[name] = re.sub(r"\A[ \t]*\r?\n|\r?\n[ \t]*\Z", "", value)
    return found


def _variables(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each `<variable …><name>…</name><value>…</value></variable>`: attributes, name (it may be missing), value.

    No end is looked for twice, as by an expression for the whole, which takes the square of a reply's length.
    """
    at, endless = 0, len(text) + 1
    named = _NAME_ENDS.search(text)
    while (start := _VARIABLE.search(text, at)) is not None and (at := text.find(">", start.end()) + 1):
        tagged = start.end(), at - 1
        if (opens := _OPENS.match(text, at)) is None:
            continue
        begin, name = opens.end(), (0, 0)
        if opens[1] == "name":
            if named is not None and named.start() < begin:
                named = _NAME_ENDS.search(text, begin)
            if named is None:
                continue
            name, begin = (begin, named.start()), named.end()
        ends = _VALUE_ENDS.search(text, begin) if begin < endless else None
        if ends is None:
            endless = min(endless, begin)
            continue
        yield text[slice(*tagged)], text[slice(*name)], text[begin : ends.start()]
        at = ends.end()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a reply: the reply itself, then its fenced blocks, then whatever starts with a brace."""
    for whole in (text, *_FENCE.findall(text)):
        if isinstance(value := _decode(whole.strip()), dict):
            yield value
    for count, match in enumerate(re.finditer(r"\{", text)):
        if count == STARTS:
            return
        if isinstance(value := _decode_prefix(text[match.start() :]), dict):
            yield value


def _decode(text: str) -> Any:
    if not text.startswith("{"):
        return None
    for attempt in (text, _STRING_OR_TRAILING_COMMA.sub(lambda m: m[1] or m[2], text)):
        try:
            return _DECODER.decode(attempt)
        except (ValueError, RecursionError):
            continue
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _decode_prefix(text: str) -> Any:
    for attempt in (text, _STRING_OR_TRAILING_COMMA.sub(lambda m: m[1] or m[2], text)):
        try:
            return _DECODER.raw_decode(attempt)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _values_of(reply: dict[str, Any], names: set[str]) -> dict[str, Any] | None:
    for key in _WRAPPERS:
        if key not in names and isinstance(inner := reply.get(key), dict):
            return {_name(k): v for k, v in inner.items()}
    return {k: v for k, v in reply.items() if k in names} or None


def _name(written: Any) -> str:
    """Return a name as text: a literal of Python may hold any value in its place, and JSON half of a character."""
    return str(written).encode(errors="replace").decode()


def _read_fenced(text: str, parameters: Sequence[Parameter]) -> dict[str, Any] | None:
    """Take the last fenced block as the value of the only parameter, or of the only one that is code."""
    blocks = _FENCE.findall(text)
    code = [p for p in parameters if p.kind == "code"]
    target = parameters[0] if len(parameters) == 1 else code[0] if len(code) == 1 else None
    return {target.name: blocks[-1]} if blocks and target is not None else None
