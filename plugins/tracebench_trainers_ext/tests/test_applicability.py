"""A pair that makes no sense is skipped with the reason, before a library is started or anything is spent."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.errors import NotApplicableError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Parameter
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_testing import run_trial
from tracebench_testing.toys import build_code, build_number
from tracebench_trainers_ext.applicability import has_leaf, is_demonstrations
from tracebench_trainers_ext.settings.dspy import CoproSettings, DspyTrainerSettings
from tracebench_trainers_ext.specs import TRAINER_SPECS
from tracebench_trainers_ext.trainers import dspy_trainer

REFUSED = {
    "number": {
        "DSPy-COPRO",
        "DSPy-MIPROv2",
        "DSPy-SIMBA",
        "DSPy-GEPA",
        "DSPy-BootstrapFewShot",
        "DSPyTrainer",
        "ShinkaEvolve",
    },
    "code": {"DSPy-SIMBA", "DSPy-BootstrapFewShot", "Optuna", "Nevergrad"},
}


BUILD = {"number": build_number, "code": build_code}


@pytest.mark.parametrize(("toy", "name"), [(toy, name) for toy, names in REFUSED.items() for name in sorted(names)])
def test_what_cannot_be_served_is_refused_before_anything_is_spent(toy: str, name: str) -> None:
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    trainer = load_ref(spec.loader, owner=name)(load_ref(spec.settings, owner=name)())
    trial = run_trial(trainer, BUILD[toy](), answer=lambda *_: "")
    assert isinstance(trial.error, NotApplicableError)
    assert str(trial.error)
    assert (trial.used.evaluations, trial.used.llm_calls) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "initial", "held"),
    [
        ("number", 1.0, True),
        ("text", "1", False),
        ("json", {"a": [{"b": 1}]}, True),
        ("json", {"a": ["1", True, None]}, False),
        ("json", 2.5, True),
    ],
)
def test_numbers_are_found_wherever_a_parameter_holds_them(kind: Any, initial: Any, held: bool) -> None:
    assert has_leaf(Parameter(name="p", kind=kind, initial=initial)) is held


@pytest.mark.parametrize(
    ("name", "kind", "initial", "are"),
    [
        ("solve.demos", "json", [], True),
        ("Few_Shot", "json", [{"q": 1}], True),
        ("demos", "json", {}, False),
        ("demos", "text", "", False),
        ("demos.rest", "json", [], False),
    ],
)
def test_worked_examples_are_known_by_their_name_and_form(name: str, kind: Any, initial: Any, are: bool) -> None:
    assert is_demonstrations(Parameter(name=name, kind=kind, initial=initial)) is are


def test_every_pair_is_either_refused_in_words_or_served() -> None:
    names = {spec.name for spec in TRAINER_SPECS}
    assert all(refused < names for refused in REFUSED.values())


@pytest.mark.parametrize(
    ("written", "params", "settings"),
    [
        ("DSPyTrainer", {"dspy_optimizer": "copro", "breadth": 4, "auto": "light"}, {"breadth": 4}),
        ("TextGradTrainer", {"num_steps": 3, "train_batch_size": 2}, {"num_steps": 3, "batch_size": 2}),
        ("OpenEvolveTrainer", {"iterations": 5, "population_size": 9, "ensure_improvement": True}, {"iterations": 5}),
    ],
)
def test_the_names_that_users_know_load_with_their_parameters(
    written: str, params: dict[str, object], settings: dict[str, object]
) -> None:
    config = parse_config({"tasks": ["internal:code_param"], "trainers": [{"id": written, "params": params}]})
    (job,) = api.plan(config).jobs
    assert settings.items() <= job.settings.items()


def test_dspytrainer_becomes_the_optimizer_that_it_names() -> None:
    built = dspy_trainer(DspyTrainerSettings(dspy_optimizer="copro", breadth=4))
    assert built.settings == CoproSettings(breadth=4, init_temperature=1.0)
