"""The executor `workers` keeps to the model of an executor through any steps, as the core's own does."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.engine.executor_machine import STEPS, ExecutorMachine

pytestmark = [pytest.mark.heavy("executor"), pytest.mark.timeout(900)]


class WorkersMachine(ExecutorMachine):
    name = "workers"


def test_workers_keep_to_the_model() -> None:
    run_state_machine_as_test(WorkersMachine, settings=settings(STEPS, max_examples=5))
