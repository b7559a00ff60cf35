"""What the gateway costs, and whether its ledger is the provider's: `python benchmarks/gateway.py [--calls 10000]`.

Five measurements against a fake server on this machine, each a line of a table:

* overhead: a stub call, one after another, beside a bare HTTP exchange with the same client library;
* reservation: a stub call under caps, which are reserved and settled, beside one without any, interleaved;
* concurrency: 50 calls of one second from 10 jobs;
* ledger: calls and tokens against the fake server's own log, from 8 clients under faults, half of them streaming;
* throughput: the same 32-fold asynchronous client at the fake server directly and through the gateway.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx

from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget, LLMConfig, Mode
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.gateway_process import GatewayHandle, start_gateway
from tracebench_gateway.models import resolve_models
from tracebench_testing.fake_openai import FakeOpenAI

MESSAGES = [{"role": "user", "content": "Improve the value of x, please. It is 2.0 now."}]
STUB_CALLS, CLIENTS, IN_FLIGHT, BLOCKS = 1000, 8, 32, 10


@contextmanager
def gateway(
    *, mode: Mode = "stub", base_url: str | None = None, **llm: object
) -> Iterator[tuple[GatewayHandle, LLMConfig]]:
    """Run a gateway in a folder of its own."""
    real = {"provider": "openai", "model": "fake", "base_url": base_url} if mode == "real" else {}
    config = LLMConfig.model_validate(real | llm)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_gateway(config, mode=mode, run_dir=Path(folder), run_budget=Budget(), environ={}) as handle,
    ):
        handle.wait_ready()
        yield handle, config


def client_for(
    handle: GatewayHandle,
    config: LLMConfig,
    *,
    mode: Mode,
    job: int,
    budget: Budget = Budget(),  # noqa: B008 - frozen
) -> GatewayClient:
    """Register a job."""
    models = resolve_models(config, mode=mode, environ={})
    return GatewayClient(handle.register(f"job{job}", budget=budget, seed=job, models=models))


def overhead() -> str:
    """Return milliseconds per stub call, and the part that is bare HTTP."""
    with gateway() as (handle, config):
        client = client_for(handle, config, mode="stub", job=0)
        ours = timed(lambda: client.complete(MESSAGES, role="optimizer"))
        client.close()
    with fake_process() as base_url:
        parts = urlsplit(base_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        body = json.dumps({"model": "fake", "messages": MESSAGES})

        def bare() -> None:
            connection.request("POST", "/v1/chat/completions", body)
            connection.getresponse().read()

        floor = timed(bare)
        connection.close()
    return f"stub call, sequential: p50 {ours:.2f} ms (bare exchange with the fake server {floor:.2f} ms); target 3 ms"


def reservation() -> str:
    """Return milliseconds per stub call with every axis capped, beside those without a cap, from interleaved blocks."""
    capped = Budget(llm_calls=10**9, tokens=10**12, usd=1e9)
    with gateway() as (handle, config):
        clients = [
            client_for(handle, config, mode="stub", job=job, budget=b) for job, b in enumerate((Budget(), capped))
        ]
        blocks: list[list[float]] = [[], []]
        for _ in range(BLOCKS):
            for client, found in zip(clients, blocks, strict=True):
                found.append(timed(lambda client=client: client.complete(MESSAGES, role="optimizer"), times=100))  # type: ignore[misc]
        for client in clients:
            client.close()
    free, held = min(blocks[0]), min(blocks[1])
    return (
        f"stub call, every axis capped: p50 {held:.2f} ms, without caps {free:.2f} ms = x{held / free:.2f}; target x1.2"
    )


def timed(call: Callable[[], object], *, times: int = STUB_CALLS) -> float:
    """Return the median milliseconds of a call."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return median(seconds) * 1000


def concurrency() -> str:
    """Return how long 50 one-second calls of 10 jobs take together."""
    with (
        FakeOpenAI(delay=1.0) as server,
        gateway(mode="real", base_url=server.base_url, max_concurrency=64) as (handle, config),
    ):
        clients = [client_for(handle, config, mode="real", job=job) for job in range(10)]
        clients[0].complete(MESSAGES, role="agent")  # the first call imports litellm
        with ThreadPoolExecutor(50) as pool:
            begun = time.perf_counter()
            list(pool.map(lambda i: clients[i % 10].complete(MESSAGES, role="agent"), range(50)))
            seconds = time.perf_counter() - begun
    return f"50 calls of 1 s from 10 jobs: {seconds:.2f} s; target 1.5 s"


def ledger(calls: int) -> str:
    """Return the difference between our ledger and the server's log, under faults."""
    rates = {"429": 0.05, "500": 0.02, "drop": 0.01}
    price = {"fake": {"prompt": 1.0, "completion": 3.0}}
    with (
        FakeOpenAI(rates=rates) as server,  # type: ignore[arg-type]  # names of faults
        gateway(mode="real", base_url=server.base_url, max_retries=10, prices=price) as (handle, config),
    ):
        clients = [client_for(handle, config, mode="real", job=job) for job in range(CLIENTS)]
        begun = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            failed = sum(pool.map(lambda client: _mixed_calls(client, calls // CLIENTS), clients))
        seconds = time.perf_counter() - begun
        used, served = handle.run_used(), server.log.served
        retries = sum(client.used().retries for client in clients)
        estimated = sum(record.estimated for client in clients for record in client.records())
    prompt, completion = sum(s.prompt_tokens for s in served), sum(s.completion_tokens for s in served)
    usd = (prompt + 3 * completion) / 1e6
    return (
        f"ledger over {calls} calls, {CLIENTS} clients, {len(server.log.faults)} faults ({retries} retries, {failed} failed): "
        f"calls {used.llm_calls - len(served):+d}, tokens {used.tokens - prompt - completion:+d}, "
        f"USD {(used.usd or 0) - usd:+.9f}, estimated {estimated}; target 0 ({calls / seconds:.0f} calls/s)"
    )


def _mixed_calls(client: GatewayClient, calls: int) -> int:
    """Make whole and streamed calls by turns; return how many failed."""
    endpoint, failed = client.endpoint("agent"), 0
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"}
    with httpx.Client(base_url=endpoint.base_url, headers=headers, timeout=120) as http_client:
        for number in range(calls):
            messages = [{"role": "user", "content": f"question {number}"}]
            if number % 2:
                body = {"model": "fake", "messages": messages, "stream": True}
                with http_client.stream("POST", "/chat/completions", json=body) as response:
                    failed += "[DONE]" not in response.read().decode()
            else:
                try:
                    client.complete(messages, role="agent")
                except ModelError:
                    failed += 1
    client.close()
    return failed


def throughput(calls: int) -> str:
    """Return calls per second of one client, direct and through the gateway, interleaved."""
    with (
        fake_process() as base_url,
        gateway(mode="real", base_url=base_url, max_concurrency=IN_FLIGHT) as (handle, config),
    ):
        client = client_for(handle, config, mode="real", job=0)
        key = client.endpoint("agent").api_key.get_secret_value()
        client.complete(MESSAGES, role="agent")
        rates: dict[str, list[float]] = {base_url: [], handle.base_url: []}
        for _ in range(3):
            for url, found in rates.items():
                found.append(asyncio.run(_rate(url, key, calls)))
        client.close()
    direct, ours = max(rates[base_url]), max(rates[handle.base_url])
    return f"{IN_FLIGHT} in flight: direct {direct:.0f}/s, gateway {ours:.0f}/s = {ours / direct:.0%}; target 60 %"


async def _rate(base_url: str, key: str, calls: int) -> float:
    slots = asyncio.Semaphore(IN_FLIGHT)
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:

        async def ask() -> None:
            async with slots:
                body = {"model": "fake", "messages": MESSAGES}
                (await client.post(f"{base_url}/chat/completions", json=body)).raise_for_status()

        begun = time.perf_counter()
        await asyncio.gather(*(ask() for _ in range(calls)))
        return calls / (time.perf_counter() - begun)


@contextmanager
def fake_process() -> Iterator[str]:
    """Run the fake server in a process of its own, so that it does not share our interpreter."""
    argv = [sys.executable, "-m", "tracebench_testing.fake_openai"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        found = re.match(r"http\S+", line)
        if found is None:
            raise RuntimeError(f"the fake server said {line!r}")
        try:
            yield found[0]
        finally:
            process.terminate()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000, help="calls of the ledger measurement")
    parser.add_argument("--throughput-calls", type=int, default=500)
    args = parser.parse_args()
    print(overhead())
    print(reservation())
    print(concurrency())
    print(ledger(args.calls))
    print(throughput(args.throughput_calls))


if __name__ == "__main__":
    main()
