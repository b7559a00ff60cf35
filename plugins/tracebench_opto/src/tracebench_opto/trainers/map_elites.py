"""MapElites: the best candidate of every kind, on several islands; parents are drawn from all kinds, good and bad alike.

Source: MAP-Elites (Mouret and Clune, arXiv 1504.04909) with the islands of FunSearch (Nature 625, 2024) and
AlphaEvolve (arXiv 2506.13131). What kind a candidate is says a grid over its descriptors: metrics of the guide,
numbers among its parameters, or features of its code. A candidate stays while it is the best of its cell, so that a
search may cross low ground that a climber never enters. What differs, and why:

* the grid spans the descriptors met so far and is laid anew as they grow, because the range of a metric or a program's length is not known
  beforehand;
* of the elites, whoever bred least is drawn, so that a new kind breeds at once (count-based selection); the paper draws evenly;
* islands take turns, step by step, and every `migrate_every` steps the best of each goes to the next one in a ring;
* a child that lies in a known cell and loses there stays on record and is not drawn from again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, field_validator

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_selected
from tracebench_opto.parts.descriptors import CODE, cells, default_descriptors, describe
from tracebench_opto.parts.search import Search, SearchSettings


class Settings(SearchSettings):
    """Settings of MapElites. One step is one child on one island."""

    num_islands: int = Field(default=1, ge=1)
    """Populations that know nothing of one another but who migrates; with few candidates, one."""
    bins: int = Field(default=16, ge=2)
    """Parts of the grid in every dimension."""
    descriptors: tuple[str, ...] = ()
    """`metric:NAME`, `value:NAME` (of a number), `length`, `branches`, `depth`; when empty, what fits the task."""
    migrate_every: int = Field(default=10, ge=0)
    """Steps between migrations; 0 for none."""
    greed: float = Field(default=0.15, ge=0, le=1)
    """Part of the parents that are the best of their island instead of the elite that bred least."""

    @field_validator("descriptors")
    @classmethod
    def _known(cls, descriptors: tuple[str, ...]) -> tuple[str, ...]:
        for name in descriptors:
            if name not in CODE and not name.startswith(("metric:", "value:")):
                raise ValueError(
                    f"`{name}` is none of `metric:NAME`, `value:NAME`, {', '.join(f'`{n}`' for n in CODE)}"
                )
        return descriptors


@dataclass(frozen=True, slots=True)
class MapElites:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        search = Search(problem, cfg)
        axes = cfg.descriptors or default_descriptors(problem.parameters, [o.metric for o in problem.objectives])
        islands: list[list[Entry]] = []
        bred: dict[int, int] = {}
        for index in search.schedule():
            with problem.step():
                if not islands:
                    first = search.seeds()
                    islands = [[*first] for _ in range(cfg.num_islands)]
                island = islands[index % cfg.num_islands]
                parent = self._parent(search, elites(search, island, axes, bins=cfg.bins), bred)
                bred[parent.index] = bred.get(parent.index, 0) + 1
                island += search.expand(parent, search.batches.draw(), n=1, on=search.selection)
                if cfg.migrate_every and (index + 1) % cfg.migrate_every == 0:
                    migrate(search, islands)
                problem.log("elites", len(elites(search, island, axes, bins=cfg.bins)))

    def _parent(self, search: Search, kinds: Sequence[Entry], bred: Mapping[int, int]) -> Entry:
        rng = search.problem.rng
        if rng.random() < self.settings.greed:
            return search.archive.ranked(kinds)[0]
        least = min(bred.get(e.index, 0) for e in kinds)
        return rng.choice([e for e in kinds if bred.get(e.index, 0) == least])


def elites(search: Search, island: Sequence[Entry], descriptors: Sequence[str], *, bins: int) -> list[Entry]:
    """Return the best of every cell, in order of appearance; the oldest of the island when nothing on it could be described."""
    described = [(e, point) for e in island if e.mean() is not None and (point := describe(e, descriptors)) is not None]
    if not described:
        return [island[0]]
    kinds = cells([point for _, point in described], bins)
    best: dict[tuple[float, ...], Entry] = {}
    for entry in search.archive.ranked([e for e, _ in described]):
        best.setdefault(kinds[next(i for i, (e, _) in enumerate(described) if e is entry)], entry)
    return sorted(best.values(), key=lambda e: e.index)


def migrate(search: Search, islands: Sequence[list[Entry]]) -> None:
    """Send the best of each island to the next one, in a ring; all leave before any arrives."""
    leaving = [search.archive.ranked(island)[0] for island in islands]
    for i, entry in enumerate(leaving):
        island = islands[(i + 1) % len(islands)]
        if all(entry is not e for e in island):
            island.append(entry)


def build(settings: Settings) -> MapElites:
    """Return the trainer."""
    return MapElites(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_selected(settings, shape, proposals=1)
