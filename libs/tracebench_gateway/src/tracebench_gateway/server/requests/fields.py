"""The fields of a chat request that reach a model: what each may hold, and how a wrong one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracebench_gateway.server.requests.reading import BadRequest

MOST_TOKENS = 1 << 31
Check = Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """Tell a finite number; `true` is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Tell a whole number; `true` is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Tell a number of tokens."""
    return is_whole(value) and 0 < value < MOST_TOKENS


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_texts(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_choice(value: Any) -> bool:
    return _is_text(value) or _is_object(value)


def _is_wholes(value: Any) -> bool:
    return isinstance(value, list) and all(is_whole(item) for item in value)


NUMBER, WHOLE, COUNT, FLAG = (
    (is_number, "a number"),
    (is_whole, "a whole number"),
    (is_count, "a whole number above 0"),
    (_is_flag, "true or false"),
)
TEXT, OBJECT, TEXTS = (_is_text, "a text"), (_is_object, "an object"), (_is_texts, "a text or a list of texts")

SAMPLING: Mapping[str, tuple[Check, str]] = {
    "temperature": NUMBER, "top_p": NUMBER, "max_tokens": COUNT, "max_completion_tokens": COUNT, "stop": TEXTS,
    "seed": WHOLE, "presence_penalty": NUMBER, "frequency_penalty": NUMBER, "response_format": OBJECT,
    "tools": (_is_objects, "a list of objects"), "tool_choice": (_is_choice, "a text or an object"), "parallel_tool_calls": FLAG,
    "logit_bias": OBJECT, "reasoning_effort": TEXT, "verbosity": TEXT,
}  # fmt: skip
"""OpenAI's own. Some clients' further fields name another server or another key: whatever stands in no table here is refused."""

EXTRA: Mapping[str, tuple[Check, str]] = {
    "top_k": WHOLE, "min_p": NUMBER, "top_a": NUMBER, "typical_p": NUMBER, "repetition_penalty": NUMBER, "repeat_penalty": NUMBER,
    "length_penalty": NUMBER, "min_tokens": WHOLE, "ignore_eos": FLAG, "stop_token_ids": (_is_wholes, "a list of whole numbers"),
    "skip_special_tokens": FLAG, "include_stop_str_in_output": FLAG, "chat_template_kwargs": OBJECT, "enable_thinking": FLAG,
    "thinking": OBJECT, "reasoning": OBJECT, "guided_json": (_is_choice, "a text or an object"), "guided_regex": TEXT,
    "guided_choice": TEXTS, "guided_grammar": TEXT, "structured_outputs": OBJECT, "grammar": TEXT, "mirostat": WHOLE,
    "mirostat_tau": NUMBER, "mirostat_eta": NUMBER, "dry_multiplier": NUMBER, "xtc_probability": NUMBER, "xtc_threshold": NUMBER,
    "cache_prompt": FLAG, "num_ctx": COUNT,
}  # fmt: skip
"""What servers of OpenAI's API understand beyond it; a caller may also put them under `extra_body`."""

PASSED = {**SAMPLING, **EXTRA}
LEFT_OUT = frozenset(
    {"user", "metadata", "store", "service_tier", "logprobs", "top_logprobs", "prompt_cache_key", "prompt_cache_retention",
     "safety_identifier"}
)  # fmt: skip
"""Known, and not passed on; a log-probability that is asked for is not sent back. The ledger names those that a call had."""
OF_WIRE = frozenset({"model", "messages", "stream", "stream_options", "n", "extra_body"})
"""What the gateway reads for itself."""
OF_MESSAGE = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content", "function_call", "cache_control"}
)  # fmt: skip
"""What a message may hold that reaches a model; anything else is left out, but for what the config's `extra_body` names."""


def take_fields(data: Mapping[str, Any], *, known: frozenset[str] = LEFT_OUT | OF_WIRE) -> dict[str, Any]:
    """Return the fields that reach the model, sorted by name; null counts as not given.

    Raises:
        BadRequest: naming the field that is unknown, or holds what it cannot.
    """
    extra = data.get("extra_body")
    if extra is not None and not isinstance(extra, dict):
        raise BadRequest("`extra_body` must be an object")
    given = {**data, **(extra or {})}
    unknown = sorted(given.keys() - PASSED.keys() - known)
    if unknown:
        raise BadRequest(f"the gateway does not pass on `{unknown[0][:80]}`")
    taken = {name: given[name] for name in sorted(given.keys() & PASSED.keys()) if given[name] is not None}
    for name, value in taken.items():
        check, words = PASSED[name]
        if not check(value):
            raise BadRequest(f"`{name}` must be {words}")
    if taken.keys() >= {"max_tokens", "max_completion_tokens"}:  # servers heed either
        taken["max_completion_tokens"] = min(taken["max_completion_tokens"], taken.pop("max_tokens"))
    return taken


def left_out_of(data: Mapping[str, Any], names: Iterable[str] = LEFT_OUT) -> tuple[str, ...]:
    """Return the names of what a request has that is not passed on, sorted."""
    return tuple(sorted(name for name in names if data.get(name) not in (None, False, [], {})))


def known_keys(messages: list[dict[str, Any]], *, named: Iterable[str]) -> tuple[list[dict[str, Any]], set[str]]:
    """Return messages without keys that are neither known nor `named`, and which those were."""
    known = OF_MESSAGE.union(named)
    unknown = {key for message in messages for key in message.keys() - known}
    if not unknown:
        return messages, unknown
    return [{key: value for key, value in m.items() if key in known} for m in messages], unknown


def read_flag(data: Mapping[str, Any], name: str) -> bool:
    """Return a switch of the request, off where it is not given."""
    value = data.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"`{name}` must be true or false")
    return bool(value)


def read_choices(data: Mapping[str, Any], name: str = "n", *, most: int) -> int:
    """Return how many answers are asked for."""
    value = data.get(name)
    if value is None:
        return 1
    if not is_whole(value) or not 1 <= value <= most:
        raise BadRequest(f"`{name}` must be a whole number from 1 to {most}")
    return int(value)


def read_messages(messages: Any, name: str = "messages") -> list[dict[str, Any]]:
    """Return chat messages whose shape holds: a role each, and text, parts or nothing as content."""
    if not isinstance(messages, list) or not messages:
        raise BadRequest(f"`{name}` must be a non-empty list of objects with a `role`")
    for place, message in enumerate(messages):
        if not isinstance(message, dict) or not message.get("role") or not isinstance(message["role"], str):
            raise BadRequest(f"`{name}[{place}]` must be an object with a `role`")
        content = message.get("content")
        if content is not None and not isinstance(content, str) and not _is_objects(content):
            raise BadRequest(f"`{name}[{place}].content` must be a text or a list of objects")
        calls = message.get("tool_calls")
        if calls is not None and not _is_objects(calls):
            raise BadRequest(f"`{name}[{place}].tool_calls` must be a list of objects")
    return messages
