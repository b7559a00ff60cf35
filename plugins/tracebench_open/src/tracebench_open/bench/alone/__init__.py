"""What checks a page with nothing but the standard library: four modules that are shipped as one file, and that file."""

from __future__ import annotations

import re
from importlib.resources import files

MODULES = ("receipts", "sums", "what_if", "page")
OURS = re.compile(r"^from tracebench_open\.[^\n]*\n", re.MULTILINE)
FUTURE = "from __future__ import annotations\n"


def one_file() -> str:
    """Return the four modules as one program that imports nothing of ours."""
    texts = [files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8") for name in MODULES]
    bodies = [OURS.sub("", text).replace(FUTURE, "").strip() for text in texts]
    return (
        f'"""Checks a page of the open bench: python3 -I -S check.py --help"""\n\n{FUTURE}\n'
        + "\n\n\n".join(bodies)
        + "\n"
    )
