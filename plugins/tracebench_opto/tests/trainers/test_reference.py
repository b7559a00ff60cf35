"""The reference page names every trainer, every setting and every other name of one."""

from pathlib import Path

import pytest

from tracebench_core.plugins import load_ref
from tracebench_core.specs import TrainerSpec
from tracebench_opto.trainers.specs import TRAINER_SPECS

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "trainers.md"


@pytest.mark.parametrize("spec", TRAINER_SPECS, ids=lambda spec: spec.name)
def test_the_page_names_every_setting(spec: TrainerSpec) -> None:
    page = PAGE.read_text()
    names = {spec.name, *load_ref(spec.settings, owner=spec.name).model_fields, *spec.setting_aliases}
    assert {name for name in names if f"`{name}`" not in page} == set()
