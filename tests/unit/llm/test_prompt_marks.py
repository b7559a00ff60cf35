"""Marks for a provider's own cache of prompts: who gets them, where they stand, and what is told where they cannot be had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.server.requests.asked import Asked, Model
from tracebench_gateway.server.requests.caching import keeps_by_itself, wants_mark, with_marks
from tracebench_gateway.tokens import Claims

KEPT = {"cache_control": {"type": "ephemeral"}}
OWN = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def asked(*messages: dict[str, Any], model: ModelIdentity | None = None, **more: Any) -> Asked:
    identity = model or ModelIdentity(provider="anthropic", model="claude")
    return Asked(model=Model("m", identity), conversations=[[*messages]], sampling=more.pop("sampling", {}), **more)


def marked(given: Asked, wanted: bool | None = True) -> Asked:
    claims = Claims(
        job_id="job", attempt="a", role="agent", phase="training", seed=1, budget=Budget(), hints={},
        model=given.model.identity, variant="", recorded="", is_engine=False,
    )  # fmt: skip
    return with_marks(given, claims=claims, llm=LLMConfig(prompt_cache=wanted))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("identity", "wants", "keeps"),
    [
        (("anthropic", "any", None), True, False),
        (("bedrock", "us.Amazon.Nova-pro", None), True, False),
        (("openrouter", "anthropic/Claude-x", None), True, False),
        (("vertex_ai", "claude-x", None), True, False),
        (("openrouter", "openai/gpt", None), False, False),
        (("openai", "gpt", None), False, True),
        (("openai", "gpt", "https://api.openai.com/v1"), False, True),
        (("openai", "gpt", "http://127.0.0.1:1/v1"), False, False),
        (("gemini", "g", None), False, True),
        (("stub", "stub", None), False, True),
        (("deepseek", "d", "http://there/v1"), False, True),
        (("mistral", "m", None), False, False),
    ],
)
def test_who_wants_a_mark_and_who_keeps_prompts_unasked(
    identity: tuple[str, str, str | None], wants: bool, keeps: bool
) -> None:
    provider, model, base_url = identity
    named = ModelIdentity(provider=provider, model=model, base_url=base_url)
    assert (wants_mark(named), keeps_by_itself(named)) == (wants, keeps)
    given = asked(user("hi"), model=named)
    told = marked(given)
    assert told.left_out == (() if wants or keeps else ("prompt_cache",))
    assert told.conversations == ([[user([text("hi", **KEPT)])]] if wants else given.conversations)


def test_the_last_system_prompt_and_the_last_that_a_user_says_are_marked_at_their_last_text() -> None:
    picture = {"type": "image_url", "image_url": {"url": "u"}}
    told = marked(
        asked(
            {"role": "system", "content": "first"},
            {"role": "developer", "content": [text("a"), text("b"), picture, text(" ")]},
            user("one"),
            {"role": "assistant", "content": "two"},
            user([text("three"), picture]),
            user("  "),
            user([picture]),
            {"role": "user"},
        )
    )
    assert told.conversations[0] == [
        {"role": "system", "content": "first"},
        {"role": "developer", "content": [text("a"), text("b", **KEPT), picture, text(" ")]},
        user("one"),
        {"role": "assistant", "content": "two"},
        user([text("three", **KEPT), picture]),
        user("  "),
        user([picture]),
        {"role": "user"},
    ]
    assert marked(asked({"role": "assistant", "content": "a"})).conversations == [
        [{"role": "assistant", "content": "a"}]
    ]


TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    "given",
    [
        asked(user([text("a", **OWN), text("b")])),
        asked(user("a") | OWN),
        asked(user("a"), sampling={"tools": [TOOL, TOOL | OWN], "top_p": 1}),
    ],
)
def test_marks_of_the_caller_stand_unless_the_config_forbids_them(given: Asked) -> None:
    assert marked(given) is given
    assert marked(given, None) is given
    bare = marked(replace(given, left_out=("x",)), wanted=False)
    assert bare.left_out == ("x", "cache_control")
    content = [text("a"), text("b")] if isinstance(given.conversations[0][0]["content"], list) else "a"
    assert bare.conversations == [[user(content)]]
    assert bare.sampling == ({"tools": [TOOL, TOOL], "top_p": 1} if given.sampling else {})


def test_nothing_changes_where_nothing_is_asked_for_or_nothing_can_be_marked() -> None:
    plain = asked(user("a"), sampling={"tools": [TOOL]})
    assert marked(plain, None) is marked(plain, wanted=False) is plain
    vectors = asked(user("a"), kind="embedding", model=ModelIdentity(provider="mistral", model="m"))
    assert marked(vectors) is vectors
    bare = asked(user("a"), kind="completion")
    assert marked(bare) == replace(bare, left_out=("prompt_cache",))
