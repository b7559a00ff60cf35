import inspect
import subprocess
import sys
from typing import Any

import pytest

from tracebench_core.plugins import load_ref
from tracebench_core.specs import Budget, TaskShape, TrainerSpec
from tracebench_opto.parts import relay
from tracebench_opto.trainers import portfolio, sequence
from tracebench_opto.trainers.specs import TRAINER_SPECS
from tracebench_testing import Teacher, run_trial
from tracebench_testing.toys import build_dials

BY_NAME = pytest.mark.parametrize("spec", TRAINER_SPECS, ids=lambda spec: spec.name)
SHAPE = TaskShape(parameters=4, train=8, validation=8)


def test_listing_imports_no_trainer_and_nothing_heavy() -> None:
    probe = (
        "import sys, tracebench_opto.trainers.specs; "
        "print([m for m in sys.modules if m.startswith(('tracebench_opto.parts', 'numpy', 'opto.', 'litellm'))])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@BY_NAME
def test_every_alias_stands_for_a_setting(spec: TrainerSpec) -> None:
    fields = load_ref(spec.settings, owner=spec.name).model_fields
    assert set(spec.setting_aliases.values()) <= set(fields)
    assert not set(spec.setting_aliases) & set(fields)


@BY_NAME
def test_settings_are_frozen_and_refuse_unknown_names(spec: TrainerSpec) -> None:
    model = load_ref(spec.settings, owner=spec.name)
    with pytest.raises(ValueError, match="num_candidate_s"):
        model(num_candidate_s=1)
    assert model.model_config["frozen"]


@BY_NAME
def test_every_module_says_its_source_and_what_differs(spec: TrainerSpec) -> None:
    words = inspect.getmodule(load_ref(spec.loader, owner=spec.name)).__doc__ or ""
    assert "Source: " in words
    assert "differs" in words or "OpenTrace" in words


@BY_NAME
@pytest.mark.parametrize("steps", [1, 4])
def test_a_job_uses_no_more_than_its_cost_model_says(spec: TrainerSpec, steps: int) -> None:
    model = load_ref(spec.settings, owner=spec.name)
    if spec.name in WRAPPERS:
        settings = wrapped(spec.name, steps)
    elif "num_steps" not in model.model_fields:
        settings = model(num_stages=1, trainer_params={"num_steps": steps, "num_candidates": 1, "num_proposals": 1})
    else:
        settings = model(num_steps=steps)
    cost = load_ref(spec.cost, owner=spec.name)(settings, SHAPE)
    toy = build_dials()
    trial = run_trial(load_ref(spec.loader, owner=spec.name)(settings), toy, answer=Teacher(toy.lesson, improves=0.9))
    assert trial.error is None
    assert trial.used.evaluations <= cost.evaluations.high + slack(spec, steps)
    assert trial.used.llm_calls <= cost.llm_calls.high
    assert cost.evaluations.low <= trial.used.evaluations


WRAPPERS = {"Sequence", "Portfolio"}


def wrapped(name: str, steps: int) -> Any:
    """Return settings of a trainer that wraps one which asks for one proposal a step."""
    if name == "Sequence":
        return sequence.Settings(
            legs=(sequence.Leg(trainer="BasicSearch", params={"num_steps": steps, "num_proposals": 1}),)
        )
    member = relay.Member(trainer="BasicSearch", params={"num_proposals": 1})
    return portfolio.Settings(members=(member,), num_turns=1, turn_steps=steps)


def slack(spec: TrainerSpec, steps: int) -> int:
    """An estimate of accepted proposals may be passed where all are accepted, and a streaming search confirms its leader."""
    if spec.name.startswith("GEPA"):
        return steps * SHAPE.validation
    return steps * SHAPE.validation if spec.name in {"UCBSearch", "StreamingPrioritySearch"} else 0


@BY_NAME
def test_one_step_is_enough_to_try_a_candidate(spec: TrainerSpec) -> None:
    model = load_ref(spec.settings, owner=spec.name)
    settings = model(num_steps=1) if "num_steps" in model.model_fields else model()
    toy = build_dials(parameters=1)
    trial = run_trial(
        load_ref(spec.loader, owner=spec.name)(settings),
        toy,
        answer=Teacher(toy.lesson, improves=1.0, harms=0.0),
        budget=Budget(evaluations=200),
    )
    assert trial.gain() > 0
