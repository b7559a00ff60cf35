"""What three bodies of 31 MB by one job do to the calls of another: their 95th percentile beside that of the same calls alone.

    python benchmarks/neighbour.py

The sender of the large bodies and two providers are processes of their own: one provider answers the neighbour, the other the sender, since
a provider that counts 31 MB of words keeps everybody waiting who asks it.
Calls alone and calls beside are measured in turns, `--rounds` of each, and the ratio is that of all of them together.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tracebench_core.specs import Budget, LLMConfig
from tracebench_gateway.gateway_process import start_gateway
from tracebench_gateway.models import resolve_models

SIZE = 31 << 20
CALLS = 200
BODIES: dict[str, Callable[[], bytes]] = {
    "one text": lambda: (
        b'{"messages": [{"role": "user", "content": "' + b"lorem ipsum " * (SIZE // 12 - 10) + b'"}], "max_tokens": 5}'
    ),
    "empty lists": lambda: (
        b'{"messages": [{"role": "user", "content": "x"}], "stop": [' + b"[]," * (SIZE // 3 - 40) + b"[]]}"
    ),
    "20,000 messages": lambda: (
        b'{"messages": [' + b",".join([b'{"role": "user", "content": "%b"}' % (b"y" * 1_580)] * 20_000) + b"]}"
    ),
}


def post(base_url: str, key: str, body: bytes) -> int:
    """Send one chat request; returns the status."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=300)
    try:
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def send(kind: str, base_url: str, key: str) -> None:
    """Send three bodies at a time until the input ends; prints the statuses of the first three."""
    body = BODIES[kind]()
    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(3) as pool:
        print(json.dumps(list(pool.map(lambda _: post(base_url, key, body), range(3)))), flush=True)


def calls(base_url: str, key: str) -> list[float]:
    """Return the seconds of each of the neighbour's calls, sorted."""
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}).encode()
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=300)
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
        connection.getresponse().read()
        took.append(time.perf_counter() - began)
    connection.close()
    return sorted(took)


def p95(took: list[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(took, n=20)[-1]


def peak(pid: int) -> float:
    """Return the most memory that a process had, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


@contextmanager
def provider(delay: float) -> Iterator[LLMConfig]:
    """Run a provider, and yield how it is reached."""
    command = [sys.executable, "-m", "tracebench_testing.fake_openai", "--delay", str(delay)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield LLMConfig(provider="openai", model="fake", base_url=process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()


def measure(kind: str, *, delay: float, rounds: int) -> str:
    """Return the row of one kind of body."""
    alone: list[float] = []
    beside: list[float] = []
    with ExitStack() as stack:
        llm, others = (stack.enter_context(provider(delay)) for _ in range(2))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        gateway = stack.enter_context(
            start_gateway(
                llm, variants={"rival": others}, mode="real", run_dir=Path(folder), run_budget=Budget(), environ={}
            )
        )
        job, rival = (
            gateway.register(
                name, budget=Budget(), seed=1, models=resolve_models(own, mode="real", environ={}), variant=variant
            )
            for name, own, variant in (("job", llm, ""), ("rival", others, "rival"))
        )
        keys = [access.keys["agent"]["training"] for access in (job, rival)]
        calls(job.base_url, keys[0])
        for _ in range(rounds):
            alone += calls(job.base_url, keys[0])
            command = [sys.executable, __file__, "--send", kind, rival.base_url, keys[1]]
            sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert sender.stdin is not None
            assert sender.stdout is not None
            sender.stdout.readline()
            sender.stdin.write("\n")
            sender.stdin.flush()
            beside += calls(job.base_url, keys[0])
            statuses = sender.communicate()[0].strip()
        memory = peak(gateway.pid)
    ratio = p95(beside) / p95(alone)
    return (
        f"{kind:<22}{statuses:<18}{p95(alone) * 1e3:>7.1f} ms{p95(beside) * 1e3:>11.1f} ms{ratio:>8.2f}"
        f"{max(beside) * 1e3:>7.0f} ms{memory:>7.0f} MB"
    )


def main() -> None:
    """Print one row per kind of body."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that an answer of the provider takes")
    parser.add_argument("--rounds", type=int, default=5, help="how often calls alone and calls beside take turns")
    parser.add_argument("--kind", choices=BODIES, help="one kind of body alone")
    parser.add_argument("--send", nargs=3, metavar=("KIND", "URL", "KEY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        send(*options.send)
        return
    print(
        f"{'three bodies of 31 MB':<22}{'answered':<16}{'p95 alone':>12}{'beside them':>14}{'ratio':>8}{'longest':>10}{'gateway':>10}"
    )
    for kind in [options.kind] if options.kind else BODIES:
        print(measure(kind, delay=options.delay, rounds=options.rounds), flush=True)


if __name__ == "__main__":
    main()
