"""What `validate` says of forty ways to name a model, each in an environment of its own: the table of `docs/reference/providers.md`.

    python benchmarks/provider_shapes.py

No model is asked. Where litellm is installed, its `validate_environment` is asked about what our list finds nothing to lack in.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_gateway.models import resolve_models

OPENAI = {"OPENAI_API_KEY": "k"}
AZURE = {"AZURE_API_KEY": "k"}
AWS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "k"}
SHAPES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"model": "gpt-4o-mini"}, OPENAI),
    ({"model": "gpt-4o-mini"}, {}),
    ({"model": "openai/gpt-4o-mini"}, OPENAI),
    ({"model": "opneai/gpt-4o-mini"}, OPENAI),
    ({"model": "antropic/claude-sonnet-4-5"}, OPENAI),
    ({"model": "claude-sonnet-4-5"}, {"ANTHROPIC_API_KEY": "k"}),
    ({"model": "anthropic/claude-sonnet-4-5"}, OPENAI),
    ({"model": "gemini/gemini-2.5-pro"}, {"GOOGLE_API_KEY": "k"}),
    ({"model": "google/gemini-2.5-pro"}, OPENAI),
    ({"model": "vertex_ai/gemini-2.5-pro"}, {}),
    ({"model": "vertex_ai/gemini-2.5-pro", "region": "europe-west1", "project": "mine"}, {}),
    ({"model": "azure/deployed"}, {}),
    ({"model": "azure/deployed"}, AZURE),
    ({"model": "azure/deployed", "base_url": "https://x.openai.azure.com"}, AZURE),
    ({"model": "azure/deployed", "base_url": "https://x.openai.azure.com", "api_version": "2026-01-01"}, AZURE),
    ({"model": "azure_ai/phi"}, {"AZURE_AI_API_KEY": "k"}),
    ({"model": "bedrock/claude"}, {}),
    ({"model": "bedrock/claude"}, AWS),
    ({"model": "bedrock/claude", "region": "eu-west-1"}, AWS),
    ({"model": "bedrock/claude", "region": "eu-west-1"}, {"AWS_ACCESS_KEY_ID": "k"}),
    ({"model": "bedrock/claude", "region": "eu-west-1"}, {"AWS_PROFILE": "me"}),
    ({"model": "sagemaker/endpoint"}, AWS),
    ({"model": "oci/model"}, {}),
    ({"model": "watsonx/granite"}, {"WATSONX_APIKEY": "k", "WATSONX_URL": "u"}),
    ({"model": "databricks/dbrx"}, {"DATABRICKS_API_KEY": "k"}),
    ({"model": "snowflake/arctic"}, {}),
    ({"model": "cloudflare/llama"}, {}),
    ({"model": "together_ai/llama"}, {"TOGETHER_API_KEY": "k"}),
    ({"model": "together/llama"}, {}),
    ({"model": "fireworks/llama"}, {}),
    ({"model": "groq/llama"}, {}),
    ({"model": "deepseek/deepseek-chat"}, {"DEEPSEEK_API_KEY": "k"}),
    ({"model": "mistral-large"}, {}),
    ({"model": "openrouter/openai/gpt-4o"}, {"OPENROUTER_API_KEY": "k"}),
    ({"model": "ollama/llama3"}, {}),
    ({"model": "hosted_vllm/qwen3"}, {}),
    ({"model": "hosted_vllm/qwen3", "base_url": "http://127.0.0.1:8000/v1"}, {}),
    ({"model": "qwen3", "base_url": "http://127.0.0.1:8000"}, {}),
    ({"model": "meta-llama/llama-3", "base_url": "http://10.0.0.2:8000/v1", "api_key_env": "MINE"}, {}),
    ({"model": "meta-llama/llama-3"}, OPENAI),
]


def words_of(llm: dict[str, Any]) -> str:
    """Return what `validate` says of the models of a config, or who answers where it says nothing."""
    config = parse_config({"mode": "real", "llm": llm, "tasks": ["internal:numeric_param"]})
    try:
        said = [c.message for c in api.validate(config) if c.level == "WARN" or c.subject.startswith("base_url")]
    except TraceBenchError as error:
        return f"error: {error}"
    if said:
        return "; ".join(said)
    identity = resolve_models(config.llm, mode="real", environ=os.environ)["agent"]
    return f"`{identity.model}` of `{identity.provider}` is asked"


def main() -> None:
    """Print the table."""
    print("| `llm` | set | what `validate` says |\n|---|---|---|")
    kept = {"PATH": os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as home:
        for llm, environ in SHAPES:
            os.environ.clear()
            os.environ.update(kept, HOME=home, **environ)
            told = json.dumps(llm)[1:-1].replace('"', "")
            print(f"| `{told}` | {', '.join(f'`{name}`' for name in environ)} | {words_of(llm)} |", flush=True)


if __name__ == "__main__":
    main()
