"""Which job of a recording another job repeats."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.specs import JobSpec
from tracebench_runs.reading.compare import RecordedJobs


def job(number: int, **fields: Any) -> JobSpec:
    return job_spec(**{"job_id": f"{number:012x}", "optimizer": "Words", **fields})


@pytest.mark.parametrize("field", ["optimizer_kwargs", "eval_kwargs"])
def test_a_setting_that_was_added_since_tells_no_jobs_apart(field: str) -> None:
    recorded = RecordedJobs([job(1, **{field: {"memory": 5}}), job(2, **{field: {"memory": 6}})])
    assert recorded.find(job(3, **{field: {"memory": 6, "patches": False}})) == f"{2:012x}"
    assert recorded.find(job(3, **{field: {"memory": 7, "patches": False}})) == ""
    assert recorded.find(job(3, **{field: {"patches": False}})) == ""


def test_a_setting_counts_for_the_optimizer_that_has_it() -> None:
    recorded = RecordedJobs([job(1, optimizer_kwargs={"memory": 5}), job(2, optimizer="Other", optimizer_kwargs={})])
    assert recorded.find(job(3, optimizer="Other", optimizer_kwargs={"memory": 5})) == f"{2:012x}"
    assert recorded.find(job(3, optimizer="Third", optimizer_kwargs={"memory": 5})) == ""
