"""The places of participants: where attacks are tried, and with which of their defences switched off."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Sandbox
from tracebench_core.specs import Limits
from tracebench_engine.api.programs import held_command, scratch_folder
from tracebench_redteam.attacks import BURNS, FORGES, TAKES, Attack, Defence
from tracebench_redteam.ground import CAP_MB, MOST, PAID_SECONDS, Ears, Ground, wait_for_gains
from tracebench_redteam.running import SOURCE
from tracebench_redteam.watching import Watch

SECONDS, LINGER_SECONDS = 60.0, 10.0
ALL_OFF: frozenset[Defence] = frozenset({"files", "network", "limits", "apart", "scoring"})
_WATCHED = (BURNS, TAKES)


class NotTried(Exception):  # noqa: N818 - named for what happened
    """The place cannot be had on this machine."""


def try_attacks(
    attacks: Sequence[Attack], *, sandbox: Sandbox | None, off: Collection[Defence] = (), is_command: bool = False
) -> dict[str, bool]:
    """Try attacks one after another in one process, and return by name whether each gained anything.

    With a `sandbox` that process is a candidate's, or a command's (`is_command`); without, it is that of a program with files and network
    closed, like a coding agent's.
    Some defences may be switched `off`: without being `apart` a program has none; those of the kernel are the sandbox's.

    Raises:
        NotTried: when this machine cannot hold a program so.
    """
    kinds = {attack.kind for attack in attacks}
    with scratch_folder("redteam") as place, ExitStack() as stack:
        ears = stack.enter_context(Ears(place))
        grounds = [
            stack.enter_context(Ground(place / f"g{number}", kind=attack.kind, hears=ears))
            for number, attack in enumerate(attacks)
        ]
        watch = stack.enter_context(
            Watch([g.mark for g, attack in zip(grounds, attacks, strict=True) if attack.kind in _WATCHED])
        )
        is_scored = "scoring" in off
        orders = [
            [f"a{n}", attack.code, ground.targets, ground.truth if is_scored and attack.kind == FORGES else None]
            for n, (attack, ground) in enumerate(zip(attacks, grounds, strict=True))
        ]
        own = place / "own"
        own.mkdir()
        is_timed = BURNS in kinds and not {"limits", "apart"} & {*off}
        if sandbox is None:
            loot = _as_program(orders, own, off=off, seconds=PAID_SECONDS if is_timed else SECONDS)
        else:
            limits = _limits(kinds if "limits" not in off else ())
            loot = (_as_command if is_command else _as_candidate)(orders, sandbox, limits)
        watch.participant_ended()
        watch.wait(LINGER_SECONDS if BURNS in kinds else 0)
        wait_for_gains(kinds)
        return {
            attack.name: ground.gained(loot.get(f"a{n}"), own / f"a{n}", watch, is_scored=is_scored)
            for n, (attack, ground) in enumerate(zip(attacks, grounds, strict=True))
        }


def _as_candidate(orders: Sequence[Any], sandbox: Sandbox, limits: Limits) -> dict[str, Any]:
    """Run as a candidate."""
    outcome = sandbox.call(SOURCE, "run", orders, limits=limits)
    return dict(outcome.value) if isinstance(outcome.value, dict) else {"a0": outcome.error}


def _as_command(orders: Sequence[Any], sandbox: Sandbox, limits: Limits) -> dict[str, Any]:
    """Run as a command in the sandbox; what it got is the last line that it prints."""
    files = {"program.py": SOURCE, "orders.json": json.dumps(orders)}
    outcome = sandbox.command([sys.executable, "program.py", "orders.json", "/dev/stdout"], files=files, limits=limits)
    said = outcome.value if isinstance(outcome.value, dict) else {}
    try:
        return dict(json.loads(said["stdout"].splitlines()[-1]))
    except (KeyError, IndexError, ValueError, TypeError):
        return {"a0": f"{outcome.error} {said}"}


def _limits(limited: Collection[str]) -> Limits:
    """Return what keeps attacks of the `limited` kinds from what they would take."""
    return Limits(
        seconds=PAID_SECONDS if BURNS in limited else SECONDS,
        memory_mb=CAP_MB if TAKES in limited else Limits().memory_mb,
    )


def _as_program(orders: Sequence[Any], own: Path, *, off: Collection[Defence], seconds: float) -> dict[str, Any]:
    (own / "orders.json").write_text(json.dumps(orders), encoding="utf-8")
    (own / "program.py").write_text(SOURCE, encoding="utf-8")
    command = [sys.executable, "program.py", "orders.json", "loot.json"]
    if "apart" not in off:
        command = held_command(
            command,
            own,
            files="host" if "files" in off else "folder",
            network="open" if "network" in off else "closed",
            processes=None if "limits" in off else MOST,
            memory_mb=None if "limits" in off else CAP_MB,
        )
    try:
        done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False, timeout=seconds)  # noqa: S603 - ours
    except subprocess.TimeoutExpired:
        return {}
    loot = own / "loot.json"
    if not loot.is_file() or loot.is_symlink():
        raise NotTried(f"the program of the attacks ended with code {done.returncode}: {done.stderr[-400:].strip()}")
    return dict(json.loads(loot.read_text(encoding="utf-8")))
