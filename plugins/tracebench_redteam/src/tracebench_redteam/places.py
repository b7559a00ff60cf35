"""The places of participants: where attacks are tried, and with which of their defences switched off."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracebench_core.api.programs import held_command, scratch_folder
from tracebench_core.contracts import Sandbox
from tracebench_redteam.attacks import Attack, Defence
from tracebench_redteam.ground import MOST, Ears, Ground, wait_for_gains
from tracebench_redteam.running import SOURCE

SECONDS = 60.0
ALL_OFF: frozenset[Defence] = frozenset({"files", "network", "limits", "apart"})


class NotTried(Exception):  # noqa: N818 - named for what happened
    """The place cannot be had on this machine."""


def try_attacks(
    attacks: Sequence[Attack], *, sandbox: Sandbox | None, off: Collection[Defence] = ()
) -> dict[str, bool]:
    """Try attacks one after another in one process, and return by name whether each gained anything.

    With a `sandbox` that process is a candidate's; without, it is that of a program with files and network closed, like a coding agent's,
    with some of its defences switched `off`. Without being `apart` there is none of them.

    Raises:
        NotTried: when this machine cannot hold a program so.
    """
    with scratch_folder("redteam") as place, ExitStack() as stack:
        ears = stack.enter_context(Ears(place))
        grounds = [
            stack.enter_context(Ground(place / f"g{number}", kind=attack.kind, hears=ears))
            for number, attack in enumerate(attacks)
        ]
        orders = [
            [f"a{number}", attack.code, ground.targets]
            for number, (attack, ground) in enumerate(zip(attacks, grounds, strict=True))
        ]
        own = place / "own"
        own.mkdir()
        loot = _as_program(orders, own, off=off) if sandbox is None else _as_candidate(orders, sandbox)
        wait_for_gains({attack.kind for attack in attacks})
        return {
            attack.name: ground.gained(loot.get(f"a{number}"), own / f"a{number}")
            for number, (attack, ground) in enumerate(zip(attacks, grounds, strict=True))
        }


def _as_candidate(orders: Sequence[Any], sandbox: Sandbox) -> dict[str, Any]:
    outcome = sandbox.call(SOURCE, "run", orders)
    return dict(outcome.value) if isinstance(outcome.value, dict) else {"a0": outcome.error}


def _as_program(orders: Sequence[Any], own: Path, *, off: Collection[Defence]) -> dict[str, Any]:
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
        )
    done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False, timeout=SECONDS)  # noqa: S603 - ours
    loot = own / "loot.json"
    if not loot.is_file() or loot.is_symlink():
        raise NotTried(f"the program of the attacks ended with code {done.returncode}: {done.stderr[-400:].strip()}")
    return dict(json.loads(loot.read_text(encoding="utf-8")))
