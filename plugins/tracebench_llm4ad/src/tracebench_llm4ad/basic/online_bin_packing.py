"""Online bin packing: the heuristic ranks bins for one item at a time and never sees an item before its turn."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_core.errors import UsageError
from tracebench_core.specs import Split
from tracebench_llm4ad.basic.options import OnlineBinPackingOptions
from tracebench_llm4ad.cobench.folder import read_files
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.packing_bound import martello_toth
from tracebench_llm4ad.returned import array
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

WEIBULL_WORDS = "Sizes follow a Weibull distribution with shape 3 and scale 45."
PROGRAM = '''
import numpy as np


def priority(item: int, bins: np.ndarray) -> np.ndarray:
    """First fit: prefer no bin, so the earliest one is taken."""
    return np.zeros(len(bins))
'''

OBJECTIVE = f"""
Design a priority function for online bin packing. Items arrive one at a time and are packed at once, for good; later items are unknown.
`priority(item, bins)` is called once per item.
- `item` (int): the size of the item, at least 1 and at most the capacity of a bin (100 unless configured otherwise). \
{WEIBULL_WORDS}
- `bins` (int array, shape (k,), k >= 1): the free space of every bin that can take the item: the open bins in the order in which they \
were opened, and last one bin that is still empty.
Return an array of shape (k,) with one number per bin. The item goes into the bin of the highest priority; of equal ones, the first.
Score: the mean number of bins used for a sequence; fewer is better. NaN is refused; infinite priorities are allowed.
"""

WEIBULL_SHAPE = 3.0
WEIBULL_SCALE = 45.0
UNIFORM = (20, 100)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items in their order of arrival, and the size of a bin."""

    items: tuple[int, ...]
    capacity: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Every item's bin, and the seconds that the heuristic took."""

    bin_of: tuple[int, ...]
    seconds: float


class OnlineBinPackingEvaluator(Evaluator[Sequence], StepwiseRules[Sequence]):
    """The simulation is trusted code; the candidate is told one item at a time."""

    name = "optimization/online_bin_packing"
    entry = "priority"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Martello-Toth lower bound of the offline problem"
    options: OnlineBinPackingOptions

    def __init__(self, options: OnlineBinPackingOptions) -> None:
        super().__init__(options)
        self.size, self.capacity = options.items, options.capacity
        if options.sizes == "uniform":
            self.objective = self.objective.replace(WEIBULL_WORDS, "Sizes are uniform from 20 to 100.")
        if options.data == "real":
            self.files = library_sequences(options.instances)
            self.objective = self.objective.replace(
                WEIBULL_WORDS, "Sizes and capacities are those of OR-Library's files."
            )

    def batches(self, split: Split, salt: str = "") -> Iterator[Several[Sequence]]:
        """Yield generated batches, or OR-Library's files, each as one batch."""
        if self.options.data == "generated":
            yield from super().batches(split, salt)
            return
        tested, trained = self.options.n_test, self.options.n_test + self.options.n_train
        dealt = {
            "test": (0, tested),
            "train": (tested, trained),
            "validation": (trained, trained + self.options.n_validation),
        }
        yield from self.files[slice(*dealt[split])]

    def generate(self, rng: np.random.Generator) -> Sequence:
        """Draw sizes from Weibull(3, 45), rounded, and cut to 1 and the capacity (Romera-Paredes et al. 2023), or uniformly."""
        if self.options.sizes == "uniform":
            return Sequence(tuple(int(s) for s in rng.integers(*UNIFORM, self.size, endpoint=True)), self.capacity)
        sizes = np.rint(WEIBULL_SCALE * rng.weibull(WEIBULL_SHAPE, self.size)).astype(np.int64)
        return Sequence(tuple(int(s) for s in np.clip(sizes, 1, self.capacity)), self.capacity)

    def steps(self, instance: Sequence) -> Steps:
        """Pack one item per call."""
        seconds = 0.0
        free = np.full(len(instance.items), instance.capacity, dtype=np.int64)
        opened = 0
        bin_of: list[int] = []
        for item in instance.items:
            valid = np.flatnonzero(free[: opened + 1] >= item)
            answer = yield item, free[valid]
            seconds += answer.seconds
            ranks = array(answer.value, shape=valid.shape, what="one priority per bin", finite=False)
            where = int(valid[int(np.argmax(ranks))])
            free[where] -= item
            opened = max(opened, where + 1)
            bin_of.append(where)
        return Packing(tuple(bin_of), seconds)

    def judge(self, instance: Sequence, solution: Any) -> Verdict:
        """Check that every item is packed and no bin overflows; count the bins."""
        packing: Packing = solution
        if len(packing.bin_of) != len(instance.items) or min(packing.bin_of) < 0:
            raise invalid(f"Each of the {len(instance.items)} items must be packed exactly once.")
        loads = np.bincount(packing.bin_of, weights=instance.items)
        if loads.max() > instance.capacity:
            raise invalid(f"Bin {int(loads.argmax())} holds {loads.max():.0f} of {instance.capacity}.")
        used = loads[loads > 0]
        small = int((used < 0.8 * instance.capacity).sum())
        return Verdict(
            float(len(used)),
            f"{small} of its {len(used)} bins are less than 80% full, the emptiest holds {used.min():.0f} of {instance.capacity}.",
            {"excess_percent": 100 * (len(used) / bins_at_least(instance) - 1), **self.extra_metrics(packing)},
        )

    def extra_metrics(self, packing: Packing) -> dict[str, float]:
        """Return the metrics beside the bins."""
        return {}

    def draw(self, instance: Sequence, solution: Any) -> Drawing:
        """Draw it."""
        loads = np.bincount(solution.bin_of, weights=instance.items)
        return kinds.levels(loads.tolist(), capacity=instance.capacity, across="bin, in the order of opening")

    def bound(self, instance: Sequence) -> float:
        """Return bound L2 for the items as if they were all known."""
        return float(martello_toth(instance.items, instance.capacity))


def library_sequences(names: Several[str]) -> list[list[Sequence]]:
    """Return the sequences of OR-Library's files of those names, else of all whose sizes are whole numbers, file by file.

    Raises:
        MissingRequirementError: where there is no folder of data or no file.
        UsageError: for a name that is no file there, and for a file that is not in its format or has sizes that are no whole numbers.
    """
    from tracebench_llm4ad.cobench.packing import BinPacking  # noqa: PLC0415 - CO-Bench's modules load where they are needed

    texts = read_files(BinPacking.folder)
    by_name = {name.removesuffix(".txt"): BinPacking.parsed(text, name=name) for name, text in texts.items()}
    if absent := [name for name in names if name not in by_name]:
        raise UsageError(
            f"there is no file `{absent[0]}` in the folder of `{BinPacking.folder}`",
            hint=f"`instances` of `eval_kwargs` takes {', '.join(by_name)}",
        )
    found = []
    for name in names or by_name:
        given = [case.arguments for case in by_name[name]]
        if all(isinstance(size, int) for one in given for size in (one["bin_capacity"], *one["items"])):
            found.append([Sequence(tuple(one["items"]), one["bin_capacity"]) for one in given])
        elif names:
            raise UsageError(
                f"the sizes of `{name}` are no whole numbers, and items of this task are",
                hint="leave it out of `instances`",
            )
    return found


def bins_at_least(sequence: Sequence) -> int:
    """Return the bins that the items fill when nothing is lost: what published excesses are measured against."""
    return -(-sum(sequence.items) // sequence.capacity)


build = loader(OnlineBinPackingEvaluator, OnlineBinPackingOptions)
"""Build the task."""
