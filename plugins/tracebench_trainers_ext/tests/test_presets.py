"""Real coding agents by their presets: each edits by its own tools on its own wire, and the ledger says what the model server says.

They are installed as `trace-bench agents install` does it, into `$TRACEBENCH_AGENTS` where that is set. Group `agents_two` are the two that
install soonest, `agents` the others, and what takes minutes.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from plugins.tracebench_autoresearch.tests.dials import write, write_dial
from plugins.tracebench_trainers_ext.tests.coder import STAGES, START, Coder
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, run, said

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins.agents import VARIABLE
from tracebench_engine import api
from tracebench_engine.api.agents import install_agent, list_agents
from tracebench_engine.api.installed.hosting import open_host
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import SAMPLES
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.agents import AGENTS

TWO = ("claude-code", "qwen-code")
REAL = [spec.name for spec in AGENTS if spec.is_installable]
SOON, OTHERS = pytest.mark.heavy("agents_two"), pytest.mark.heavy("agents")
ALL = [pytest.param(name, marks=SOON if name in TWO else OTHERS) for name in REAL]
SLOW = [pytest.param(name, marks=SOON if name == TWO[0] else OTHERS) for name in REAL]
"""For what takes a minute by the clock, or seconds of a processor and asks little of the agent."""
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


def work(folder: Path, agent: str, *, act: Any = None, params: Any = None, delay: float = 0.0, **config: Any) -> Any:
    """Run one agent against the scripted model; return the result, the run's folder, and the server's log."""
    trainer = {"id": "Agent", "params": {"agent": agent, **(params or {})}}
    with FakeOpenAI(act=act or Coder(), delay=delay) as server:
        results, run_dir = run(folder, server, [trainer], **config)
    return results["Agent"], run_dir, server.log


FOREVER = (*STAGES, *(f"{SOLVED[:-1]}  # {turn}\n" for turn in range(200)))
"""Stages of a model that finds the solution and does not know when to stop."""


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what an agent's uncapped work came to, done once for all tests that look at it."""

    @functools.cache
    def done(agent: str) -> Any:
        return work(tmp_path_factory.mktemp(agent), agent)

    return done


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
    installed: Any, plain: Any, agent: str
) -> None:
    installed(agent)
    result, run_dir, log = plain(agent)
    words = said(run_dir, result.job_id)
    assert result.status == "ok", (result.error, words)
    assert result.score_val_best == 1.0, words
    assert_counted(result.used, log.served)
    assert len(candidates(run_dir, result.job_id)) >= len(STAGES)
    assert left_over(run_dir) == []


@pytest.mark.parametrize("agent", ALL)
def test_a_cap_of_calls_ends_an_agent_and_what_it_found_is_kept(tmp_path: Path, installed: Any, agent: str) -> None:
    installed(agent)
    forever = Coder(stages=FOREVER)
    cap = {"aider": 2}.get(agent, 6)
    result, run_dir, log = work(tmp_path, agent, act=forever, budget={"llm_calls": cap, "evaluations": 400})
    words = said(run_dir, result.job_id)
    assert (result.status, result.stop_reason) == ("ok", "budget:llm_calls"), (result.error, words)
    assert (result.used.llm_calls, len(log.served)) == (cap, cap)
    assert result.score_val_best is not None
    assert result.score_val_best > result.score_val_initial, words
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("axis", ["tokens", "usd"])
@pytest.mark.parametrize("agent", SLOW)
def test_a_cap_of_tokens_or_money_is_not_passed_by_any_agent(
    tmp_path: Path, installed: Any, plain: Any, agent: str, axis: str
) -> None:
    """It pays for what the uncapped work took and for one more question, of whose prompt a third of its bytes is set aside."""
    installed(agent)
    before, _, log = plain(agent)
    longest = max(len(json.dumps(request)) for request in log.requests) // 3
    cap = {"tokens": before.used.tokens + longest, "usd": before.used.usd + 2e-6 * longest}[axis]
    result, run_dir, log = work(tmp_path, agent, act=Coder(stages=FOREVER), budget={axis: cap, "evaluations": 2000})
    words = said(run_dir, result.job_id)
    assert (result.status, result.stop_reason) == ("ok", f"budget:{axis}"), (result.error, words)
    assert_counted(result.used, log.served)
    assert before.used.llm_calls <= result.used.llm_calls
    assert getattr(result.used, axis) <= cap
    assert result.score_val_best == 1.0, words
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("agent", SLOW)
def test_a_cap_of_seconds_ends_an_agent_and_what_it_found_is_kept(tmp_path: Path, installed: Any, agent: str) -> None:
    installed(agent)
    budget = {"seconds": 60, "evaluations": 20000}
    result, run_dir, log = work(tmp_path, agent, act=Coder(stages=FOREVER), budget=budget, delay=0.5)
    words = said(run_dir, result.job_id)
    assert (result.status, result.stop_reason) == ("ok", "budget:seconds"), (result.error, words)
    assert result.used.llm_calls - len(log.served) in (0, 1), "more than the call that was given up"
    measured = {c["values"]["code"]: worth(c["values"]["code"]) for c in candidates(run_dir, result.job_id)}
    assert result.score_val_best == pytest.approx(max(measured.values())), measured
    assert left_over(tmp_path) == []


def worth(code: str) -> float:
    """Return the validation score of a stage, or of the start."""
    return 1.0 if code.startswith(SOLVED[:-1]) else {STAGES[0]: 5 / 9, START: 3 / 16}[code]


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


ASKED = "Answer the question.\n"
BETTER = ("Answer the question in one word.\n", "Answer with one word: positive or negative.\n")


class Pupil:
    """Answers the questions of a task as well as its instructions are, and for an agent acts as a coder."""

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._answers = {row["question"]: row["answer"] for row in read_file(SAMPLES / "small.classification.jsonl")}
        self.answered = 0

    def __call__(self, request: dict[str, Any]) -> Any:
        text = json.dumps(request["messages"])
        asked = [question for question in self._answers if json.dumps(question)[1:-1] in text]
        if request.get("tools") or "SEARCH/REPLACE" in text or len(asked) != 1:
            return self._coder(request)
        self.answered += 1
        return self._answers[asked[0]] if BETTER[-1].strip() in text else "I feel that it is somewhat mixed."


WORSE = [f"Answer the question at length, and say so {turn} times.\n" for turn in range(2, 12)]


def optimise_prompt(folder: Path, agent: str, stages: Sequence[str], *, cap: int) -> Any:
    """Let an agent improve the instructions of a question task in so many evaluations, and return the result."""
    task = {"id": "hf:small/classification", "eval_kwargs": {"num_train": 4, "num_validate": 4, "num_test": 2}}
    pupil = Pupil(Coder(start=ASKED, stages=stages, file="instructions.txt"))
    result, run_dir, log = work(folder, agent, act=pupil, tasks=[task], budget={"evaluations": cap})
    words = said(run_dir, result.job_id)
    assert result.status == "ok", (result.error, words)
    assert (result.score_val_initial, result.score_val_best, result.score_test) == (0.0, 1.0, 1.0), words
    assert result.usage["optimizer"].llm_calls == len(log.served) - pupil.answered
    assert left_over(folder) == []
    return result


@pytest.mark.parametrize("agent", ALL)
def test_an_agent_optimises_a_prompt_and_a_cap_leaves_what_it_found(tmp_path: Path, installed: Any, agent: str) -> None:
    """The cap ends it while it makes things worse."""
    installed(agent)
    result = optimise_prompt(tmp_path, agent, [*BETTER, *WORSE], cap=20)
    assert result.stop_reason == "budget:evaluations"


@pytest.mark.parametrize("agent", LONG)
def test_an_agent_optimises_a_prompt_to_its_own_end(tmp_path: Path, installed: Any, agent: str) -> None:
    installed(agent)
    assert optimise_prompt(tmp_path, agent, BETTER, cap=60).stop_reason == "completed"


REPOSITORY = {"model/shape.txt": "width=1\nflavour=plain\n", "train/rate.txt": "rate=5\n", "README": "A dial.\n"}
MEASURED = """\
. ./model/shape.txt
. ./train/rate.txt
awk -v rate="$rate" -v width="$width" 'BEGIN { printf "loss: %.6f\\n", (rate - 3) ^ 2 + (width - 4) ^ 2 + 1 }'
"""


def write_repository(root: Path) -> None:
    """Write an experiment whose best is reached by edits of two files in two folders."""
    experiment = {
        "title": "Two dials",
        "editable": ["model/shape.txt", "train/rate.txt"],
        "run": {"command": "sh score.sh {seed}", "seconds": 10},
        "metric": {"name": "loss", "direction": "minimize"},
    }
    write(root, "two", experiment, {**REPOSITORY, "score.sh": MEASURED})


@pytest.mark.parametrize("agent", SLOW)
def test_an_agent_edits_a_repository_of_several_files_and_what_it_found_is_kept_where_a_cap_ends_it(
    tmp_path: Path, installed: Any, agent: str
) -> None:
    """One experiment to its end; then two, the second of which a cap of calls cuts off in the middle."""
    installed(agent)
    write_repository(tmp_path / "root")
    shape, rate = REPOSITORY["model/shape.txt"], REPOSITORY["train/rate.txt"]
    wide = shape.replace("1", "4")
    coder = Coder(
        start=shape,
        stages=[wide],
        file="model/shape.txt",
        elsewhere=[("train/rate.txt", rate, rate.replace("5", "3"))],
        measure="sh score.sh 1",
        task="# Now",
    )
    budget: dict[str, int] = {}
    for experiments, end in ((1, "completed"), (2, "budget:llm_calls")):
        params = {"agent": agent, "num_experiments": experiments, "accept": "greedy"}
        with FakeOpenAI(act=coder) as server:
            results, run_dir = run(
                tmp_path / "runs", server, [{"id": "Autoresearch", "params": params}],
                tasks=["autoresearch:two"], uncalibrated="score", root=tmp_path / "root", budget=budget,
            )  # fmt: skip
            served = [*server.log.served]
        result = results["Autoresearch"]
        budget = {"llm_calls": result.used.llm_calls + 1}
        assert result.status == "ok", (result.error, result.stop_reason, said(run_dir, result.job_id))
        assert result.stop_reason == end
        assert_counted(result.used, served)
        [best] = [c for c in candidates(run_dir, result.job_id) if c["id"] == result.best_candidate]
        assert best["values"]["files"] == {"model/shape.txt": wide, "train/rate.txt": "rate=3\n"}
        assert result.score_val_best > result.score_val_initial
        assert left_over(tmp_path) == []


DIAL = "rate=5\nflavour=plain\ncrash=\nhang=\nsilent=\n"


@pytest.mark.parametrize("agent", SLOW)
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
