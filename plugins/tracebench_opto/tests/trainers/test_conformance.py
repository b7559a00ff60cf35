"""Every search trainer passes every check of the kit: some here, the others in the groups `whole` and `soak`."""

import pytest
from tests.whole import cells

from tracebench_core.contracts import Trainer
from tracebench_core.plugins import load_ref
from tracebench_core.specs import TrainerSpec
from tracebench_opto.trainers.specs import TRAINER_SPECS
from tracebench_testing import TRAINER_CHECKS, Subject

SPECS = {spec.name: spec for spec in TRAINER_SPECS}
COSTLY = ("TB203", "TB204", "TB211", "TB215")
"""They train many times over, or on hundreds of examples."""
CHEAP = [code for code in TRAINER_CHECKS if code not in COSTLY]
OF_EACH_KIND = ("BasicSearch", "BeamSearch", "GEPA-Base", "OPRO")
MATRIX = [(name, code) for name in SPECS for code in TRAINER_CHECKS]
BY_TURNS = {(name, code) for turn, name in enumerate(SPECS) for code in CHEAP[turn % 8 :: 8]}
BY_TURNS |= set(zip(OF_EACH_KIND[::2], COSTLY[::2], strict=True))
ALWAYS = [cell for cell in MATRIX if cell in BY_TURNS or (cell[0] in OF_EACH_KIND[:2] and cell[1] not in COSTLY)]
OFTEN = [(name, code) for turn, name in enumerate(SPECS) for code in CHEAP[(turn + 1) % 2 :: 2]]


@pytest.mark.parametrize(("name", "code"), cells(MATRIX, always=ALWAYS, often=OFTEN))
def test_trainer_conforms(name: str, code: str) -> None:
    spec: TrainerSpec = SPECS[name]

    def build() -> Trainer:
        settings = load_ref(spec.settings, owner=spec.name)
        trainer: Trainer = load_ref(spec.loader, owner=spec.name)(settings())
        return trainer

    assert TRAINER_CHECKS[code](Subject(build)) == []
