"""A run as programs and notebooks open it: frames, curves and charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.outcomes import read_outcomes
from tracebench_analysis.figures.charts import Charts
from tracebench_analysis.figures.plots import curve_rows
from tracebench_analysis.figures.tracks import Tracks
from tracebench_core.specs import Axis
from tracebench_runs.reading import reader
from tracebench_runs.reading.fields import Column
from tracebench_runs.reading.frames import Library, make_frame
from tracebench_runs.reading.reader import Run

_COLUMNS = (
    *(Column(name, "text", name) for name in ("run_id", "job_id", "task", "trainer")),
    Column("seed", "integer", "seed"),
    *(Column(name, "number", name) for name in ("x", "best")),
)


class AnalysedRun(Run):
    """A run directory with its curves."""

    def curves(self, axis: Axis = "evaluations", library: Library | None = None) -> Any:
        """Return a frame with one row per step of each job's best-so-far curve: what was used of the axis, and the best from there on.

        The last row of a job repeats its best at the job's end. Resample steps to one grid before averaging: jobs share no positions.
        """
        return make_frame(_COLUMNS, self._curve_rows(axis), library=library)

    def plot(self) -> Any:
        """Return the chart of best-so-far curves, one per trainer, with a menu for the axis.

        Raises:
            MissingRequirementError: when `altair` is not installed.
        """
        comparison = compare_runs([self])
        return Charts([summary.standing.entrant for summary in comparison.summaries]).curves(
            curve_rows(Tracks([self], comparison.outcomes), comparison)
        )

    def _curve_rows(self, axis: Axis) -> Iterator[tuple[Any, ...]]:
        for outcome, curve in Tracks([self], read_outcomes([self])).on(axis):
            who = (outcome.run_id, outcome.job_id, outcome.task, outcome.entrant, outcome.seed)
            yield from ((*who, x, y) for x, y in zip(curve.xs, curve.ys, strict=True))
            if curve.end > curve.xs[-1]:
                yield (*who, curve.end, curve.ys[-1])


def load_run(path: str | Path) -> AnalysedRun:
    """Open a run directory for analysis. Needs no plugin.

    Raises:
        RunDirError: when the folder is missing, is no run, or is of a newer format than this reader knows.
    """
    run = reader.load_run(path)
    return AnalysedRun(run.layout, run.manifest)
