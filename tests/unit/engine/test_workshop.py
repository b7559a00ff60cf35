"""Which optimizer a trainer gets: the one that it names itself, else the config's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_core.specs import Parameter
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.builtin.recombine import Recombine
from tracebench_engine.job.job import JobWorkshop

PROBLEM: Any = SimpleNamespace(parameters=(Parameter(name="prompt", initial="Answer."),))
"""As much of one as an optimizer looks at before it is asked for proposals."""


def built(*, config: str | None, asked: str | None) -> Any:
    return JobWorkshop(job_spec(optimizer=config), open_host()).optimizer(PROBLEM, asked, {})


@pytest.mark.parametrize(
    ("config", "asked"), [("Recombine", None), (None, "Recombine"), ("", "Recombine"), ("Nobody", "Recombine")]
)
def test_the_name_that_a_trainer_gives_goes_before_the_configs(config: str | None, asked: str | None) -> None:
    assert isinstance(built(config=config, asked=asked), Recombine)


def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(TraceBenchError, match="`Nobody`"):
        built(config="Recombine", asked="Nobody")


def test_where_neither_names_one_the_trainer_is_told() -> None:
    with pytest.raises(UsageError, match="asks for an optimizer, and neither it nor the config names one"):
        built(config=None, asked=None)
