"""The core's own executor keeps to the model of an executor through any steps, and the model finds the ones that do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test
from tests.engine import broken_executors
from tests.engine.executor_machine import STEPS, ExecutorMachine

from tracebench_testing.executing import signs

pytestmark = [pytest.mark.heavy("executor"), pytest.mark.timeout(900)]


def test_the_cores_own_executor_keeps_to_the_model() -> None:
    run_state_machine_as_test(ExecutorMachine, settings=STEPS)


@pytest.mark.parametrize("kind", ["CancelsNothing", "OneAtATime", "CallsLostDead", "ForgetsLost", "LeavesItsJobs"])
def test_the_model_finds_a_broken_promise(
    install_plugin: Callable[..., None], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    install_plugin("broken", Path(broken_executors.__file__).read_text())
    monkeypatch.setattr(signs, "PATIENCE", 15.0)
    broken = type("Broken", (ExecutorMachine,), {"name": kind})
    few = settings(STEPS, max_examples=25, phases=[Phase.generate], derandomize=True)

    with pytest.raises((AssertionError, signs.BrokenPromiseError, FlakyFailure)):
        run_state_machine_as_test(broken, settings=few)
