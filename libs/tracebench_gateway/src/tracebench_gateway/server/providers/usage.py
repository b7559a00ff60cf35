"""How many tokens a server says that it used, in the many forms in which servers of OpenAI's API say it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tracebench_gateway.exchange import Tokens

MOST = 1 << 53


def read_usage(answer: Mapping[str, Any]) -> Tokens | int | None:
    """Return the counts of an answer or of an event of a stream: all of them, the total alone, or None where there is none that counts.

    They are read under OpenAI's names of both APIs, Anthropic's, DeepSeek's, Moonshot's and OpenRouter's; as whole numbers, floats or
    texts; at the top, beside the first choice (Moonshot), or under `x_groq`. Thoughts that a total counts and the completion does not
    (xAI, Gemini) are completion: they are billed so.
    """
    usage = _find(answer)
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    total = _count(usage, "total_tokens")
    if prompt is None:
        if total is None:
            return None
        if completion is None:
            return total or None
        prompt = total - completion
    asked = _details(usage, "prompt_tokens_details", "input_tokens_details")
    said = _details(usage, "completion_tokens_details", "output_tokens_details")
    cached = _count(asked, "cached_tokens")
    if cached is None:
        cached = _count(usage, "prompt_cache_hit_tokens", "cached_tokens")
    written = _count(asked, "cache_write_tokens", "cache_creation_tokens") or 0
    if cached is None and "cache_read_input_tokens" in usage:  # Anthropic counts these beside the prompt
        cached = _count(usage, "cache_read_input_tokens") or 0
        written = _count(usage, "cache_creation_input_tokens") or 0
        prompt += cached + written
    spoken = max(completion or 0, (total or 0) - prompt) if (completion or 0) >= 0 else completion or 0
    reasoning = min(_count(said, "reasoning_tokens") or 0, max(spoken, 0))
    if not prompt and not spoken:
        return None
    return Tokens(prompt=prompt, completion=spoken, cached=cached or 0, written=written, reasoning=reasoning)


def _find(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    groq = answer.get("x_groq")
    places = [answer.get("usage"), first.get("usage") if isinstance(first, dict) else None]
    places.append(groq.get("usage") if isinstance(groq, dict) else None)
    return next((place for place in places if isinstance(place, dict) and place), {})


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((usage[name] for name in names if isinstance(usage.get(name), dict)), {})


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    """Return a count under the first of these names that holds one."""
    return next((count for name in names if (count := _number(usage.get(name))) is not None), None)


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return math.ceil(number) if math.isfinite(number) and abs(number) < MOST else None
