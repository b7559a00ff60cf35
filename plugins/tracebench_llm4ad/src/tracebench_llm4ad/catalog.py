"""The suite's tasks as data, and the look-up by name."""

from __future__ import annotations

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.basic.catalog import SPECS as BASIC
from tracebench_llm4ad.cobench.catalog import SPECS as COBENCH
from tracebench_llm4ad.constructive.catalog import SPECS as CONSTRUCTIVE
from tracebench_llm4ad.control.catalog import SPECS as CONTROL
from tracebench_llm4ad.science.catalog import SPECS as SCIENCE

SPECS: tuple[TaskSpec, ...] = (*BASIC, *CONSTRUCTIVE, *CONTROL, *SCIENCE)
BY_NAME = {spec.name: spec for spec in (*SPECS, *COBENCH)}
