"""What must come out of known agents: a task's own solution passes, doing nothing does not, and an engine that is away is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracebench_core.specs import Calibration, Split
from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.invariants import EXPECTED, absent_engine
from tracebench_terminalbench.job_config import backend_of
from tracebench_terminalbench.options import Options


def known_cases(options: Options, splits: Mapping[Split, Sequence[Case]]) -> Iterator[Calibration]:
    """Yield the cases of a task: no agent of theirs has a model, so nothing is asked and nothing is billed."""
    backend = backend_of(options, [case for cases in splits.values() for case in cases])
    idle: dict[str, Any] = {"agent": "nop"}
    if next(absent_engine(backend), None) is not None:
        yield Calibration(name=f"without {backend}", kind="refused", options=idle, words="Harbor refused the job")
        return
    solved: dict[str, Any] = {"agent": "oracle"}
    for split in splits:
        gold, nothing = f"its own solution, {split}", f"nothing done, {split}"
        yield Calibration(name=gold, kind="gold", split=split, options=solved, expected=EXPECTED["oracle"])
        yield Calibration(name=nothing, kind="known", split=split, options=idle, expected=EXPECTED["nop"])
    yield Calibration(name="solved", kind="order", options=solved, other="nothing done, train")
