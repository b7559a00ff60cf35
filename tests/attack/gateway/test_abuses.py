"""Every abuse is answered in words and leaves nothing set aside; whatever is sent, the answer is never an error of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attack.gateway.abuses import ABUSES, Abuse, Line, open_line


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Run one gateway for all abuses, as a run does for all its jobs; at the end, nothing may be set aside."""
    folder: Path = tmp_path_factory.mktemp("run")
    with open_line(folder) as line:
        yield line


@pytest.mark.parametrize("abuse", ABUSES, ids=lambda abuse: abuse.name)
def test_an_abuse_is_contained_and_the_next_call_is_served(line: Line, abuse: Abuse) -> None:
    assert abuse.run(line) in abuse.expected
    assert line.ask() == "200"


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
PATHS = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages/count_tokens",
    "/v1beta/models/stub:generateContent",
    "/v1beta/models/stub:streamGenerateContent",
]
FIELDS = ["messages", "model", "n", "stream", "stream_options", "temperature", "max_tokens", "max_completion_tokens", "stop",
          "seed", "tools", "tool_choice", "logit_bias", "response_format", "top_k", "extra_body", "user", "prompt", "input",
          "system", "instructions", "dimensions", "suffix", "echo", "thinking", "stop_sequences", "systemInstruction",
          "safetySettings", "x"]  # fmt: skip
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "tool"])},
        optional={"content": JSON, "tool_calls": JSON},
    ),
    max_size=3,
)
PARTS = [
    "text",
    "thought",
    "inlineData",
    "inline_data",
    "functionCall",
    "functionResponse",
    "fileData",
    "mediaResolution",
]
CONTENTS = st.lists(
    st.fixed_dictionaries(
        {"parts": st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(PARTS, JSON)), min_size=1, max_size=2)},
        optional={"role": st.sampled_from(["user", "model"])},
    ),
    max_size=2,
)
GENERATION = ["topK", "maxOutputTokens", "candidateCount", "responseMimeType", "responseSchema", "responseModalities", "thinkingConfig",
              "stopSequences", "logprobs"]  # fmt: skip
CALLING = st.fixed_dictionaries({}, optional={"functionCallingConfig": JSON, "x": JSON})
REQUESTS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(FIELDS, JSON)
    | {"messages": MESSAGES | JSON, "n": st.integers(-1, 3), "contents": CONTENTS | JSON, "toolConfig": CALLING | JSON}
    | {"generationConfig": st.fixed_dictionaries({}, optional=dict.fromkeys(GENERATION, JSON)) | JSON},
)


@settings(max_examples=2 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(request=REQUESTS, path=st.sampled_from(PATHS))
def test_no_request_is_an_error_of_ours(line: Line, request: dict[str, Any], path: str) -> None:
    status, _ = line.send(json.dumps(request).encode(), path=path)
    assert status in {200, 400, 402, 404}


def test_nothing_is_set_aside_after_all_that(line: Line) -> None:
    assert line.ask() == "200"
