"""`show` of a run of many jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.unit.store.samples import job_spec

from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.storage.layout import RunLayout

Cli = Callable[..., CompletedProcess[str]]
JOBS = 2001


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A run of which no job was run yet."""
    layout = RunLayout(tmp_path / "large").create()
    write_manifest(layout, {}, [job_spec(job_id=f"{n:012x}", seed=n) for n in range(JOBS)])
    return layout.path


def test_of_many_jobs_the_leaderboard_is_shown_and_how_to_have_the_rest(cli: Cli, large: Path) -> None:
    done = cli("show", str(large))

    assert done.returncode == 0, done.stderr
    assert f"{JOBS} not_run" in done.stderr
    assert "--all" in done.stderr
    assert [line.split("\t")[2] for line in done.stdout.splitlines()] == ["trainer", "Climber"]


@pytest.mark.parametrize("asked", [("--all",), ("--columns", "job,status")])
def test_every_job_is_shown_to_who_asks(cli: Cli, large: Path, asked: tuple[str, ...]) -> None:
    done = cli("show", str(large), *asked)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == JOBS + 1
