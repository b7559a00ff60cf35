"""A program as trainer of a job: where it finds its model, and that it ends whatever happens."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from tracebench_core.errors import ModelError, ProgramError
from tracebench_engine.door.program import Program, model_variables, run_program


def problem(address: str | None = None) -> Any:
    """A job's problem as far as starting a program asks it; what it has used cannot be told."""

    def endpoint(_role: str) -> Any:
        if address is None:
            raise ModelError("no model", kind="refused")
        return SimpleNamespace(model="m-1", api_key=SecretStr("sk-job"), base_url=address)

    def used() -> Any:
        raise ModelError("the gateway is gone", kind="server")

    held = SimpleNamespace(require="process", processes=None, memory_mb=None, hidden=(), told=lambda *_: None)
    budget = SimpleNamespace(used=used)
    return SimpleNamespace(
        train=(), validation=(), check=lambda _: "", endpoint=endpoint, confinement=held, budget=budget, workers=1
    )


def test_every_framework_finds_the_jobs_model_and_none_where_there_is_none() -> None:
    assert model_variables(problem()) == {}
    told = model_variables(problem("http://h:1/v1"))
    whole, bare = "http://h:1/v1", "http://h:1"
    assert told == {
        "OPENAI_BASE_URL": whole, "OPENAI_API_BASE": whole, "ANTHROPIC_BASE_URL": bare, "GOOGLE_GEMINI_BASE_URL": bare,
        "OPENAI_API_KEY": "sk-job", "ANTHROPIC_API_KEY": "sk-job", "GEMINI_API_KEY": "sk-job", "TRACEBENCH_MODEL": "m-1",
    }  # fmt: skip


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task", str(os.getpid()), "children").exists(), reason="the kernel tells none")
def test_a_program_ends_where_the_job_cannot_go_on(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(ModelError, match="the gateway is gone"):
        run_program(problem(), Program(("/bin/sleep", "600"), tmp_path, {}))
    assert children() <= before


def test_a_program_that_is_not_there_is_named_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        run_program(problem(), Program(("none", "x"), tmp_path, {"PATH": str(tmp_path)}))
    assert str(caught.value) == f"`none` cannot be started in `{tmp_path}`: No such file or directory."
