"""Which failed jobs are run again, how often, and when."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.specs import ErrorInfo, JobResult, RetriesConfig
from tracebench_engine.run.retries import Retries


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def result(job_id: str = "a", *, status: str = "failed", error: str = "ModelError") -> JobResult:
    fields: dict[str, Any] = {
        "job_id": job_id, "task_id": "s:t", "suite": "s", "trainer_id": "T", "seed": 1, "mode": "stub", "status": status,
        "stop_reason": "error",
    }  # fmt: skip
    return JobResult(**fields, error=ErrorInfo(type=error, message="m") if status == "failed" else None)


def test_a_job_may_fail_more_often_than_a_float_is_doubled() -> None:
    retries = Retries(RetriesConfig(failed=1100, backoff=0.0))

    assert all(retries.wants(result()) for _ in range(1100))
    assert retries.is_due("a")


def test_each_wait_is_twice_the_one_before_and_the_first_is_the_config_s() -> None:
    clock = Clock()
    retries = Retries(RetriesConfig(failed=3, backoff=4.0), clock=clock)

    assert retries.is_due("a")  # it never failed
    for wait in (4.0, 8.0, 16.0):
        assert retries.wants(result())
        began = clock.now
        clock.now = began + wait - 0.5
        assert not retries.is_due("a")
        clock.now = began + wait
        assert retries.is_due("a")
    assert not retries.wants(result())


def test_jobs_are_counted_one_by_one_and_taken_once() -> None:
    retries = Retries(RetriesConfig(failed=1), clock=Clock())

    assert [retries.wants(result(name)) for name in ("a", "b", "a")] == [True, True, False]
    assert retries.take() == ["a", "b"]
    assert retries.take() == []


@pytest.mark.parametrize("status", ["ok", "timeout", "cancelled"])
def test_only_what_failed_is_run_again(status: str) -> None:
    assert not Retries(RetriesConfig(failed=1), clock=Clock()).wants(result(status=status))


def test_errors_that_the_config_does_not_name_are_final() -> None:
    retries = Retries(RetriesConfig(failed=2, error_types=("ModelError",)), clock=Clock())

    assert not retries.wants(result(error="KeyError"))
    assert retries.take() == []
    assert retries.wants(result(error="ModelError"))


def test_without_retries_nothing_is_run_again() -> None:
    assert not Retries(RetriesConfig(), clock=Clock()).wants(result())
