"""Keeps a candidate from opening or importing this suite, which is installed where every Python process may read.

The answers are never in a candidate's process, but the laws and generators behind them are in these files. The source below runs first in
the sandbox: an audit hook (PEP 578) refuses whatever Python opens inside this package, and no code can take a hook away again. It is a
second fence: native code called through ctypes would pass it.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent

_HOOK = """
def _seclude(root):
    import os
    import sys

    realpath, decode, name = os.path.realpath, os.fsdecode, os.path.basename(root)

    def refuse(event, args):
        if event in ("open", "os.listdir", "os.scandir") and args and isinstance(args[0], (str, bytes)):
            path = decode(args[0])
            if name in path.split("/") or (realpath(path) + "/").startswith(root + "/"):
                raise PermissionError(13, "the files of the suite are out of reach", path)

    sys.addaudithook(refuse)


"""


def seclude(root: Path) -> str:
    """Return source that puts everything below a folder out of Python's reach."""
    return f"{_HOOK}_seclude({str(root)!r})\ndel _seclude\n"


SECLUSION = seclude(ROOT)
