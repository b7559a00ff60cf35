"""What the traced examples must score: by hand, from their rows."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.contracts import Task
from tracebench_core.specs import Calibration

DECIDE = """def decide(self, instruction, said):
    return "es" if said.startswith(("Hola", "Buenas")) else "en"
"""


def cases(name: str, _task: Task) -> Iterator[Calibration]:
    """Yield the cases of a task of the suite `opto`."""
    if name == "opentrace_greeting":
        yield Calibration(name="both languages", kind="gold", values={"decide": DECIDE}, expected=1.0, source="by hand")
        yield Calibration(name="both, on test", kind="gold", values={"decide": DECIDE}, expected=1.0, split="test")
        yield Calibration(name="start", kind="known", expected={"train-0": 0.5, "train-1": 1.0}, source="by hand")
        yield Calibration(name="better", kind="order", values={"decide": DECIDE}, other="start")
    elif name == "opentrace_train_single_node":
        yield Calibration(name="the number", kind="gold", values={"value": 3}, expected=0.0, source="by construction")
        yield Calibration(name="start", kind="known", expected=-3.0, source="by construction")
        yield Calibration(name="beyond", kind="known", values={"value": 10}, expected=-7.0, source="by construction")
