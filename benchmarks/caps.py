"""Caps against five kinds of client, and against crowds: `python benchmarks/caps.py [--crowds]`.

Every client asks until something stops it, each on every axis of the budget, against a fake server on this machine. The table says
what was capped, what was spent by the engine's own count, and by how much the cap was passed: by calls under way, and no more.

With `--crowds`, many threads of one program ask or evaluate at the same time, whole or streamed, under usual caps and strict ones; the
server's own log says what was spent. Under a strict cap it bills the most that it may: a token a byte, and an answer as long as its limit.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.specs import Axis, JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI, Served

ANSWER = '{"reasoning": "closer", "values": {"x": %s}}'
PRICE = {"fake": {"prompt": 1.0, "completion": 2.0}}
CAPS: Mapping[Axis, float] = {"evaluations": 7, "llm_calls": 5, "tokens": 2_000, "usd": 0.002, "seconds": 4.0}
HEAD = """
import itertools, os
import tracebench_client
problem = tracebench_client.connect()
def report(n):
    problem.evaluate({"x": n / 100})
"""
LOOPS = {
    "openai SDK loop": """
import openai
client = openai.OpenAI()
for n in itertools.count():
    client.chat.completions.create(model=os.environ["TRACEBENCH_MODEL"], messages=[{"role": "user", "content": f"question {n} " * 20}])
    report(n)
""",
    "litellm loop": """
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
for n in itertools.count():
    litellm.completion(model="openai/" + os.environ["TRACEBENCH_MODEL"], messages=[{"role": "user", "content": f"question {n} " * 20}])
    report(n)
""",
    "curl loop, deaf to 402": """
import json, subprocess
for n in itertools.count():
    body = {"messages": [{"role": "user", "content": f"question {n} " * 20}]}
    subprocess.run(["curl", "-s", "-o", "/dev/null", os.environ["OPENAI_BASE_URL"] + "/chat/completions", "-d", json.dumps(body),
                    "-H", "Authorization: Bearer " + os.environ["OPENAI_API_KEY"]])
    try:
        report(n)
    except BaseException:
        pass
""",
    "foreign trainer": """
import json, urllib.request
endpoint = problem.endpoint("optimizer")
for n in itertools.count():
    with problem.step():
        body = json.dumps({"messages": [{"role": "user", "content": f"question {n} " * 20}]}).encode()
        request = urllib.request.Request(endpoint.base_url + "/chat/completions", body, {"Authorization": "Bearer " + endpoint.api_key})
        urllib.request.urlopen(request).read()
        problem.evaluate_many([{"x": n / 100}, {"x": n / 50}])
""",
}
CROWD = """
import json, os, sys, threading, urllib.error, urllib.request
import tracebench_client
axis, callers, streamed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "streamed"
problem = tracebench_client.connect()
endpoint = problem.endpoint("optimizer")
def ask(n):
    body = json.dumps({"messages": [{"role": "user", "content": f"question {n} " * 5}], "stream": streamed}).encode()
    request = urllib.request.Request(endpoint.base_url + "/chat/completions", body, {"Authorization": "Bearer " + endpoint.api_key})
    try:
        urllib.request.urlopen(request).read()
    except OSError:
        pass
def evaluate(n):
    try:
        problem.evaluate({"x": n / 1000})
    except BaseException:
        pass
def work(caller):
    for n in range(300 // callers):
        (evaluate if axis == "evaluations" else ask)(caller * 300 + n)
threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
CROWD_CAPS: Mapping[Axis, float] = {"evaluations": 40, "llm_calls": 40, "tokens": 3_000, "usd": 0.003}
CALLERS = (1, 16, 150)
SEARCH = {"id": "PrioritySearch", "optimizer": "Reflective", "params": {"num_steps": 10_000}}


class Row(NamedTuple):
    """One client on one axis."""

    client: str
    axis: Axis
    cap: float
    result: JobResult
    served: tuple[Served, ...]

    @property
    def spent(self) -> float:
        """What was used on the axis; an unknown price would show as NaN."""
        amount = getattr(self.result.used, self.axis)
        return float("nan") if amount is None else float(amount)

    @property
    def refused(self) -> int:
        """How many calls were turned away."""
        return sum(usage.refused for usage in self.result.usage.values())

    @property
    def overshoot(self) -> float:
        """How far past the cap."""
        return max(0.0, self.spent - self.cap)


def trainers(folder: Path, *, search: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every client with the trainer that it is in a config."""
    if search:
        yield "PrioritySearch", SEARCH
    for name, source in LOOPS.items():
        path = folder / f"loop_{name.split()[0]}.py"
        path.write_text(HEAD + source)
        yield name, {"id": "Command", "params": {"argv": [sys.executable, str(path)], "grace": 1.0}}


def measure(folder: Path, axis: Axis, *, client: str, trainer: Mapping[str, Any]) -> Row:
    """Run one client against one cap."""
    numbers = iter(range(10**9))

    def reply(_: object) -> str:
        x = next(numbers) / 1000
        return ANSWER % x

    with FakeOpenAI(reply=reply, delay=0.01) as server:
        config = {
            "mode": "real",
            "tasks": ["internal:numeric_param"],
            "trainers": [dict(trainer)],
            "runs_dir": str(folder / "runs"),
            "llm": {"model": "fake", "base_url": server.base_url, "prices": PRICE},
            "budget": {axis: CAPS[axis]},
            "job_timeout": 60,
        }
        summary = api.run(parse_config(config), stream=io.StringIO())
        (result,) = api.load_run(summary.run_dir).results.values()
        return Row(client, axis, CAPS[axis], result, tuple(server.log.served))


def crowds(folder: Path, write: Callable[[str], object], *, callers: Sequence[int] = CALLERS) -> None:
    """Write what crowds of callers spend against a cap, by the server's own log and the engine's count."""
    write(
        f"{'axis':<13}{'rule':<8}{'callers':>8}  {'answers':<10}{'cap':>8}{'spent':>12}{'overshoot':>12}{'asked':>8}\n"
    )
    path = folder / "crowd.py"
    path.write_text(CROWD)
    every = product(CROWD_CAPS.items(), (False, True), callers, ("whole", "streamed"))
    for (axis, cap), strict, count, way in every:
        if axis == "evaluations" and way == "streamed":
            continue
        spent = crowd(folder, axis, argv=[sys.executable, str(path), axis, str(count), way], strict=strict)
        amounts = f"{cap:>8g}{spent:>12.6g}{max(0.0, spent - cap):>12.3g}{300 // count * count:>8}"
        write(f"{axis:<13}{'strict' if strict else 'usual':<8}{count:>8}  {way:<10}{amounts}\n")


def crowd(folder: Path, axis: Axis, *, argv: list[str], strict: bool) -> float:
    """Return what one crowd has spent on its capped axis."""
    with FakeOpenAI(reply=lambda _: "word " * 60, delay=0.02, bills_worst=strict) as server:
        config = {
            "mode": "real",
            "tasks": ["internal:numeric_param"],
            "trainers": [{"id": "Command", "params": {"argv": argv, "grace": 5.0}}],
            "runs_dir": str(folder / "runs"),
            "llm": {"model": "fake", "base_url": server.base_url, "prices": PRICE, "max_tokens": 50},
            "budget": {axis: CROWD_CAPS[axis], "strict": strict},
        }
        summary = api.run(parse_config(config), stream=io.StringIO())
        (result,) = api.load_run(summary.run_dir).results.values()
        served = server.log.served
    prompt, completion = sum(s.prompt_tokens for s in served), sum(s.completion_tokens for s in served)
    by_axis = {"llm_calls": len(served), "tokens": prompt + completion, "usd": (prompt + 2 * completion) / 1e6}
    return float(by_axis.get(axis, result.used.evaluations))


def table(rows: Iterator[Row], write: Callable[[str], object]) -> None:
    """Write the rows."""
    write(
        f"{'client':<24}{'axis':<13}{'cap':>8}{'spent':>12}{'overshoot':>12}{'served':>8}{'refused':>9}  stop reason\n"
    )
    for row in rows:
        numbers = f"{row.cap:>8g}{row.spent:>12.6g}{row.overshoot:>12.3g}{len(row.served):>8}{row.refused:>9}"
        write(f"{row.client:<24}{row.axis:<13}{numbers}  {row.result.status}, {row.result.stop_reason}\n")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-search", action="store_true", help="leave out the trainer that needs the extra `opto`")
    parser.add_argument("--crowds", action="store_true", help="crowds of callers, in place of kinds of client")
    parser.add_argument("--callers", type=int, nargs="+", default=CALLERS, help="how many ask at once, with --crowds")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.crowds:
            crowds(folder, sys.stdout.write, callers=args.callers)
            return
        clients = list(trainers(folder, search=not args.no_search))
        table(
            (measure(folder, axis, client=client, trainer=trainer) for client, trainer in clients for axis in CAPS),
            sys.stdout.write,
        )


if __name__ == "__main__":
    main()
