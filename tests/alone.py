"""Which unit tests run with one library and its requirements alone: `python -m tests.alone tracebench_runs` prints their files.

With `--import`, it imports every module of the library in its own environment instead.

A test file belongs to the least library that has all that its text names of ours, strings that other processes run included.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDS = {
    "tracebench_core": set[str](),
    "tracebench_runs": {"core"},
    "tracebench_sandbox": {"core"},
    "tracebench_gateway": {"core", "runs"},
    "tracebench_analysis": {"core", "runs"},
    "tracebench_engine": {"core", "runs", "sandbox", "gateway", "analysis"},
    "tracebench_testing": {"core", "runs", "sandbox", "gateway", "analysis", "engine"},
}
"""By library, those that come with it; from the least to the one that has all."""


def named(path: Path, seen: frozenset[Path] = frozenset()) -> set[str]:
    """Return which of our libraries a test file names, with the builders that it takes from other test files."""
    text = path.read_text(encoding="utf-8")
    found = {name for name in re.findall(r"\btracebench_[a-z]+\b", text) if name in NEEDS}
    if re.search(r"\btests\.(?:warm|cli)\b|\btrace_bench\(|-m\W+tracebench_engine", text):
        found.add("tracebench_engine")
    for module in re.findall(r"from (tests\.[\w.]+) import", text):
        helper = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        if helper.is_file() and helper not in seen:
            found |= named(helper, seen | {helper})
    for each in path.parents:
        if each == ROOT / "tests":
            break
        if (each / "conftest.py").is_file() and each / "conftest.py" not in seen:
            found |= named(each / "conftest.py", seen | {each / "conftest.py"})
    return found


def owner(path: Path) -> str:
    """Return the least library with which a test file runs."""
    wanted = named(path)
    return next(name for name, others in NEEDS.items() if wanted <= {name} | {f"tracebench_{o}" for o in others})


def tests_of(library: str) -> list[Path]:
    """Return the unit tests that a library's own environment runs."""
    return [path for path in sorted((ROOT / "tests/unit").rglob("test_*.py")) if owner(path) == library]


def import_all(library: str) -> None:
    """Import every module of a library: tests may ask for some of them by name, in cells that are left out."""
    found = pkgutil.walk_packages(importlib.import_module(library).__path__, f"{library}.")
    names = [each.name for each in found if not each.name.endswith("__main__")]
    for name in names:
        importlib.import_module(name)
    print(f"{library}: {len(names)} modules are imported")


if __name__ == "__main__":
    if sys.argv[1] == "--import":
        import_all(sys.argv[2])
    else:
        for each in tests_of(sys.argv[1]):
            print(each.relative_to(ROOT))
