"""Online bin packing on one sequence: quicker to evaluate, otherwise the same."""

from __future__ import annotations

from tracebench_llm4ad.basic.online_bin_packing import OnlineBinPackingEvaluator
from tracebench_llm4ad.basic.options import LocalBinPackingOptions
from tracebench_llm4ad.code_task import loader


class LocalBinPackingEvaluator(OnlineBinPackingEvaluator):
    """The name alone gives it instances of its own."""

    name = "online_bin_packing_local"


build = loader(LocalBinPackingEvaluator, LocalBinPackingOptions)
"""Build the task."""
