"""What untrusted code may read and import: the system, the standard library, and the packages that the template has loaded.

Out of reach stay the code and the data of every distribution with an entry point of ours, of this one, and of source folders (editable
installations, `PYTHONPATH`), except for modules that a suite preloads by name: those it gives away. So answers and instances that lie in
a suite's own package cannot be opened, imported, or found in memory.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

_SITES = ("site-packages", "dist-packages")
_METADATA = (".dist-info", ".egg-info")


class Reach:
    """Worked out in the template, when everything is preloaded and before anything untrusted runs."""

    def __init__(self, preload: Sequence[str], *, withheld: Iterable[str], readable: Iterable[Path] = ()) -> None:
        self._preload = tuple(preload)
        self._withheld = frozenset(withheld)
        known = {str(Path(entry)) for entry in (*sys.path, *site_folders()) if Path(entry).is_absolute()}
        self._sites = [Path(entry) for entry in sorted(known) if is_site(Path(entry))]
        self.readable = [*readable, *_places(sys.modules[name] for name in self._loaded())]
        """What may be read beside the system and the standard library."""

    def holes(self, *, whole: bool) -> set[Path]:
        """Return what must not lie beneath a grant: the withheld packages or, `whole`, all folders of packages on the path."""
        packages = {place / name for place in self._sites for name in self._withheld}
        on_path = {place for place in self._sites if str(place) in sys.path}
        return {hole.resolve() for hole in (packages | on_path if whole else packages) if hole.exists()}

    def forget(self) -> None:
        """Take what is withheld out of this process's modules and out of its path, source folders included.

        What the folders of packages hold is forgotten, too: a package out of reach is then one that is not installed, as libraries that
        can do without it expect, and not one that cannot be read.
        """
        for name in [name for name in sys.modules if self._is_withheld(name)]:
            del sys.modules[name]
        sys.meta_path[:] = [it for it in sys.meta_path if not self._is_withheld(getattr(it, "__module__", None) or "")]
        library = set(map(str, libraries()))
        sites = set(map(str, self._sites))
        sys.path[:] = [entry for entry in sys.path if entry in sites or entry in library]
        for entry in [entry for entry in sys.path_importer_cache if entry not in library]:
            if entry in sites or not any(entry.startswith(str(place)) for place in (*self.readable, *library)):
                del sys.path_importer_cache[entry]

    def _loaded(self) -> list[str]:
        """Return the names of what the template has loaded and may be read: whole packages, and modules preloaded by name."""
        named = [name for name in self._preload if name.partition(".")[0] in self._withheld]
        return [*named, *(name for name in sys.modules if "." not in name and name not in self._withheld)]

    def _is_withheld(self, name: str) -> bool:
        if name.partition(".")[0] not in self._withheld:
            return False
        return not any(f"{given}.".startswith(f"{name}.") or name.startswith(f"{given}.") for given in self._preload)


def libraries() -> list[Path]:
    """Return the folders of the standard library."""
    found = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    return [*dict.fromkeys([*found, *(place / "lib-dynload" for place in found)])]


def carve(roots: Iterable[Path], *, holes: set[Path]) -> list[Path]:
    """Return the largest paths, links resolved, that together cover `roots` without `holes`: a rule covers all that lies below it."""
    found = {part for root in roots for part in _around(root.resolve(), holes)}
    return sorted(path for path in found if not found.intersection(path.parents))


def _around(root: Path, holes: set[Path]) -> Iterator[Path]:
    if holes.intersection((root, *root.parents)):
        return
    if not any(root in hole.parents for hole in holes):
        yield root
        return
    for child in root.iterdir():
        if not child.is_symlink():
            yield from _around(child, holes)


def is_site(place: Path) -> bool:
    """Say whether a folder holds installed distributions."""
    if not place.is_dir():
        return False
    return place.name in _SITES or any(entry.suffix in _METADATA for entry in place.iterdir())


def site_folders() -> list[str]:
    """Return the folders of the packages of this interpreter, and of the one that its environment was made from."""
    return site.getsitepackages([sys.prefix, sys.base_prefix])


def _places(modules: Iterable[ModuleType]) -> Iterator[Path]:
    """Yield where modules lie, with the libraries that wheels put beside a package."""
    for module in modules:
        folders = [Path(entry) for entry in getattr(module, "__path__", ())]
        yield from folders
        yield from (folder.with_name(f"{folder.name}.libs") for folder in folders)
        if not folders and (file := getattr(module, "__file__", None)):
            yield Path(file)
