"""Which salts a run has: its own, the one that its config gives, or those that all runs of its folder share."""

from __future__ import annotations

from pathlib import Path

from tracebench_core.specs import PUBLIC, RunConfig, Salts
from tracebench_runs.meta.salt_files import read_salts, shared_salts
from tracebench_runs.storage.layout import RunLayout

NEW = "NEW"
UNDRAWN = "undrawn"
"""In place of a name while nobody has drawn the salts: such jobs get other ids once they run."""


def settle_salts(config: RunConfig, *, draw: bool) -> Salts | None:
    """Return the salts of a config's run; None where instances are public, and without `draw` where none were drawn yet.

    A run that exists, or that is replayed, keeps its own: its test instances never change.

    Raises:
        RunDirError: when they can be neither read nor made.
    """
    if config.mode == "replay" and config.replay_from:
        return read_salts(RunLayout(Path(config.replay_from)).salts)
    runs_dir = Path(config.runs_dir)
    own = read_salts(RunLayout(runs_dir / config.run_id).salts) if config.run_id else None
    if own is not None or config.salt == PUBLIC:
        return own
    if config.salt is None:
        return shared_salts(runs_dir, draw=draw)
    if config.salt == NEW:
        return Salts.draw() if draw else None
    return Salts.derived(config.salt)


def salt_name(config: RunConfig, salts: Salts | None) -> str:
    """Return what a job's identity says of the salts that its instances are drawn from."""
    if salts is not None:
        return salts.digest
    return PUBLIC if config.salt == PUBLIC or config.mode == "replay" else UNDRAWN
