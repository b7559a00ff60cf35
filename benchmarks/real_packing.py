"""Run `configs/packing.yaml` in real mode against a local OpenAI-compatible server, and compare the run's ledger with the server's log.

    python benchmarks/real_packing.py

The server answers as the stub does, so the run says nothing about a model; what is measured is that calls, tokens and USD agree to the
last one, whatever asked for them.
"""

from __future__ import annotations

import io
import itertools
import os
import tempfile
from typing import Any

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import ModelIdentity
from tracebench_engine import api
from tracebench_gateway.exchange import ChatRequest
from tracebench_gateway.stub.model import answer
from tracebench_testing.fake_openai import FakeOpenAI

PRICE = {"prompt": 0.15, "completion": 0.60}


def main() -> None:
    """Print one line per figure: ledger, server, difference."""
    asked = itertools.count()
    identity = ModelIdentity(provider="openai", model="gpt-fake")

    def reply(messages: list[dict[str, Any]]) -> str:
        digest = content_hash(canonical_json(messages))
        request = ChatRequest("", 7, "optimizer", identity, messages, {}, digest, occurrence=next(asked))
        return answer(request, mode="mutate")

    os.environ["FAKE_KEY"] = "sk-fake-0123456789"
    with FakeOpenAI(reply=reply) as server, tempfile.TemporaryDirectory() as folder:
        overrides = [
            "mode=real",
            f"runs_dir={folder}",
            "llm.model=gpt-fake",
            f"llm.base_url={server.base_url}",
            "llm.api_key_env=FAKE_KEY",
            f"llm.prices={{gpt-fake: {{prompt: {PRICE['prompt']}, completion: {PRICE['completion']}}}}}",
        ]
        summary = api.run(api.load_config("configs/packing.yaml", overrides=overrides), stream=io.StringIO())
        results = api.load_run(summary.run_dir).results.values()
        usages = [usage for result in results for usage in result.usage.values()]
        served = server.log.served
        prompt, completion = sum(s.prompt_tokens for s in served), sum(s.completion_tokens for s in served)
        rows = [
            ("calls", sum(u.llm_calls for u in usages), len(served)),
            ("prompt tokens", sum(u.prompt_tokens for u in usages), prompt),
            ("completion tokens", sum(u.completion_tokens for u in usages), completion),
            (
                "USD",
                sum(u.usd or 0.0 for u in usages),
                (prompt * PRICE["prompt"] + completion * PRICE["completion"]) / 1e6,
            ),
        ]
    print(f"jobs: {summary.counts}")
    print(f"{'':18}{'ledger':>14}{'server':>14}{'difference':>14}")
    for name, ours, theirs in rows:
        print(f"{name:18}{ours:14.6g}{theirs:14.6g}{ours - theirs:14.3g}")


if __name__ == "__main__":
    main()
