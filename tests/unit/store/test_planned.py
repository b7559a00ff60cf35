"""Jobs that differ in id and seed alone are not parsed, and are what parsing would have made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.samples import job_spec

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec
from tracebench_runs.meta.manifest import iter_job_lines, write_manifest, write_manifest_lines
from tracebench_runs.meta.planned import PlannedJobs, chosen_of, ids_of, iter_jobs, kinds_of, read_jobs
from tracebench_runs.storage.layout import RunLayout

MISLEADING: list[dict[str, Any]] = [
    {},
    {"params": {"seed": 3}},
    {"params": {"a": 1, "seed": 3, "mode": "stub"}, "seed": 3},
    {"eval_kwargs": {"text": ',"seed":3,"mode":"stub"'}, "seed": 3},
    {"guide_kwargs": {"job_id": "000000000001"}},
    {"settings": {"x": [{"job_id": "a", "seed": 0}]}, "seed": 0},
]


def stored(layout: RunLayout, jobs: list[JobSpec]) -> PlannedJobs:
    write_manifest(layout, {}, jobs)
    return read_jobs(layout)


@pytest.mark.parametrize("changes", MISLEADING, ids=str)
def test_jobs_read_are_the_jobs_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    first = job_spec(**changes)
    jobs = [first.model_copy(update={"job_id": f"{n:012x}", "seed": n}) for n in range(12)]
    jobs += [j.model_copy(update={"job_id": f"{n + 50:012x}", "trainer_id": "Other"}) for n, j in enumerate(jobs)]
    jobs += [first.model_copy(update={"job_id": f"{n + 90:012x}", "params": {"seed": n}, "seed": 3}) for n in range(4)]

    found = stored(RunLayout(tmp_path), jobs)

    assert [*found] == jobs
    assert found == jobs == found == read_jobs(RunLayout(tmp_path))
    assert found != jobs[1:]
    assert found != [*jobs[1:], jobs[0]]
    assert [found[n] for n in range(-len(jobs), len(jobs))] == jobs * 2
    assert found[3:17:2] == tuple(jobs[3:17:2])
    assert [*iter_jobs(RunLayout(tmp_path))] == jobs
    assert [*ids_of(found)] == [*ids_of(jobs)] == [j.job_id for j in jobs]
    assert chosen_of(found, lambda i: i in {jobs[2].job_id, jobs[14].job_id}) == [jobs[2], jobs[14]]
    assert {(j.task_id, j.trainer_id) for j in kinds_of(found)} == {(j.task_id, j.trainer_id) for j in jobs}
    with pytest.raises(IndexError):
        found[len(jobs)]


def test_seeds_alone_make_one_series(tmp_path: Path) -> None:
    jobs = [job_spec(job_id=f"{n:012x}", seed=n) for n in range(30)]
    assert len(stored(RunLayout(tmp_path), jobs).series) == 1


@given(st.integers(0, 300), st.binary(min_size=1, max_size=3))
def test_a_changed_line_is_read_as_it_is_or_refused(tmp_path_factory: Any, place: int, change: bytes) -> None:
    layout = RunLayout(tmp_path_factory.mktemp("run"))
    write_manifest(layout, {}, [job_spec(job_id=f"{n:012x}", seed=n) for n in range(3)])
    lines = [*iter_job_lines(layout)]
    changed = lines[2][:place] + change + lines[2][place + len(change) :]
    if b"\n" in changed:
        return
    write_manifest_lines(layout, {}, [*lines[:2], changed])
    try:
        expected = JobSpec.model_validate_json([*iter_job_lines(layout)][2])
    except (ValueError, IndexError):
        expected = None

    try:
        found = [*read_jobs(layout)]
    except RunDirError:
        assert expected is None
    else:
        assert len(found) < 3 or found[2] == expected


def test_a_manifest_that_was_laid_out_anew_is_read(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    jobs = [job_spec(job_id=f"{n:012x}", seed=n) for n in range(5)]
    write_manifest(layout, {}, jobs)
    layout.manifest.write_text(json.dumps(json.loads(layout.manifest.read_text()), indent=4))

    assert [*read_jobs(layout)] == jobs
