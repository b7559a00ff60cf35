"""Show a page in the browser of whoever sits at this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

CONSOLE = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})
"""Browsers that would take the terminal."""


def has_display() -> bool:
    """Tell whether a page could be seen: somebody at a terminal, and a screen that it belongs to."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(page: Path) -> bool:
    """Open a page where there is a display, and tell whether a browser took it. It says nothing on this terminal."""
    if not has_display():
        return False
    with suppress(webbrowser.Error, OSError, subprocess.SubprocessError):
        browser = webbrowser.get()
        if Path(getattr(browser, "name", "")).name in CONSOLE:
            return False
        with _quiet():
            return bool(browser.open(page.resolve().as_uri()))
    return False


class _quiet:  # noqa: N801 - a context manager
    """Keeps what a browser prints off the terminal: its process inherits both streams."""

    def __enter__(self) -> None:
        self._kept = [os.dup(1), os.dup(2)]
        nothing = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nothing, number)
        os.close(nothing)

    def __exit__(self, *_: object) -> None:
        for number, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, number)
            os.close(kept)
