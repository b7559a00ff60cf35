"""Real coding agents by their presets: each edits by its own tools on its own wire, and the ledger says what the model server says.

They are installed as `trace-bench agents install` does it, into `$TRACEBENCH_AGENTS` where that is set. Group `agents_two` are the two that
install soonest, `agents` the others, and what takes minutes.
"""

from __future__ import annotations

import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from plugins.tracebench_autoresearch.tests.dials import write_dial
from plugins.tracebench_trainers_ext.tests.coder import STAGES, Coder
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, run, said

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins.agents import VARIABLE
from tracebench_engine import api
from tracebench_engine.api.agents import install_agent, list_agents
from tracebench_engine.api.installed.hosting import open_host
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.agents import AGENTS

TWO = ("claude-code", "qwen-code")
REAL = [spec.name for spec in AGENTS if spec.is_installable]
SOON, OTHERS = pytest.mark.heavy("agents_two"), pytest.mark.heavy("agents")
ALL = [pytest.param(name, marks=SOON if name in TWO else OTHERS) for name in REAL]
LONG = [pytest.param(name, marks=OTHERS) for name in REAL]
"""Of what takes minutes."""
SOLVED = STAGES[-1]
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return what installs an agent that is not there yet."""
    kept = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = kept or str(tmp_path_factory.mktemp("agents"))

    def install(name: str) -> None:
        host = open_host()
        found = next(agent for agent in list_agents(host) if agent.name == name)
        if not found.path or found.stale:
            try:
                install_agent(name, host)
            except MissingRequirementError as err:  # a Node or Python that is not on this machine
                pytest.skip(str(err))

    yield install
    if kept is None:
        del os.environ[VARIABLE]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)


def work(folder: Path, agent: str, *, coder: Coder | None = None, params: Any = None, **config: Any) -> Any:
    """Run one agent against the scripted model; return the result, the run's folder, and what the server served."""
    trainer = {"id": "Agent", "params": {"agent": agent, **(params or {})}}
    with FakeOpenAI(act=coder or Coder()) as server:
        results, run_dir = run(folder, server, [trainer], **config)
        served = [*server.log.served]
    return results["Agent"], run_dir, served


def assert_counted(used: Any, served: list[Any]) -> None:
    """The ledger counts what the server counted, to the last digit."""
    prompt, answer = sum(s.prompt_tokens for s in served), sum(s.completion_tokens for s in served)
    assert (used.llm_calls, used.tokens) == (len(served), prompt + answer)
    assert used.usd == pytest.approx((2.0 * prompt + 8.0 * answer) / 1e6, rel=1e-12)


def left_over(folder: Path) -> list[str]:
    """Return the processes that still work below a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes() + os.fsencode((process / "cwd").readlink())
            except OSError:
                continue
            if os.fsencode(folder) in words and process.name != str(os.getpid()):
                found.append(f"{process.name}: {words[:200]!r}")
    return found


@pytest.mark.parametrize("agent", ALL)
def test_an_agent_edits_by_its_own_tools_and_the_ledger_is_the_servers_log(
    tmp_path: Path, installed: Any, agent: str
) -> None:
    installed(agent)
    coder = Coder()
    result, run_dir, served = work(tmp_path, agent, coder=coder)
    words = said(run_dir, result.job_id)
    assert result.status == "ok", (result.error, words)
    assert result.score_val_best == 1.0, words
    assert_counted(result.used, served)
    assert len(candidates(run_dir, result.job_id)) >= len(STAGES)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("agent", ALL)
def test_a_cap_of_calls_ends_an_agent_and_what_it_found_is_kept(tmp_path: Path, installed: Any, agent: str) -> None:
    installed(agent)
    forever = Coder(stages=(*STAGES, *(f"{SOLVED[:-1]}  # {turn}\n" for turn in range(40))))
    cap = {"aider": 2}.get(agent, 6)
    result, run_dir, served = work(tmp_path, agent, coder=forever, budget={"llm_calls": cap, "evaluations": 400})
    words = said(run_dir, result.job_id)
    assert (result.status, result.stop_reason) == ("ok", "budget:llm_calls"), (result.error, words)
    assert (result.used.llm_calls, len(served)) == (cap, cap)
    assert result.score_val_best is not None
    assert result.score_val_best > result.score_val_initial, words
    assert left_over(tmp_path) == []


def started(folder: Path, agent: str, server: FakeOpenAI) -> subprocess.Popen[bytes]:
    """Start a run by the command, and return its process once the model has been asked six times."""
    prices = {"fake-model": {"prompt": 2.0, "completion": 8.0}}
    llm = {"model": "fake-model", "base_url": server.base_url, "api_key_env": "FAKE_KEY", "prices": prices}
    trainers = [{"id": "Agent", "params": {"agent": agent}}]
    config = {"mode": "real", "tasks": ["internal:code_param"], "seeds": [7], "llm": llm, "trainers": trainers}
    config["runs_dir"] = str(folder / "runs")
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    process = subprocess.Popen(
        [sys.executable, "-m", "tracebench_engine.cli", "run", "--config", str(folder / "config.yaml")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: len(server.log.served) >= (2 if agent == "aider" else 6) or process.poll() is not None)
    assert process.poll() is None
    return process


def wait_for(is_so: Any, seconds: float = 400.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.parametrize("agent", LONG)
@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_an_agent_ends_with_its_run_and_a_run_that_goes_on_counts_right(
    tmp_path: Path, installed: Any, agent: str, how: str
) -> None:
    installed(agent)
    forever = Coder(stages=(*STAGES, *(f"{SOLVED[:-1]}  # {turn}\n" for turn in range(6))))
    with FakeOpenAI(act=forever, delay=0.5) as server:
        process = started(tmp_path, agent, server)
        os.kill(process.pid, signal.SIGINT if how == "interrupted" else signal.SIGKILL)
        process.wait(120)
        wait_for(lambda: left_over(tmp_path) == [], 30.0)
        calm = len(server.log.requests)
        time.sleep(2.0)
        assert len(server.log.requests) == calm
        [run_dir] = (tmp_path / "runs").glob("2*")
        words = subprocess.run(
            [sys.executable, "-m", "tracebench_engine.cli", "resume", str(run_dir)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        [result] = api.load_run(run_dir).results.values()
        assert result.status == "ok", (result.error, words.stderr)
        assert result.score_val_best == 1.0
    assert left_over(tmp_path) == []


@pytest.fixture
def proxy() -> Iterator[tuple[str, set[str]]]:
    """Open a proxy that refuses everything, and yield its address and the set of what it is asked for."""
    asked: set[str] = set()

    class Refusing(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.add(self.rfile.readline().decode(errors="replace").split(" ")[1])
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


STILL_ASKED = {"openhands": 1}
"""How many servers an agent cannot be told to leave: the index of packages, for its newest version."""


@pytest.mark.parametrize("agent", [param for param in LONG if param.values != ("qwen-code",)])
def test_an_agent_calls_nobody_but_the_gateway(tmp_path: Path, installed: Any, proxy: Any, agent: str) -> None:
    """Its network is open here. Qwen Code asks even the gateway through a proxy, so that its preset allows none."""
    installed(agent)
    address, asked = proxy
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    result, run_dir, _ = work(tmp_path, agent, params={"network": "open", "env": dict.fromkeys(names, address)})
    assert result.score_val_best == 1.0, said(run_dir, result.job_id)
    assert len(asked) <= STILL_ASKED.get(agent, 0), asked


DIAL = "rate=5\nflavour=plain\ncrash=\nhang=\nsilent=\n"


@pytest.mark.parametrize("agent", ALL)
def test_an_agent_edits_the_files_of_an_experiment_by_its_name(tmp_path: Path, installed: Any, agent: str) -> None:
    installed(agent)
    write_dial(tmp_path / "root")
    coder = Coder(
        start=DIAL,
        stages=[DIAL.replace("5", "3")],
        file="dial.txt",
        measure="sh score.sh 1",
        task="# Now",
    )
    params = {"agent": agent, "num_experiments": 1, "accept": "greedy"}
    with FakeOpenAI(act=coder) as server:
        results, run_dir = run(
            tmp_path / "runs", server, [{"id": "Autoresearch", "params": params}],
            tasks=["autoresearch:dial"], uncalibrated="score", root=tmp_path / "root",
        )  # fmt: skip
        served = [*server.log.served]
    result = results["Autoresearch"]
    assert result.status == "ok", (result.error, result.stop_reason, said(run_dir, result.job_id))
    assert [round(c["values"]["files"]["dial.txt"].count("rate=3")) for c in candidates(run_dir, result.job_id)] == [
        0,
        1,
    ]
    assert_counted(result.used, served)
