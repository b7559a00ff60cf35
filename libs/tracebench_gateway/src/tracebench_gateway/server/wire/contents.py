"""Contents of Google's API, read into chat messages; a call without an id gets its place in the request as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tracebench_core.specs import Message
from tracebench_gateway.server.requests.fields import read_messages
from tracebench_gateway.server.requests.reading import BadRequest

OF_CONTENT = frozenset({"role", "parts"})
DATA = ("text", "inlineData", "functionCall", "functionResponse")
"""What a part may hold, one of them."""
REFUSED = ("fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse")
UNHEEDED = frozenset({"videoMetadata", "mediaResolution", "partMetadata"})
OF_PART = UNHEEDED.union(DATA, REFUSED, {"thought", "thoughtSignature"})
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
ROLES = {"user": "user", "model": "assistant", "function": "user"}


class Contents(NamedTuple):
    """A conversation in the form of the chat API, and what was left out of it."""

    messages: list[Message]
    left_out: tuple[str, ...]


def read_contents(data: Mapping[str, Any]) -> Contents:
    """Read `contents` and `systemInstruction`.

    Raises:
        BadRequest: naming the part that has no form in the chat API.
    """
    given = data.get("contents")
    if not isinstance(given, list) or not given:
        raise BadRequest("`contents` must be a non-empty list of objects with `parts`")
    reader = _Reader()
    if data.get("systemInstruction"):
        reader.read_system(data["systemInstruction"])
    for place, content in enumerate(_turns(given)):
        reader.read(content, f"contents[{place}]")
    return Contents(read_messages(reader.messages, "contents"), tuple(sorted(reader.left_out)))


def _turns(given: list[Any]) -> list[Any]:
    """Return contents with adjacent ones of the model as one: Google's client keeps a streamed answer piece by piece."""
    turns: list[Any] = []
    is_open = False
    for content in given:
        is_model = (
            isinstance(content, dict) and content.get("role") == "model" and isinstance(content.get("parts"), list)
        )
        if is_model and is_open and content.keys() == {"role", "parts"}:
            turns[-1]["parts"].extend(content["parts"])
        else:
            turns.append({**content, "parts": [*content["parts"]]} if is_model else content)
        is_open = is_model
    return turns


def named(data: Any, known: Iterable[str], where: str) -> dict[str, Any]:
    """Return an object with its known fields in camel case: Google's API takes them in snake case, too.

    Raises:
        BadRequest: when it is none, or has a field in both.
    """
    if not isinstance(data, dict):
        raise BadRequest(f"`{where}` must be an object")
    taken: dict[str, Any] = {}
    for name, value in data.items():
        camel = to_camel(name)
        key = camel if camel in known else name
        if key in taken:
            raise BadRequest(f"{where} has `{key}` twice")
        taken[key] = value
    return taken


def to_camel(name: str) -> str:
    """Return a name in camel case; one that is, is left as it is."""
    first, *others = name.lstrip("_").split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


class _Reader:
    """Goes through contents in order, and knows which calls wait for their results."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.left_out: set[str] = set()
        self._waiting: list[tuple[str, str]] = []
        """Ids and names of calls."""
        self._calls = 0

    def read_system(self, given: Any) -> None:
        parts = self._parts_of({"parts": [{"text": given}]} if isinstance(given, str) else given, "systemInstruction")
        if not all(isinstance(part.get("text"), str) for part in parts):
            raise BadRequest("`systemInstruction` must hold texts alone")
        self.messages.append({"role": "system", "content": "".join(part["text"] for part in parts)})

    def read(self, given: Any, where: str) -> None:
        """Add one content; results of functions are messages of their own, and come first."""
        content = named(given, OF_CONTENT, where)
        role = ROLES.get(content.get("role") or "user") if isinstance(content.get("role") or "", str) else None
        if role is None:
            raise BadRequest(f"`{where}.role` must be `user` or `model`")
        results: list[Message] = []
        parts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        thoughts = 0
        for part in self._parts_of(content, where):
            if part.get("thought") is True:
                thoughts += 1  # a model's earlier thoughts are not sent back to it
            elif part.get("functionCall") is not None:
                calls.append(self._call(part["functionCall"], where))
            elif part.get("functionResponse") is not None:
                results.append(self._result(part["functionResponse"], where))
            elif part.get("inlineData") is not None:
                parts.append(self._inline(part["inlineData"], where))
            else:
                parts.append({"type": "text", "text": part["text"]})
        self.messages += results
        if parts or calls or (thoughts and not results):
            own: Message = {"role": role, "content": _joined(parts)} | ({"tool_calls": calls} if calls else {})
            self.messages.append(own)

    def _parts_of(self, content: Any, where: str) -> list[dict[str, Any]]:
        given = named(content, OF_CONTENT, where)
        if unknown := sorted(given.keys() - OF_CONTENT):
            raise BadRequest(f"the gateway does not pass on `{where}.{unknown[0][:80]}`")
        if not isinstance(given.get("parts"), list) or not given["parts"]:
            raise BadRequest(f"`{where}.parts` must be a non-empty list of objects")
        parts = [named(part, OF_PART, f"{where}.parts[]") for part in given["parts"]]
        for part in parts:
            held = [name for name in DATA if part.get(name) is not None]
            strange = sorted(name for name in part if name in REFUSED or name not in OF_PART)
            if strange or len(held) > 1 or not (held or part.get("thought") or "thoughtSignature" in part):
                told = strange or held or sorted(part)
                raise BadRequest(
                    f"`{where}` holds a part that the gateway does not pass on: `{', '.join(told)[:80]}`"
                    + ("; send it as `inlineData`" if "fileData" in told else "")
                )
            if not held:
                part["text"] = ""
            if "text" in part and not isinstance(part["text"], str | None):
                raise BadRequest(f"`{where}` holds a text that is none")
            self.left_out |= {f"contents[].parts[].{name}" for name in UNHEEDED if part.get(name)}
        return parts

    def _call(self, given: Any, where: str) -> dict[str, Any]:
        call = self._known(given, ("id", "name", "args"), where, "functionCall")
        name, arguments = call.get("name"), call.get("args") or {}
        if not isinstance(name, str) or not name or not isinstance(arguments, dict):
            raise BadRequest(f"`{where}.functionCall` must have a `name`, and `args` that are an object")
        own = str(call.get("id") or f"call_{self._calls}")
        self._calls += 1
        self._waiting.append((own, name))
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        return {"id": own, "type": "function", "function": function}

    def _result(self, given: Any, where: str) -> Message:
        """Return what a function returned, as an answer to the earliest call of that name that has none, where it tells no id."""
        result = self._known(given, ("id", "name", "response", "parts"), where, "functionResponse")
        if result.get("parts"):
            raise BadRequest(f"`{where}.functionResponse.parts` is not passed on by the gateway")
        name, own = result.get("name"), result.get("id")
        fits = [call for call in self._waiting if (call[0] == own if own else call[1] == name)]
        if not fits and not own:
            raise BadRequest(f"`{where}.functionResponse` answers no call before it: `{str(name)[:80]}`")
        if fits:
            self._waiting.remove(fits[0])
        content = json.dumps(result.get("response") or {}, ensure_ascii=False)
        return {"role": "tool", "tool_call_id": fits[0][0] if fits else str(own), "content": content}

    def _inline(self, given: Any, where: str) -> dict[str, Any]:
        blob = self._known(given, ("mimeType", "data"), where, "inlineData")
        kind, data = blob.get("mimeType"), blob.get("data")
        if not isinstance(kind, str) or not isinstance(data, str):
            raise BadRequest(f"`{where}.inlineData` must have a `mimeType` and `data`")
        if kind.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{_standard(data)}"}}
        if kind in SOUNDS:
            return {"type": "input_audio", "input_audio": {"data": _standard(data), "format": SOUNDS[kind]}}
        raise BadRequest(f"`{where}.inlineData` is of a type that the gateway does not pass on: `{kind[:80]}`")

    def _known(self, given: Any, known: tuple[str, ...], where: str, name: str) -> dict[str, Any]:
        """Return what a part holds; what is not `known` of it is left out and told."""
        fields = named(given, known, f"{where}.{name}")
        self.left_out |= {f"contents[].parts[].{name}.{to_camel(key)[:80]}" for key in fields.keys() - {*known}}
        return fields


def _standard(data: str) -> str:
    """Return base64 in the usual alphabet: Google's clients write that for addresses, which a data URL does not have."""
    return data.translate(str.maketrans("-_", "+/"))


def _joined(parts: list[dict[str, Any]]) -> Any:
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts
