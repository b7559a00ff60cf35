"""Fields of requests that a config adds by name, which nobody checks: told where they look like one that providers know."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from tracebench_core.specs import RunConfig
from tracebench_core.specs.models import ModelConfig
from tracebench_engine.config.problems import dotted
from tracebench_gateway.variants import llm_configs

ALIKE = 0.8
"""Names that are less alike are taken for what a server of its own takes."""
BODY = frozenset({
    "chat_template", "chat_template_kwargs", "cache_prompt", "do_sample", "dynatemp_range", "enable_thinking",
    "frequency_penalty", "grammar", "guided_choice", "guided_grammar", "guided_json", "guided_regex", "ignore_eos",
    "json_schema", "keep_alive", "length_penalty", "logit_bias", "logprobs", "max_tokens", "metadata", "min_p",
    "min_tokens", "mirostat", "modalities", "options", "parallel_tool_calls", "plugins", "prediction",
    "presence_penalty", "provider", "reasoning", "reasoning_effort", "repeat_last_n", "repeat_penalty",
    "repetition_penalty", "response_format", "route", "safe_prompt", "safety_settings", "seed", "service_tier",
    "skip_special_tokens", "stop", "stop_token_ids", "store", "structured_outputs", "temperature", "tfs_z",
    "thinking", "thinking_budget", "thinking_config", "tool_choice", "tools", "top_a", "top_k", "top_logprobs",
    "top_p", "transforms", "truncate_prompt_tokens", "typical_p", "usage", "use_beam_search", "user", "verbosity",
    "web_search_options",
})  # fmt: skip
"""What OpenAI, Anthropic, Google, Mistral, OpenRouter, vLLM, llama.cpp and Ollama document."""
HEADERS = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "api-key", "authorization", "content-type", "helicone-auth",
    "http-referer", "openai-beta", "openai-organization", "openai-project", "user-agent", "x-api-key",
    "x-goog-api-key", "x-request-id", "x-title",
})  # fmt: skip


def misspelt_fields(config: RunConfig) -> Iterator[tuple[str, str, str]]:
    """Yield the place, the name and the nearest known name of each field of `extra_body` and `extra_headers` that looks misspelt."""
    told: set[tuple[str, str]] = set()
    for llm in llm_configs(config).values():
        models: list[tuple[str, ModelConfig]] = [("llm", llm)]
        for role, own in llm.roles.items():
            models += [(dotted(("llm", "roles", role)), own)]
            models += [(dotted(("llm", "roles", role, "models", name)), model) for name, model in own.models.items()]
        for place, model in models:
            for field, names, known in (
                ("extra_body", model.extra_body, BODY),
                ("extra_headers", model.extra_headers, HEADERS),
            ):
                for name in names:
                    folded = name.casefold() if known is HEADERS else name
                    near = get_close_matches(folded, known, n=1, cutoff=ALIKE)
                    if folded not in known and near and (f"{place}.{field}", name) not in told:
                        told.add((f"{place}.{field}", name))
                        yield f"{place}.{field}", name, near[0]
