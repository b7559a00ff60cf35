"""Let faults befall runs, and tell what became of each: those that befall a task alone share a run with a sound task."""

from __future__ import annotations

import atexit
import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from plugins.tracebench_terminalbench.tests.faults.rows import FAULTS, SOLVED, Fault
from plugins.tracebench_terminalbench.tests.faults.world import Ended, World
from plugins.tracebench_terminalbench.tests.images import busybox

HEAD = "| what happens | its task | a sound task of the same run | left |\n|---|---|---|---|\n"
SOUND = "sound"


class Row(NamedTuple):
    """What was seen of a fault."""

    fault: Fault
    outcome: str
    sound: str
    left: str
    wrong: tuple[str, ...]
    """What is other than its row says; nothing where all is as it says."""

    @property
    def name(self) -> str:
        """What happens."""
        return f"{self.fault.group} {self.fault.what}"

    def line(self) -> str:
        """Return it as a line of a table."""
        return f"| {self.name} | {self.outcome} | {self.sound} | {self.left} |"


def table(rows: Sequence[Row], *, before: str = "") -> str:
    """Return a table in Markdown, with the rows of an earlier one where there is no newer."""
    lines = {line.split("|")[1].strip(): line for line in before.splitlines()[2:]}
    lines |= {row.name: row.line() for row in rows}
    order = [f"{fault.group} {fault.what}" for fault in FAULTS]
    return HEAD + "".join(f"{lines[name]}\n" for name in order if name in lines)


def together(faults: Sequence[Fault]) -> Iterator[list[Fault]]:
    """Yield the faults of one run after another."""
    for group in dict.fromkeys(fault.group for fault in faults):
        if shared := [fault for fault in faults if fault.group == group and not fault.alone]:
            yield shared
        yield from ([fault] for fault in faults if fault.group == group and fault.alone)


@cache
def _base() -> tuple[Path, Path]:
    """Return an image of busybox and a store, of this process."""
    folder = Path(tempfile.mkdtemp(prefix="trace-bench-faults-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return busybox(folder / "base"), folder / "store"


def measure(faults: Sequence[Fault]) -> list[Row]:
    """Let them befall one run."""
    layout, store = _base()
    world = World(Path(tempfile.mkdtemp(prefix="trace-bench-fault-")), layout, store)
    wrong: dict[str, list[str]] = {fault.slug: [] for fault in faults}
    try:
        with contextlib.ExitStack() as opened:
            for fault in faults:
                if fault.around is not None:
                    opened.enter_context(fault.around(world, fault.slug))
                fault.add_to(world)
            world.task(SOUND, **SOLVED)
            world.config["evaluation_retries"] = int(any(fault.expected == "again" for fault in faults))
            world.start()
            world.each_once(
                {fault.sleeps: partial(_strike, fault, world, wrong[fault.slug]) for fault in faults if fault.strikes}
            )
            world.wait()
            for fault in faults:
                fault.afterwards(world)
            world.wait()
            left = world.left()
            ended, sound = {fault.slug: world.ended(fault.slug) for fault in faults}, world.ended(SOUND)
            for fault in faults:
                wrong[fault.slug] += [*fault.after(world), *(f"left: {line}" for line in left)]
                wrong[fault.slug] += _otherwise(fault, ended[fault.slug], sound, world)
        told = "nothing" if not left else str(len(left))
        return [Row(f, words(ended[f.slug]), words(sound), told, tuple(wrong[f.slug])) for f in faults]
    finally:
        world.close()


def _strike(fault: Fault, world: World, wrong: list[str], pid: int) -> None:
    try:
        fault.strike(world, pid)
    except (AssertionError, LookupError, OSError, StopIteration, ValueError) as err:
        wrong.append(f"{type(err).__name__}: {err}")


def _otherwise(fault: Fault, ended: Ended, sound: Ended, world: World) -> Iterator[str]:
    seen = {"measured: 1": "1", "measured: 0": "0", "measured when tried again: 1": "again"}.get(
        words(ended), "nothing"
    )
    if seen != fault.expected:
        yield f"`{seen}`, and not `{fault.expected}`: {ended}"
    if not re.search(fault.told, f"{ended.said} {world.said()}"):
        yield f"nobody tells `{fault.told}`: {ended.said}"
    if words(sound) != fault.sound:
        yield f"the sound task: {sound}: {world.said()[-1500:]}"


def words(ended: Ended) -> str:
    """Return in words what was measured."""
    if ended.score is None:
        return "not measured"
    return f"measured{' when tried again' if ended.again else ''}: {ended.score:g}"
