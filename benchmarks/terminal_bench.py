"""What the suite adds to Harbor, what a cap lets through, and what a kill leaves; on a toy task that runs without Docker.

    TRACE_BENCH_HARBOR=… PYTHONPATH=. python benchmarks/terminal_bench.py speed --rounds 3   # baseline: `harbor run` of the same job
    TRACE_BENCH_HARBOR=… PYTHONPATH=. python benchmarks/terminal_bench.py caps               # beside the log of the model's own server
    TRACE_BENCH_HARBOR=… PYTHONPATH=. python benchmarks/terminal_bench.py kills              # seconds until no process and no mount is left

For `speed` the agent is each task's own solution, and no model is asked; else it is Terminus-2 with a stand-in for a model that only waits.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
import uuid
from datetime import datetime
from pathlib import Path

from plugins.tracebench_terminalbench.tests.whole_runs import left, run_command

from tracebench_engine import api
from tracebench_terminalbench.catalog import cases_of
from tracebench_terminalbench.found import find_harbor
from tracebench_terminalbench.job_config import job_config
from tracebench_terminalbench.launch import harbor_environ
from tracebench_terminalbench.options import Options
from tracebench_testing.fake_openai import FakeOpenAI

TASK = "toy/hello-file"
TRIALS, AT_A_TIME = 12, 4
PRICES = {"prompt": 1.0, "completion": 2.0}
"""USD per million tokens."""
CONFIG = """
mode: real
seeds: [1]
job_timeout: 900
budget: {budget}
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {prices}}}}}
tasks: [{{id: "terminal_bench:{task}", eval_kwargs: {{agent_kwargs: {{max_turns: 30}}}}}}]
trainers: [NoOp]
"""
CAPS = (("llm_calls", 6), ("tokens", 9000), ("usd", 0.01), ("seconds", 40))
WAITS, SLEEPS = (
    json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": keys, "duration": seconds}]})
    for keys, seconds in (("", 0.5), ("sleep 999\n", 30))
)


def bare(options: Options, name: str, folder: Path) -> tuple[float, list[float]]:
    """Return the seconds of a bare Harbor job on a task's training examples, and of each of its trials."""
    job = f"bare-{uuid.uuid4().hex[:8]}"
    config = job_config(options, cases_of(name)["train"], name=job, folder=folder, subject={}, model=None)
    path = folder / f"{job}.json"
    path.write_text(json.dumps(config))
    started = time.perf_counter()
    argv = [find_harbor().command, "run", "-c", str(path), "--yes"]
    subprocess.run(argv, env=harbor_environ(os.environ, extra={}), capture_output=True, check=True)
    seconds = time.perf_counter() - started
    results = [json.loads(p.read_text()) for p in (folder / job).glob("*/result.json")]
    return seconds, [_seconds(result) for result in results]


def evaluated(name: str, **options: object) -> float:
    """Return the seconds of the same job as an evaluation of the suite."""
    started = time.perf_counter()
    feedback = api.evaluate_task(f"terminal_bench:{name}", eval_kwargs=options)
    assert all(one.score == 1.0 for one in feedback)
    return time.perf_counter() - started


def _seconds(result: dict[str, str]) -> float:
    begin, end = (datetime.fromisoformat(result[key]) for key in ("started_at", "finished_at"))
    return (end - begin).total_seconds()


def speed(rounds: int) -> None:
    """Print the two ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        oracle = Options(agent="oracle")
        bare(oracle, TASK, folder)  # warms the file cache
        pairs = [(bare(oracle, TASK, folder)[0], evaluated(TASK, agent="oracle")) for _ in range(rounds)]
        alone, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"one toy evaluation: {ours:.1f} s; bare `harbor run`: {alone:.1f} s; ratio {ours / alone:.2f} (goal 1.5)"
        )
        many = Options(agent="oracle", attempts=TRIALS // 3, concurrency=AT_A_TIME)
        trial = statistics.median(bare(many, "toys", folder)[1])
        whole = evaluated("toys", agent="oracle", attempts=many.attempts, concurrency=many.concurrency)
        goal = 2 * (TRIALS / AT_A_TIME) * trial
        print(f"{TRIALS} trials, {AT_A_TIME} at a time: {whole:.1f} s; median trial {trial:.1f} s; goal {goal:.1f} s")


def caps() -> None:
    """Print for each axis its cap, what the ledger says training and the engine's scoring used, and what the model's server served."""
    print(
        f"{'axis':<11}{'cap':>8}{'training':>12}{'scoring':>10}{'served':>10}{'calls':>7}{'stopped by':>20}{'s':>7}{'left':>6}"
    )
    for axis, cap in CAPS:
        with tempfile.TemporaryDirectory() as name, FakeOpenAI(reply=lambda _: WAITS) as server:
            folder = Path(name)
            command = run_command(folder, config(server.base_url, TASK, f"{{{axis}: {cap}}}"))
            started = time.perf_counter()
            subprocess.run(command, check=False, capture_output=True)
            seconds = time.perf_counter() - started
            result = json.loads(next(folder.glob("runs/*/jobs/*/results.json")).read_text())
            tokens = [(one.prompt_tokens, one.completion_tokens) for one in server.log.served]
            usd = sum(p * PRICES["prompt"] + c * PRICES["completion"] for p, c in tokens) / 1e6
            served = {"llm_calls": len(tokens), "tokens": sum(map(sum, tokens)), "usd": usd}
            said = f"{served[axis]:.6g}" if axis in served else "-"
            used, scoring = (result[part][axis] for part in ("used", "usage_selection"))
            print(
                f"{axis:<11}{cap:>8}{used:>12.6g}{scoring:>10.6g}{said:>10}{len(tokens):>7}{result['stop_reason']:>20}"
                f"{seconds:>7.1f}{len(left(folder)):>6}",
                flush=True,
            )


def kills() -> None:
    """Print for each signal to the runner, and for one to the job's process, the seconds until nothing of the run is left."""
    for sent, whom in (
        (signal.SIGTERM, "runner"),
        (signal.SIGKILL, "runner"),
        (signal.SIGKILL, "job"),
        (signal.SIGKILL, "harbor"),
    ):
        with tempfile.TemporaryDirectory() as name, FakeOpenAI(reply=lambda _: SLEEPS) as server:
            folder = Path(name)
            command = run_command(folder, config(server.base_url, "toys", "{}"))
            runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while sum(".sandbox-" in words for _, words in left(folder)) < 3 or not server.log.requests:
                time.sleep(0.1)
            harbor = next(pid for pid, words in left(folder) if "harbor run" in words)
            target = {"runner": runner.pid, "harbor": harbor, "job": _parent(harbor)}[whom]
            started = time.perf_counter()
            os.kill(target, sent)
            whole = whom == "runner"
            while any(whole or pid == harbor or ".sandbox-" in words for pid, words in left(folder)):
                time.sleep(0.05)
            what = "the run" if whole else "its Harbor"
            print(
                f"{sent.name} to the {whom}: nothing of {what} left after {time.perf_counter() - started:.1f} s",
                flush=True,
            )
            runner.kill()
            runner.wait()
            while left(folder):
                time.sleep(0.1)


def config(url: str, task: str, budget: str) -> str:
    """Return a config that runs a task under a budget."""
    return CONFIG.format(budget=budget, url=url, task=task, prices=json.dumps(PRICES))


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "caps", "kills"])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    find_harbor()  # says at once what is missing
    if asked.what == "speed":
        speed(asked.rounds)
    elif asked.what == "caps":
        caps()
    else:
        kills()


if __name__ == "__main__":
    main()
