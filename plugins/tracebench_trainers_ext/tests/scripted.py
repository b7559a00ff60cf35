"""Runs of the trainers against a scripted model on a real server, in whatever interpreter holds their libraries."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.forms import in_form, written

from tracebench_core.plugins.interpreters import has_python
from tracebench_core.specs import JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.specs import TRAINER_SPECS

STAGES = ("return x + 1", "return 2 * x", "return 2 * x + 1")
SOLVED = f"def transform(x):\n    {STAGES[-1]}"
KEY = "sk-test-0123456789abcdef"


def is_here(trainer: str) -> bool:
    """Tell whether a trainer's library is in this environment or in its named interpreter."""
    spec = next(s for s in TRAINER_SPECS if s.name == trainer)
    return all(find_spec(r.name) is not None or has_python(r.python) for r in spec.requires)


def needs(trainer: str) -> pytest.MarkDecorator:
    """Skip a test whose library is not here, and say how to get it."""
    spec = next(s for s in TRAINER_SPECS if s.name == trainer)
    hint = spec.requires[0].hint if spec.requires else ""
    return pytest.mark.skipif(not is_here(trainer), reason=f"the library of `{trainer}` is not here: {hint}")


def improve(messages: list[dict[str, Any]]) -> str:
    """Answer with the stage that follows the last one which the prompt shows, in the form that the prompt asks for."""
    prompt = written(messages)
    lines = [line.strip() for line in prompt.splitlines() if line.strip() in STAGES]
    stage = STAGES[min(STAGES.index(lines[-1]) + 1, len(STAGES) - 1)] if lines else STAGES[0]
    return in_form(prompt, SOLVED if "<proposed_variable>" in prompt else f"def transform(x):\n    {stage}\n")


def run(
    folder: Path,
    server: FakeOpenAI,
    trainers: Sequence[Any],
    *,
    root: Path | None = None,
    record: bool = False,
    **config: Any,
) -> tuple[dict[str, JobResult], Path]:
    """Run trainers on one task in real mode; return results by trainer, and the run's folder."""
    prices = {"fake-model": {"prompt": 2.0, "completion": 8.0}}
    llm = {
        "model": "fake-model",
        "base_url": server.base_url,
        "api_key_env": "FAKE_KEY",
        "prices": prices,
        "record": record,
    }
    settings = {
        "mode": "real",
        "tasks": ["internal:code_param"],
        "trainers": [{"id": t} if isinstance(t, str) else t for t in trainers],
        "llm": llm,
        "runs_dir": str(folder),
        "seeds": [7],
        **config,
    }
    summary = api.run(parse_config(settings), root=root, stream=io.StringIO())
    results = api.load_run(summary.run_dir).results.values()
    return {r.trainer_id: r for r in results}, summary.run_dir


def candidates(run_dir: Path, job_id: str) -> list[dict[str, Any]]:
    """Return a job's candidates in the order in which they were first evaluated."""
    lines = (run_dir / "jobs" / job_id / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == "candidate"]


def said(run_dir: Path, job_id: str) -> str:
    """Return what a job's program printed."""
    log = run_dir / "jobs" / job_id / "stdout.log"
    return log.read_text() if log.exists() else ""
