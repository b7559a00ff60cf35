"""Every search trainer passes every check of the conformance kit."""

import pytest

from tracebench_core.contracts import Trainer
from tracebench_core.plugins import load_ref
from tracebench_core.specs import TrainerSpec
from tracebench_core.testing import TRAINER_CHECKS, Subject
from tracebench_opto.trainers.specs import TRAINER_SPECS


@pytest.mark.parametrize("code", TRAINER_CHECKS)
@pytest.mark.parametrize("spec", TRAINER_SPECS, ids=lambda spec: spec.name)
def test_trainer_conforms(spec: TrainerSpec, code: str) -> None:
    def build() -> Trainer:
        settings = load_ref(spec.settings, owner=spec.name)
        trainer: Trainer = load_ref(spec.loader, owner=spec.name)(settings())
        return trainer

    assert TRAINER_CHECKS[code](Subject(build)) == []
