import pytest

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Feedback, Objective
from tracebench_opto.parts.objectives import SCALAR, ObjectiveConfig, resolve_goal

DECLARED = [Objective(metric="loss", direction="minimize"), Objective(metric="gain", direction="maximize", weight=2.0)]


def test_scalar_is_the_guides_score() -> None:
    assert resolve_goal(ObjectiveConfig(), DECLARED) is SCALAR
    assert SCALAR.value(Feedback(score=0.5, metrics={"loss": 9.0})) == 0.5


def test_weighted_turns_losses_around_and_takes_the_configs_weights() -> None:
    goal = resolve_goal(ObjectiveConfig(mode="weighted", weights={"loss": 10.0}), DECLARED)
    assert goal.value(Feedback(score=0.0, metrics={"loss": 1.0, "gain": 3.0})) == -10.0 + 6.0


def test_weights_may_name_metrics_that_the_task_does_not_declare() -> None:
    goal = resolve_goal(ObjectiveConfig(mode="weighted", weights={"seconds": 1.0}, minimize=("seconds",)), [])
    assert goal.value(Feedback(score=0.0, metrics={"seconds": 4.0})) == -4.0


def test_a_missing_metric_is_no_number() -> None:
    goal = resolve_goal(ObjectiveConfig(mode="pareto"), DECLARED)
    assert goal.value(Feedback(score=1.0, metrics={"loss": 1.0})) is None


def test_a_mode_without_metrics_is_refused_with_a_hint() -> None:
    with pytest.raises(ConfigError, match="declares no objectives") as refusal:
        resolve_goal(ObjectiveConfig(mode="pareto"), [])
    assert "scalar" in refusal.value.hint
