"""`POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`, under `/v1`, too: Google's API. n candidates are n calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tracebench_core.specs import LLMConfig
from tracebench_gateway.server.errors import Failure
from tracebench_gateway.server.requests.asked import MOST_CHOICES, Asked, choose_model, with_defaults
from tracebench_gateway.server.requests.fields import left_out_of, read_choices, take_fields
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.server.wire.base import Answer, StreamWriter, event, input_of, tool_calls_of, total
from tracebench_gateway.server.wire.contents import named, read_contents
from tracebench_gateway.server.wire.declarations import plain_schema, read_declarations, tool_choice
from tracebench_gateway.server.wire.messages import effort_of
from tracebench_gateway.server.wire.tools import of_functions
from tracebench_gateway.tokens import Claims

WHOLE, STREAMED = "generateContent", "streamGenerateContent"
DROPPED = frozenset({"safetySettings", "labels", "serviceTier", "store"})
OWN = DROPPED | {
    "model", "method", "alt", "contents", "systemInstruction", "generationConfig", "tools", "toolConfig", "cachedContent"
}  # fmt: skip
RENAMED = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
"""Fields of `generationConfig` that the chat API has under another name."""
CONFIG_DROPPED = frozenset(
    {"logprobs", "responseLogprobs", "speechConfig", "mediaResolution", "imageConfig", "audioTimestamp", "routingConfig", "modelConfig",
     "enableEnhancedCivicAnswers", "enableAffectiveDialog", "audioTranscriptionConfig", "modelArmorConfig"}
)  # fmt: skip
CONFIG = (
    CONFIG_DROPPED
    | RENAMED.keys()
    | {
        "candidateCount",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "responseModalities",
        "thinkingConfig",
    }
)
THINKING = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
FINISH_REASONS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
"""Any other is `STOP`; calls of functions are no reason of their own."""
ERRORS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "RESOURCE_EXHAUSTED", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED",
          409: "ABORTED", 413: "INVALID_ARGUMENT", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}  # fmt: skip


class GeminiWire:
    """See `Wire`. The address tells the `model`, the `method` and `alt`, the form of a stream."""

    def read(self, data: dict[str, Any], *, claims: Claims, llm: LLMConfig) -> Asked:
        """See `Wire`."""
        data = named(data, OWN, "the request")
        method = data.get("method", WHOLE)
        if method not in (WHOLE, STREAMED):
            raise BadRequest(f"the gateway offers `{WHOLE}` and `{STREAMED}`, not `{str(method)[:80]}`", status=404)
        model = choose_model(_name(data.get("model")), claims)
        if data.get("cachedContent"):
            raise BadRequest(
                "`cachedContent` needs what earlier requests left; send the whole conversation as `contents`"
            )
        config = named(_object(data, "generationConfig"), CONFIG, "generationConfig")
        if unknown := sorted(config.keys() - CONFIG):
            raise BadRequest(f"the gateway does not pass on `generationConfig.{unknown[0][:80]}`")
        offered = read_declarations(data.get("tools"))
        offered, choice, unheeded = tool_choice(_object(data, "toolConfig"), offered)
        thinking = named(_object(config, "thinkingConfig"), THINKING, "generationConfig.thinkingConfig")
        translated = _sampling(config) | {
            "reasoning_effort": _effort(thinking),
            "tools": offered.functions or None,
            "tool_choice": choice,
        }
        plain = {name: value for name, value in data.items() if name not in OWN}
        given = take_fields(
            plain | {k: v for k, v in translated.items() if v is not None}, known=frozenset({"extra_body"})
        )
        contents = read_contents(data)
        return Asked(
            model=model,
            conversations=[contents.messages],
            sampling=with_defaults(of_functions(given), model, claims=claims, llm=llm),
            choices=read_choices(config, "candidateCount", most=MOST_CHOICES),
            stream=method == STREAMED,
            left_out=(
                *left_out_of(data, DROPPED),
                *(f"generationConfig.{name}" for name in left_out_of(config, CONFIG_DROPPED)),
                *contents.left_out,
                *offered.left_out,
                *unheeded,
            ),
            own={"thoughts": thinking.get("includeThoughts") is True, "sse": data.get("alt") == "sse"},
        )

    def whole(self, asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
        """See `Wire`."""
        candidates = [
            _candidate(index, _parts(answer.reply.message, asked), answer) for index, answer in enumerate(answers)
        ]
        return {"candidates": candidates, "usageMetadata": _usage(answers), **_tail(asked, uuid4().hex)}

    def stream(self, asked: Asked) -> StreamWriter:
        """See `Wire`."""
        return GeminiStream(asked)

    def error(self, failure: Failure) -> dict[str, Any]:
        """See `Wire`."""
        status = ERRORS.get(failure.status, "INTERNAL")
        told = {"code": failure.status, "message": failure.message, "status": status}
        return {"error": told | {"tracebench": dict(failure.extra)}}


class GeminiStream:
    """See `StreamWriter`. Events under `alt=sse`, else one JSON array; calls of functions come whole, with the last piece."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._id = uuid4().hex
        self._is_begun = False
        self.media_type = "text/event-stream" if asked.own["sse"] else "application/json"

    def open(self) -> bytes:
        """See `StreamWriter`."""
        return b""

    def delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        """See `StreamWriter`."""
        parts = _parts({name: delta[name] for name in delta if name != "tool_calls"}, self._asked, is_whole=False)
        return self._piece({"candidates": [_candidate(index, parts, None)]}) if parts else b""

    def finish(self, index: int, answer: Answer) -> bytes:
        """See `StreamWriter`."""
        return b""  # clients look for the reason and the usage in the last piece

    def close(self, answers: Sequence[Answer]) -> bytes:
        """See `StreamWriter`."""
        ends = [
            _candidate(index, _calls(answer.reply.message) or [{"text": ""}], answer)
            for index, answer in enumerate(answers)
        ]
        return self._piece({"candidates": ends, "usageMetadata": _usage(answers)}) + self._end()

    def fail(self, failure: Failure) -> bytes:
        """See `StreamWriter`."""
        return self._said(GeminiWire().error(failure)) + self._end()

    def _piece(self, data: Mapping[str, Any]) -> bytes:
        return self._said({**data, **_tail(self._asked, self._id)})

    def _said(self, data: Mapping[str, Any]) -> bytes:
        if self._asked.own["sse"]:
            return event(data)
        before = b",\r\n" if self._is_begun else b"["
        self._is_begun = True
        return before + json.dumps(data, separators=(",", ":")).encode()

    def _end(self) -> bytes:
        return b"" if self._asked.own["sse"] else b"\n]"


def _name(given: Any) -> Any:
    return given.removeprefix("models/") if isinstance(given, str) else given


def _object(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    if value is not None and not isinstance(value, dict):
        raise BadRequest(f"`{name}` must be an object")
    return value or {}


def _sampling(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `generationConfig` says, under the names of the chat API."""
    modalities = config.get("responseModalities") or ["TEXT"]
    if not isinstance(modalities, list) or any(str(modality).upper() != "TEXT" for modality in modalities):
        raise BadRequest(
            "`generationConfig.responseModalities` may name `TEXT` alone: the gateway passes on no other answers"
        )
    sampling = {name: config.get(own) for own, name in RENAMED.items()}
    if isinstance(top_k := sampling["top_k"], float) and top_k.is_integer():
        sampling["top_k"] = int(top_k)
    return sampling | {"stop": sampling["stop"] or None, "response_format": _format(config)}


def _format(config: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = config.get("responseMimeType") or "text/plain"
    schema = config.get("responseJsonSchema")
    if schema is None and config.get("responseSchema") is not None:
        schema = plain_schema(config["responseSchema"])
    if schema is not None:
        if not isinstance(schema, dict):
            raise BadRequest("`generationConfig.responseSchema` must be an object")
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    if kind == "text/plain":
        return None
    if kind in ("application/json", "text/x.enum"):
        return {"type": "json_object"}
    raise BadRequest(f"`generationConfig.responseMimeType` is none that the gateway passes on: `{str(kind)[:80]}`")


def _effort(thinking: Mapping[str, Any]) -> str | None:
    """Return the effort of a level, or of a budget of tokens: 0 is none, -1 is the model's choice."""
    if unknown := sorted(thinking.keys() - THINKING):
        raise BadRequest(f"the gateway does not pass on `generationConfig.thinkingConfig.{unknown[0][:80]}`")
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level not in (None, "THINKING_LEVEL_UNSPECIFIED"):
        return str(level).lower()
    if budget in (None, -1):
        return None
    return "none" if budget == 0 else effort_of(budget, "generationConfig.thinkingConfig.thinkingBudget")


def _parts(message: Mapping[str, Any], asked: Asked, *, is_whole: bool = True) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if asked.own["thoughts"] and (thought := message.get("reasoning_content")):
        parts.append({"text": thought, "thought": True})
    calls = _calls(message)
    text = message.get("content") or message.get("refusal") or ""
    if text or (is_whole and not calls):
        parts.append({"text": text})
    return parts + calls


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"functionCall": {"id": call["id"], "name": call["function"]["name"], "args": input_of(call)}}
        for call in tool_calls_of(message)
    ]


def _candidate(index: int, parts: list[dict[str, Any]], answer: Answer | None) -> dict[str, Any]:
    """Return a candidate, or a piece of it; with its answer, it is whole."""
    ended = {} if answer is None else {"finishReason": FINISH_REASONS.get(answer.reply.finish_reason, "STOP")}
    return {"content": {"parts": parts, "role": "model"}, **ended, "index": index}


def _usage(answers: Sequence[Answer]) -> dict[str, int]:
    tokens = total(answers)
    return {
        "promptTokenCount": tokens.prompt,
        "candidatesTokenCount": tokens.completion - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
        "cachedContentTokenCount": tokens.cached,
        "totalTokenCount": tokens.prompt + tokens.completion,
    }


def _tail(asked: Asked, name: str) -> dict[str, Any]:
    return {"modelVersion": asked.model.identity.model, "responseId": name}
