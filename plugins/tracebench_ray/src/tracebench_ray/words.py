"""What a run and the process that holds its workers in Ray say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel


class Asked(BaseModel):
    """What one worker takes of a node."""

    cpus: float
    memory: int | None = None
    """Bytes."""
    gpus: int = 0
    more: dict[str, float] = {}
    """By the cluster's own names."""

    @property
    def amounts(self) -> dict[str, float]:
        """By Ray's names, those that are asked for."""
        known = {"CPU": self.cpus, "memory": float(self.memory or 0), "GPU": float(self.gpus)}
        return {name: amount for name, amount in {**known, **self.more}.items() if amount}

    def __str__(self) -> str:
        return in_words(self.amounts)


class Order(BaseModel):
    """Which cluster, and what is wanted of it."""

    address: str = ""
    """Empty: one of this machine's alone, for as long as its workers are wanted."""
    number: int
    asked: Asked
    grows: bool = False
    processors: int = 0
    python: str = ""
    jobs: int = 1
    folder: str
    root: str | None = None
    ticket: str = ""
    """Empty: nothing is to be placed, only told what there is."""
    reach: bool = False
    """Whether workers find the run at the address that this machine has in the cluster."""


class Cluster(BaseModel):
    """What there is."""

    nodes: int
    largest: dict[str, float]
    """Of each kind, what that node has which has most of it."""
    total: dict[str, float]
    places: int
    """Workers that fit onto its nodes at a time, were nothing else there."""

    def __str__(self) -> str:
        return f"{self.nodes} node{'s' if self.nodes > 1 else ''} with {in_words(self.total)}"


class Told(BaseModel):
    """One line of what is told: one of these."""

    cluster: Cluster | None = None
    """All is as asked for; workers are on their way."""
    refused: str = ""
    """Nothing was placed, because no node has what was asked for."""
    absent: str = ""
    """Nothing was placed, because there is no cluster."""
    ended: str = ""
    """The session of a worker of which nothing is left."""
    gone: str = ""
    """Why a worker is gone; it may still live where its node lives on."""
    waiting: int | None = None
    """How many workers Ray has found no place for yet."""


def cluster_of(nodes: Sequence[Mapping[str, float]], asked: Asked) -> Cluster:
    """Return what nodes have, by Ray's names, and how many of such workers fit onto them."""
    kinds = sorted({"CPU", "GPU", "memory", *asked.amounts} & {kind for node in nodes for kind in node})
    most = {kind: max(node.get(kind, 0.0) for node in nodes) for kind in kinds}
    total = {kind: sum(node.get(kind, 0.0) for node in nodes) for kind in kinds}
    wanted = asked.amounts
    places = sum(
        min((int(node.get(kind, 0.0) / amount) for kind, amount in wanted.items()), default=0) for node in nodes
    )
    return Cluster(nodes=len(nodes), largest=most, total=total, places=places)


def in_words(amounts: Mapping[str, float]) -> str:
    """Return amounts by Ray's names in words; memory is in bytes."""
    units = {"CPU": "processor", "GPU": "GPU"}
    said = [
        f"{amount / (1 << 30):.3g} GiB"
        if name == "memory"
        else f"{amount:g} {units.get(name, name)}{'s' if name in units and amount != 1 else ''}"
        for name, amount in amounts.items()
    ]
    return ", ".join(said) or "nothing"
