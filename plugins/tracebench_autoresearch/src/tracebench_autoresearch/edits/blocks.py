"""Search-and-replace blocks: a path, the text that is there, the text that replaces it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracebench_autoresearch.edits.files import UnusableEdit, clean_path, demand_known

_BLOCK = re.compile(
    r"^(?P<path>[^\n]*)\n(?:```[^\n]*\n)?<{5,9} SEARCH[^\n]*\n(?P<old>.*?)^={5,9}[ \t]*\n(?P<new>.*?)^>{5,9} REPLACE",
    re.DOTALL | re.MULTILINE,
)


def is_present(reply: str) -> bool:
    """Say whether a reply means to hold blocks."""
    return re.search(r"^<{5,9} SEARCH", reply, re.MULTILINE) is not None


def apply(reply: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files after all blocks, each on what the ones before it made.

    A block with nothing to search for makes a new file.

    Raises:
        UnusableEdit: when a block is broken, names no file, or its text is not there exactly once.
    """
    changed = dict(files)
    found = list(_BLOCK.finditer(f"\n{reply}"))
    if len(found) != len(re.findall(r"^<{5,9} SEARCH", reply, re.MULTILINE)):
        raise UnusableEdit("a SEARCH/REPLACE block is not complete, or has no line with its file's path before it")
    last = ""
    for number, block in enumerate(found, start=1):
        last = clean_path(block["path"]) or last
        _replace(changed, last, block["old"], block["new"], number)
    return changed


def _replace(files: dict[str, str], path: str, old: str, new: str, number: int) -> None:
    if not old.strip() and path and path not in files:
        files[path] = new
        return
    demand_known(path, files)
    count = files[path].count(old) if old.strip() else 0
    if count == 0 and old.endswith("\n") and files[path].endswith(old[:-1]):  # the file's last line has no line break
        old, new, count = old[:-1], new.removesuffix("\n"), files[path].count(old[:-1])
    if count != 1:
        how = "is not in" if count == 0 else f"is {count} times in"
        raise UnusableEdit(f"the text to search for in block {number} {how} `{path}`")
    files[path] = files[path].replace(old, new)
