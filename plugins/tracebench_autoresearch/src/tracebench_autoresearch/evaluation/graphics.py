"""Graphics processors for one command: which there are, whose turn it is, and the device nodes that a box needs of them.

Source: what NVIDIA's libnvidia-container shows in a container, and `CUDA_VISIBLE_DEVICES` of the CUDA C++ programming guide. Never tried
on a real one: its tests have device nodes of other kinds in their place.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from tracebench_autoresearch.sources.cache import cache
from tracebench_core.contracts import NotMeasured

_LOOK_SECONDS = 0.2
_NEEDED, _MORE = ("nvidiactl", "nvidia-uvm"), ("nvidia-uvm-tools",)
_NODE = re.compile(r"nvidia(\d+)")
_LINE = re.compile(r"^(GPU UUID|Device Minor):\s*(\S+)", re.MULTILINE)


class Machine(NamedTuple):
    """Where a machine tells of its processors."""

    devices: Path = Path("/dev")
    cards: Path = Path("/proc/driver/nvidia/gpus")


class Card(NamedTuple):
    """One processor: its node, and its name that does not depend on how many others are seen; empty where the driver tells none."""

    node: Path
    uuid: str


class Graphics(NamedTuple):
    """What one command has of them."""

    devices: tuple[str, ...] = ()
    """Nodes to be bound into its box."""
    environ: tuple[tuple[str, str], ...] = ()


def cards(machine: Machine, visible: str | None) -> list[Card]:
    """Return the processors that a `CUDA_VISIBLE_DEVICES` leaves, in its order; as with CUDA, none from the first wrong name on."""
    uuids = {}
    for file in machine.cards.glob("*/information"):
        told = dict(_LINE.findall(file.read_text(encoding="utf-8", errors="replace")))
        uuids[told.get("Device Minor", "")] = told.get("GPU UUID", "")
    numbers = sorted(int(found[1]) for path in machine.devices.glob("nvidia*") if (found := _NODE.fullmatch(path.name)))
    here = [Card(machine.devices / f"nvidia{number}", uuids.get(str(number), "")) for number in numbers]
    if visible is None:
        return here
    chosen: list[Card] = []
    for name in (part.strip() for part in visible.split(",")):
        named = [card for place, card in enumerate(here) if name in {str(place), card.uuid[: len(name)]} - {""}]
        if len(named) != 1 or named[0] in chosen:
            break
        chosen += named
    return chosen


@contextmanager
def taken(count: int, check: Callable[[], None], machine: Machine = Machine()) -> Iterator[Graphics]:  # noqa: B008 - immutable
    """Yield `count` processors that no other measurement of this user has; waits for them, and asks `check` meanwhile, which may raise.

    Raises:
        NotMeasured: when there are not so many, or the nodes of the driver are not there.
    """
    if not count:
        yield Graphics()
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = cards(machine, visible)
    if len(found) < count:
        leaves = "" if visible is None else f", of those that CUDA_VISIBLE_DEVICES={visible} leaves"
        raise NotMeasured(f"`gpus: {count}` are needed, and `{machine.devices}` has {len(found)}{leaves}", retry=False)
    driver = [machine.devices / name for name in _NEEDED]
    if missing := [str(node) for node in driver if not _is_device(node)]:
        raise NotMeasured(f"`{missing[0]}` is not there: `nvidia-modprobe -u -c=0` makes it", retry=False)
    driver += [node for node in (machine.devices / name for name in _MORE) if _is_device(node)]
    with ExitStack() as held:
        while len(mine := _free(found, count, held)) < count:
            held.close()
            check()
            time.sleep(_LOOK_SECONDS)
        shown = [card.uuid or str(place) for place, card in enumerate(mine)]
        environ = (("CUDA_VISIBLE_DEVICES", ",".join(shown)), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"))
        yield Graphics(tuple(map(str, [*(card.node for card in mine), *driver])), environ)


def _free(found: list[Card], count: int, held: ExitStack) -> list[Card]:
    """Return up to `count` processors whose locks could be had; `held` lets go of them, and so does the end of this process."""
    mine: list[Card] = []
    for card in found:
        if len(mine) < count and (lock := _lock(card)) is not None:
            held.enter_context(lock)
            mine.append(card)
    return mine


def _lock(card: Card) -> IO[str] | None:
    place = cache() / "gpus" / f"{card.node.name}.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _is_device(node: Path) -> bool:
    try:
        return stat.S_ISCHR(node.stat().st_mode)
    except OSError:
        return False
