"""A gateway process per test, in any mode, with a fake provider behind it and a tap before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.llm.scripted import Scripted
from tests.llm.tap import Tap, check_answered

from tracebench_core.specs import Budget, LLMConfig, Mode
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.gateway_process import GatewayHandle, start_gateway
from tracebench_gateway.models import resolve_models
from tracebench_gateway.server.metering.ledger import read_ledger
from tracebench_sandbox.forkserver import launch

KEY = "sk-provider-secret-0123456789"


class Door(NamedTuple):
    """A gateway with one registered job."""

    gateway: GatewayHandle
    client: GatewayClient
    run_dir: Path
    tap: Tap
    """Before it."""


Open = Callable[..., Door]


@pytest.fixture
def open_door(tmp_path: Path) -> Iterator[Open]:
    """Return a function that starts a gateway; all are closed at the end, and what clients saw is compared with the ledgers."""
    taps: list[tuple[Tap, Path, str]] = []
    with ExitStack() as stack:

        def open_door(
            *,
            mode: Mode = "stub",
            base_url: str | None = None,
            budget: Budget | None = None,
            run_budget: Budget | None = None,
            run: str = "run",
            replay_from: Path | None = None,
            seed: int = 1,
            job_id: str = "job",
            **llm: Any,
        ) -> Door:
            if base_url is not None:
                llm = {"provider": "openai", "model": "fake", "base_url": base_url, "api_key_env": "MY_KEY"} | llm
            config = LLMConfig(**llm)
            environ = {"PATH": "/usr/bin:/bin", "MY_KEY": KEY, "HOME": str(tmp_path)}
            run_dir = tmp_path / run
            gateway = stack.enter_context(
                start_gateway(
                    config,
                    mode=mode,
                    run_dir=run_dir,
                    run_budget=run_budget or Budget(),
                    replay_from=replay_from,
                    environ=environ,
                    launch=launch,
                )
            )
            models = resolve_models(config, mode=mode, environ=environ)
            access = gateway.register(job_id, budget=budget or Budget(), seed=seed, models=models)
            tap = stack.enter_context(Tap(gateway.base_url))
            taps.append((tap, run_dir / "llm/ledger.jsonl", gateway.attempt(job_id)))
            client = GatewayClient(access.model_copy(update={"base_url": tap.base_url}))
            stack.callback(client.close)
            return Door(gateway, client, run_dir, tap)

        yield open_door
    for tap, ledger, attempt in taps:
        lines = read_ledger(ledger) if ledger.exists() else ()
        check_answered(tap, [line for line in lines if line["attempt"] == attempt])


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Run a server to script."""
    with Scripted({}) as server:
        yield server


@pytest.fixture
def door(open_door: Open, server: Scripted) -> Door:
    """Open a gateway before it."""
    return open_door(
        mode="real", base_url=server.base_url, prices={"fake": {"prompt": 1, "completion": 2, "cached": 0.5}}
    )


def say(text: str) -> list[dict[str, str]]:
    """Return one user message."""
    return [{"role": "user", "content": text}]
