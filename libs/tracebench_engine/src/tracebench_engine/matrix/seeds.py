"""One seed per job, from which every other is derived."""

from __future__ import annotations

import random
import sys

from tracebench_core.ids import derive_seed

NUMPY_SEED_LIMIT = 2**32


def seed_process(seed: int) -> None:
    """Seed the global generators of this process: `random`, and numpy's where it is imported already."""
    random.seed(derive_seed(seed, "process"))
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(derive_seed(seed, "numpy") % NUMPY_SEED_LIMIT)
