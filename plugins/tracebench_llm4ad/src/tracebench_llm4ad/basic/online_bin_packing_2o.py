"""Online bin packing with two objectives: bins, and the heuristic's own seconds."""

from __future__ import annotations

from tracebench_llm4ad.basic.online_bin_packing import OBJECTIVE, OnlineBinPackingEvaluator, Packing
from tracebench_llm4ad.basic.options import OnlineBinPackingOptions
from tracebench_llm4ad.code_task import loader


class TwoObjectiveBinPackingEvaluator(OnlineBinPackingEvaluator):
    """The score is the bins', as with one objective; the seconds stand beside it in the metrics."""

    name = "optimization/online_bin_packing_2O"
    objective = f"""{OBJECTIVE.strip()}
Second objective: the processor seconds of the program over all calls for one sequence, its other threads included; fewer is better.
"""

    def extra_metrics(self, packing: Packing) -> dict[str, float]:
        """Return the seconds, counted outside of the sandbox."""
        return {"seconds": packing.seconds}


build = loader(TwoObjectiveBinPackingEvaluator, OnlineBinPackingOptions)
"""Build the task."""
