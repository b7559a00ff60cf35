"""A provider's key exists in the gateway's memory alone: not in files, not in other processes, not in a sandbox."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.processes import children
from tests.whole import HEAVY

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI, echo

KEY = "sk-test-0123456789abcdef-nowhere"
SPY = """
import json, os, pathlib, sys, urllib.request
import tracebench_client
half = sys.argv[1]
key = half + sys.argv[2]  # in two parts, so that this process does not find itself
problem = tracebench_client.connect()
endpoint = problem.endpoint("optimizer")
body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
request = urllib.request.Request(endpoint.base_url + "/chat/completions", body, {"Authorization": "Bearer " + endpoint.api_key})
try:
    urllib.request.urlopen(request).read()
except urllib.error.HTTPError as error:
    print(error.read().decode())
problem.evaluate({"code": "import os\\ndef transform(x):\\n    raise ValueError(str(dict(os.environ)))"})
seen = 0
for folder in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("environ", "cmdline"):
        try:
            text = (folder / name).read_bytes()
        except OSError:
            continue
        seen += 1
        if key.encode() in text:
            print("FOUND", folder, name)
print("looked at", seen, "and found", key in str(dict(os.environ)))
"""


def texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file's bytes, unpacked where they are packed."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield path, data
            if "blobs" in path.parts:
                try:
                    yield path, zlib.decompress(data)
                except zlib.error:
                    continue


@pytest.mark.parametrize("provider", ["openai", pytest.param("custom_openai", marks=HEAVY)], ids=["direct", "litellm"])
def test_a_key_is_nowhere_but_at_the_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    monkeypatch.setenv("COPY_OF_IT", KEY)
    (tmp_path / "spy.py").write_text(SPY)
    argv = [sys.executable, str(tmp_path / "spy.py"), KEY[:9], KEY[9:]]
    with FakeOpenAI(
        error_text=f"{KEY} is wrong", script=["400"], reply=lambda messages: f"{KEY} said {echo(messages)}"
    ) as server:
        config = {
            "mode": "real",
            "tasks": ["internal:code_param"],
            "trainers": [{"id": "Command", "params": {"argv": argv}}, "BestOfN"],
            "runs_dir": str(tmp_path / "runs"),
            "llm": {
                "provider": provider,
                "model": "fake",
                "base_url": server.base_url,
                "api_key_env": "FAKE_KEY",
                "record": True,
            },
        }
        summary = api.run(parse_config(config), stream=io.StringIO())
        assert server.log.keys == {KEY}
    outputs = "".join(path.read_text() for path in summary.run_dir.glob("jobs/*/stdout.log"))
    assert "[redacted] is wrong" in outputs
    assert "and found False" in outputs
    assert "FOUND" not in outputs
    assert [path for path, data in texts(summary.run_dir) if KEY.encode() in data] == []
    assert any(b"ValueError" in data for _, data in texts(summary.run_dir)), "the candidate's environment was not seen"


def test_a_run_goes_on_without_the_key_in_any_environment_but_the_gateways_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, bytes] = {}

    def look(messages: list[Any]) -> str:
        for pid in [process.pid, *descendants(process.pid)]:
            for name in ("environ", "cmdline"):
                try:
                    seen[f"{pid} {name}"] = Path(f"/proc/{pid}/{name}").read_bytes()
                except OSError:
                    continue
        return echo(messages)

    with FakeOpenAI(reply=look) as server:
        config = {
            "mode": "real",
            "tasks": ["internal:code_param"],
            "trainers": ["BestOfN"],
            "sandbox": {"require": "process"},
            "budget": {"llm_calls": 1},
            "runs_dir": str(tmp_path / "runs"),
            "llm": {"provider": "openai", "model": "fake", "base_url": server.base_url, "api_key_env": "FAKE_KEY"},
        }
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        process = subprocess.Popen(
            [sys.executable, "-m", "tracebench_engine.cli", "run", "--config", str(tmp_path / "config.yaml")],
            env={**os.environ, "FAKE_KEY": KEY, "COPY_OF_IT": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
        assert server.log.keys == {KEY}

    assert f"{process.pid} environ" in seen
    assert len(seen) >= 6  # runner, gateway, template at least
    assert [place for place, text in seen.items() if KEY.encode() in text] == []
    (run_dir,) = (tmp_path / "runs").glob("2*")
    assert json.loads((run_dir / "meta/env.json").read_text())["variables"]["FAKE_KEY"] == "set"


def descendants(pid: int) -> list[int]:
    """Return the processes below one; twins that are nobody's child are left out."""
    below = children(pid)
    return below + [further for child in below for further in descendants(child)]
