"""A folder with real runs, made once: recorded, without a model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_viewer.tests.visiting import browsing
from tests.conftest import install_plugin  # noqa: F401 - a fixture for this folder, too

from tracebench_engine import api
from tracebench_engine.config import parse_config

CONFIG = {
    "mode": "stub",
    "run_id": "first",
    "seeds": [1, 2],
    "tags": ["small"],
    "budget": {"evaluations": 20},
    "llm": {"record": True},
    "tasks": ["internal:numeric_param", "internal:non_trainable"],
    "trainers": [{"id": "BestOfN", "params": {"n": 4}}],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; for tests marked `IN_A_BROWSER`."""
    with browsing() as found:
        yield found


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run: two jobs that worked, two that failed. Leave it as it is."""
    folder = tmp_path_factory.mktemp("runs")
    with (folder / "log").open("w") as log:
        api.run(parse_config(CONFIG | {"runs_dir": str(folder)}), stream=log)
    return folder


@pytest.fixture
def runs_dir(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, with an index of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(made, tmp_path / "runs"))
