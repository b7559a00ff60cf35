"""A real sandbox, and contexts over it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from plugins.tracebench_veribench.tests.proving import Held

from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_veribench.coq.environment import CoqEnvironment


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSandbox]:
    tools = tmp_path_factory.mktemp("tools")
    with open_sandbox(readable=[tools]) as opened:
        opened.tools = tools  # type: ignore[attr-defined]
        yield opened


@pytest.fixture
def coq(sandbox: LocalSandbox) -> Held:
    return Held(sandbox, {"coq": CoqEnvironment().open(None)})  # type: ignore[arg-type]
