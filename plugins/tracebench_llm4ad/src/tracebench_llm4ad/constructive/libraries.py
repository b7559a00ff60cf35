"""Instances of the literature: TSPLIB's and CVRPLIB's files below the folder of data, and the random cities that ReEvo drew.

TSPLIB: Reinelt 1991, "TSPLIB - a traveling salesman problem library", ORSA Journal on Computing 3, 376-384, whose distances are whole
numbers. CVRPLIB (Uchoa et al. 2017) has files of the same form with demands and a capacity. Neither is shipped.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tracebench_core.errors import UsageError
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Split
from tracebench_llm4ad.cobench.folder import read_files
from tracebench_llm4ad.constructive.plane import Floats
from tracebench_llm4ad.constructive.tsplib_optima import OPTIMA
from tracebench_llm4ad.options import TaskOptions

TSPLIB, CVRPLIB = "TSPLIB", "CVRPLIB"
"""The sub-folders of the folder of data."""
EARTH = 6378.388
"""Kilometres, TSPLIB's radius for GEO."""
SETS: Mapping[Split, Sequence[int]] = {
    "train": (50,),
    "validation": (20, 50, 100, 200),
    "test": (20, 50, 100, 200, 500),
}
"""The sets of 64 instances in the order in which ReEvo (Ye et al. 2024) drew them from one seed; its test set of 1,000 comes after them."""
SET_SEED, SET_SIZE = 1234, 64
MOST_PLACES = 10_000
"""Of an instance, whose table of distances travels to a candidate with every call."""
KINDS = ("EUC_2D", "CEIL_2D", "ATT", "GEO")

Instance = TypeVar("Instance")


@dataclass(frozen=True, slots=True)
class LibraryInstance:
    """One file: the places, shape (n, 2), the best length known, and of vehicle routing the demands, shape (n,), and the capacity."""

    name: str
    points: Floats
    kind: str
    """Of distance, as TSPLIB names it."""
    known: float | None
    demands: npt.NDArray[np.int64]
    """Empty where nobody demands anything; else node 0 is the depot."""
    capacity: int

    @property
    def distance(self) -> Floats:
        """Shape (n, n); computed when asked for, which is of those that are dealt alone.

        Raises:
            UsageError: for more than `MOST_PLACES`.
        """
        if len(self.points) > MOST_PLACES:
            raise UsageError(
                f"`{self.name}` has {len(self.points):,} places, and tables of distances between more than {MOST_PLACES:,} are not made",
                hint="take the file out of the folder",
            )
        return _distances(self.points, self.kind)


def library_instances(folder: str, suffix: str) -> list[LibraryInstance]:
    """Return the instances of a sub-folder of the data whose file names end with `suffix`, in order of their names.

    Raises:
        MissingRequirementError: where there is no folder or no file.
        UsageError: for a file that is not in TSPLIB's form.
    """
    texts = read_files(folder, suffixes=frozenset({suffix, ".sol"}))
    solutions = {name.removesuffix(".sol"): text for name, text in texts.items() if name.endswith(".sol")}
    named = {name.removesuffix(suffix): text for name, text in texts.items() if name.endswith(suffix)}
    return [
        parse(text, name=name, solution=solutions.get(name, ""), is_demanded=folder == CVRPLIB)
        for name, text in named.items()
    ]


def parse(text: str, *, name: str, solution: str = "", is_demanded: bool = False) -> LibraryInstance:
    """Read one file; the best length is that of the solution file beside it, else what the file says, else TSPLIB's optimum.

    `is_demanded` asks for customers and what they demand.

    Raises:
        UsageError: for a file that is not in TSPLIB's form, or whose distances are of a kind that is not read.
    """
    try:
        head, sections = _sections(text)
        points = np.array([[float(x) for x in line.split()[1:3]] for line in sections["NODE_COORD_SECTION"]])
        size = int(head["DIMENSION"])
        if points.shape != (size, 2):
            raise ValueError(f"it has {len(points)} places, and `DIMENSION` is {size}")
        if not np.all(np.isfinite(points)):
            raise ValueError("a place is no place: its coordinates are not finite")
        demands = np.array([int(float(line.split()[1])) for line in sections.get("DEMAND_SECTION", [])], dtype=np.int64)
        if len(demands) and (len(demands) != size or demands[0] != 0):
            raise ValueError("its demands are not one of each place, the first of them the depot's 0")
        capacity = int(float(head.get("CAPACITY", 0)))
        if len(demands) and not 0 <= demands.min() <= demands.max() <= capacity:
            raise ValueError(f"a demand is less than 0, or greater than the capacity of {capacity}")
        if is_demanded and len(demands) < 2:  # noqa: PLR2004 - the depot and a customer
            raise ValueError("it has no customers that demand anything")
        kind = head["EDGE_WEIGHT_TYPE"]
        if kind not in KINDS:
            raise ValueError(f"its distances are `{kind}`; {', '.join(KINDS[:-1])} and {KINDS[-1]} are read")
    except (ValueError, IndexError, KeyError, OverflowError) as err:
        said = f"it has no `{err.args[0]}`" if isinstance(err, KeyError) else str(err)
        raise UsageError(
            f"the file of `{name}` is not as TSPLIB has it: {said}",
            hint="take the file out of the folder, or replace it by an intact copy",
        ) from err
    return LibraryInstance(name, points, kind, _known(name, head.get("COMMENT", ""), solution), demands, capacity)


def deal(found: Sequence[Instance], options: TaskOptions, *, name: str) -> dict[Split, list[Instance]]:
    """Deal instances to the splits, each to one, in an order drawn from the seed; training comes first, then validation, then test."""
    order = list(found)
    random.Random(derive_seed(options.seed, name)).shuffle(order)  # noqa: S311 - an order, not a secret
    validated = options.n_train + options.n_validation
    return {
        "train": order[: options.n_train],
        "validation": order[options.n_train : validated],
        "test": order[validated : validated + options.n_test],
    }


def drawn_cities(split: Split, size: int) -> Floats | None:
    """Return ReEvo's set of a split and size, shape (64, size, 2); None where it has none. It trains on 50 cities, whatever the size."""
    draw = np.random.RandomState(SET_SEED)
    for name, sizes in SETS.items():
        for cities in sizes:
            points: Floats = draw.rand(SET_SIZE, cities, 2)
            if name == split and cities == (50 if split == "train" else size):
                return points
    return None


def _sections(text: str) -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    head: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    here = ""
    for line in _lines(text):
        if line.endswith("_SECTION"):
            here = line
            sections[here] = []
        elif ":" in line:
            key, _, value = line.partition(":")
            head[key.strip()] = f"{head.get(key.strip(), '')} {value.strip()}".strip()
        elif here:
            sections[here].append(line)
        else:
            raise ValueError(f"`{line[:40]}` stands before any section")
    return head, sections


def _lines(text: str) -> Iterator[str]:
    for line in map(str.strip, text.splitlines()):
        if line == "EOF":
            return
        if line:
            yield line


def _distances(points: Floats, kind: str) -> Floats:
    if kind == "GEO":
        return _over_the_earth(points)
    across, up = points.T
    squared = (across[:, None] - across) ** 2 + (up[:, None] - up) ** 2
    rounded: Mapping[str, Callable[[], Floats]] = {
        "EUC_2D": lambda: np.floor(np.sqrt(squared) + 0.5),
        "CEIL_2D": lambda: np.ceil(np.sqrt(squared)),
        "ATT": lambda: np.ceil(np.sqrt(squared / 10)),
    }
    return rounded[kind]()


def _over_the_earth(points: Floats) -> Floats:
    degrees = np.trunc(points)
    radians = 3.141592 * (degrees + 5 * (points - degrees) / 3) / 180
    latitude, longitude = radians.T
    one = np.cos(longitude[:, None] - longitude[None, :])
    two = np.cos(latitude[:, None] - latitude[None, :])
    three = np.cos(latitude[:, None] + latitude[None, :])
    angle = np.arccos(np.clip(0.5 * ((1 + one) * two - (1 - one) * three), -1, 1))
    distance: Floats = np.floor(EARTH * angle + 1)
    np.fill_diagonal(distance, 0)
    return distance


def _known(name: str, comment: str, solution: str) -> float | None:
    told = re.search(r"cost\s*:?\s*(\d+(?:\.\d+)?)", solution, re.IGNORECASE) or re.search(
        r"(?:optimal|best)[^:\d]*:\s*(\d+(?:\.\d+)?)", comment, re.IGNORECASE
    )
    value = float(told[1]) if told else float(OPTIMA.get(name, math.nan))
    return value if math.isfinite(value) else None
