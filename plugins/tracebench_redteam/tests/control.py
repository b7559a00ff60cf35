"""Attacks by candidates whose defences are switched off: `python control.py LOCK,…` prints whether those that these hold gain, as JSON;
`python control.py --command KIND,…` whether those of some kinds do that a command tries.

Started below `tests/sandbox/hide.py`, which takes the kernel's mechanisms away; limits, the sweeping of what a candidate leaves behind and
scoring apart are taken away here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence

from tracebench_engine.api.sandboxes import open_sandbox
from tracebench_redteam.attacks import ALONE, ATTACKS, SEEN_BY_FOLDER, Attack
from tracebench_redteam.places import try_attacks
from tracebench_sandbox import launch

_FIRST = "from tracebench_sandbox.template.server"
_OFF = {
    "sweep": "from tracebench_sandbox.template import strangers; strangers.sweep = lambda find: None; ",
    "capabilities": (
        "from tracebench_sandbox.template import lockdown; lockdown.Lockdown._drop_capabilities = lambda self: None; "
    ),
}


def groups(attacks: Sequence[Attack]) -> Iterator[list[Attack]]:
    """Yield those that may share a process."""
    for kind in dict.fromkeys(attack.kind for attack in attacks):
        found = [attack for attack in attacks if attack.kind == kind]
        yield from ([one] for one in found) if kind in ALONE else [found]


def tried(attacks: Sequence[Attack], off: Collection[str]) -> dict[str, bool]:
    """Return by name what gains."""
    for name in sorted(_OFF.keys() & {*off}):
        launch._PROGRAM = launch._PROGRAM.replace(_FIRST, _OFF[name] + _FIRST)
    gained: dict[str, bool] = {}
    for some in groups(attacks):
        with open_sandbox(preload=[], require="process") as sandbox:
            gained |= try_attacks(some, sandbox=sandbox, off={*off} & {"limits", "scoring"})  # type: ignore[arg-type]
    return gained


if __name__ == "__main__":
    if sys.argv[1] == "--command":
        with open_sandbox(preload=[], require="process") as unlocked:
            some = [attack for attack in ATTACKS if attack.kind in sys.argv[2].split(",")]
            print(json.dumps(try_attacks(some, sandbox=unlocked, is_command=True)))
        sys.exit()
    off = [*filter(None, sys.argv[1].split(","))]
    chosen = [a for a in ATTACKS if a.kind not in SEEN_BY_FOLDER and a.locks == {*off}]
    print(json.dumps(tried(chosen, off)))
