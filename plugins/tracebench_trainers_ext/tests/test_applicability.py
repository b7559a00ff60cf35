"""A pair that makes no sense is skipped with the reason, before a library is started or anything is spent."""

from __future__ import annotations

import pytest

from tracebench_core.errors import NotApplicableError
from tracebench_core.plugins import load_ref
from tracebench_core.testing import run_trial
from tracebench_core.testing.toys import build_code, build_number
from tracebench_trainers_ext.specs import TRAINER_SPECS

REFUSED = {
    "number": {"DSPy-COPRO", "DSPy-MIPROv2", "DSPy-SIMBA", "DSPy-GEPA", "DSPy-BootstrapFewShot"},
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


def test_every_pair_is_either_refused_in_words_or_served() -> None:
    names = {spec.name for spec in TRAINER_SPECS}
    assert all(refused < names for refused in REFUSED.values())
