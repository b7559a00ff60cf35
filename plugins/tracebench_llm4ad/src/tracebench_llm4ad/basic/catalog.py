"""The family's tasks as data."""

from __future__ import annotations

from tracebench_core.specs import Objective, TaskSpec
from tracebench_llm4ad.table import SCIENTIFIC, extra, row

OPTIONS = "basic.options"
SECONDS = Objective(metric="seconds", direction="minimize")

SPECS: tuple[TaskSpec, ...] = (
    row(
        "circle_packing",
        "basic.circle_packing",
        title="Circles in a square: the largest sum of radii",
        description="Pack 26 disjoint circles of free radius into the unit square; 25 and 27 are held out.",
        metric="sum_of_radii",
        direction="maximize",
        options=f"{OPTIONS}:CirclePackingOptions",
        tags=("geometry",),
        target=2.635,
        sandbox=SCIENTIFIC,
        comparability=4,
        salted=False,
    ),
    row(
        "online_bin_packing_local",
        "basic.online_bin_packing_local",
        title="Online bin packing, one sequence",
        description="Rank the bins for an item while the future is unknown; the mean number of bins counts.",
        metric="bins",
        direction="minimize",
        options=f"{OPTIONS}:LocalBinPackingOptions",
        comparability=4,
        tags=("packing", "online"),
    ),
    row(
        "optimization/admissible_set",
        "basic.admissible_set",
        title="Large symmetric admissible sets",
        description="Rank vectors for the greedy construction of a constant-weight admissible set; its size counts.",
        metric="set_size",
        direction="maximize",
        options=f"{OPTIONS}:AdmissibleSetOptions",
        comparability=2,
        salted=False,
        tags=("combinatorics",),
    ),
    row(
        "optimization/online_bin_packing",
        "basic.online_bin_packing",
        title="Online bin packing",
        description="Rank the bins for an item while the future is unknown; the mean number of bins counts.",
        metric="bins",
        direction="minimize",
        options=f"{OPTIONS}:OnlineBinPackingOptions",
        comparability=4,
        tags=("packing", "online"),
    ),
    row(
        "optimization/online_bin_packing_2O",
        "basic.online_bin_packing_2o",
        title="Online bin packing, bins and seconds",
        description="As online bin packing; the program's own processor time is the second objective.",
        metric="bins",
        direction="minimize",
        options=f"{OPTIONS}:OnlineBinPackingOptions",
        comparability=5,
        tags=("packing", "online", "multi-objective"),
        objectives=(Objective(metric="bins", direction="minimize"), SECONDS),
    ),
    row(
        "optimization/pymoo_moead",
        "basic.pymoo_moead",
        title="MOEA/D: the decomposition function",
        description="Design the scalarisation of MOEA/D on DTLZ2; the hypervolume counts and is maximised.",
        metric="hypervolume",
        direction="maximize",
        options=f"{OPTIONS}:MoeadOptions",
        tags=("evolutionary",),
        requires=extra("pymoo", "pymoo"),
        preload=("pymoo.algorithms.moo.moead",),
    ),
    row(
        "optimization/tsp_gls_2O",
        "basic.tsp_gls_2o",
        title="Guided local search for the travelling salesman, length and seconds",
        description="Design how guided local search distorts distances to leave a local optimum; the program's own processor time "
        "is the second objective.",
        metric="tour_length",
        direction="minimize",
        options=f"{OPTIONS}:GlsOptions",
        comparability=4,
        tags=("routing", "multi-objective"),
        objectives=(Objective(metric="tour_length", direction="minimize"), SECONDS),
    ),
)
