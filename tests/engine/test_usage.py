"""Usage agrees with the server's own log whichever way it is added up: by role, model, job and step, streams and faults included."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path

from tracebench_core.specs.events import LLMCall, StepFinished
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI

STEPS = 3
PROGRAM = f"""
import json, urllib.request
import tracebench_client
problem = tracebench_client.connect()

def ask(role, text, **extra):
    endpoint = problem.endpoint(role)
    body = json.dumps({{"messages": [{{"role": "user", "content": text}}], **extra}}).encode()
    request = urllib.request.Request(endpoint.base_url + "/chat/completions", body, {{"Authorization": "Bearer " + endpoint.api_key}})
    return urllib.request.urlopen(request).read()

for n in range({STEPS}):
    with problem.step():
        ask("optimizer", f"propose {{n}} " * (n + 1))
        ask("agent", f"work {{n}}", n=2)
        ask("judge", f"judge {{n}}", stream=True)
        problem.evaluate({{"x": float(n)}})
"""


def test_every_sum_is_the_servers_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    models = {"optimizer": "big", "agent": "small", "judge": "small"}
    with FakeOpenAI(rates={"429": 0.1, "500": 0.1}, seed=3) as server:
        config = {
            "mode": "real",
            "tasks": ["internal:numeric_param"],
            "trainers": [{"id": "Command", "params": {"argv": [sys.executable, str(tmp_path / "program.py")]}}],
            "seeds": [1, 2],
            "max_workers": 2,
            "runs_dir": str(tmp_path / "runs"),
            "llm": {
                "model": "big",
                "base_url": server.base_url,
                "max_retries": 10,
                "prices": {"big": {"prompt": 5, "completion": 9}, "small": {"prompt": 1, "completion": 2}},
                "roles": {role: {"model": model} for role, model in models.items()},
            },
        }
        summary = api.run(parse_config(config), stream=io.StringIO())
        served, faults = server.log.served, len(server.log.faults)
    run = api.load_run(summary.run_dir)
    results = list(run.results.values())
    calls = [e for job in run.planned for e in run.events(job.job_id) if isinstance(e, LLMCall)]
    tokens_by_model: Counter[str] = Counter()
    for one in served:
        tokens_by_model[one.model] += one.prompt_tokens + one.completion_tokens
    total = sum(tokens_by_model.values())

    assert {r.status for r in results} == {"ok"}
    assert len(served) == len(calls) == len(results) * STEPS * 4
    assert (
        Counter({m: sum(c.prompt_tokens + c.completion_tokens for c in calls if c.model == m) for m in tokens_by_model})
        == tokens_by_model
    )
    assert sum(r.used.tokens for r in results) == sum(u.tokens for r in results for u in r.usage.values()) == total
    assert sum(u.retries for r in results for u in r.usage.values()) == faults
    for role, model in models.items():
        assert sum(r.usage[role].llm_calls for r in results) == len(
            [c for c in calls if c.role == role and c.model == model]
        )
    usd = sum(((5, 9) if s.model == "big" else (1, 2))[0] * s.prompt_tokens / 1e6 for s in served)
    usd += sum(((5, 9) if s.model == "big" else (1, 2))[1] * s.completion_tokens / 1e6 for s in served)
    assert abs(sum(r.used.usd or 0 for r in results) - usd) < 1e-12
    for job in run.planned:
        seen = 0
        for event in run.events(job.job_id):
            if isinstance(event, LLMCall):
                seen += event.prompt_tokens + event.completion_tokens
            if isinstance(event, StepFinished):
                assert event.used.tokens == seen, f"step {event.index}"
        assert seen == run.results[job.job_id].used.tokens
    ledger = [json.loads(line) for line in (summary.run_dir / "llm" / "ledger.jsonl").read_text().splitlines()]
    assert sum(x["prompt_tokens"] + x["completion_tokens"] for x in ledger if x["kind"] == "llm_call") == total
    assert not any(c.estimated for c in calls)
