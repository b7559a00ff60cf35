"""Grants around holes: everything asked for is covered, and nothing that is withheld."""

from __future__ import annotations

from pathlib import Path

from tracebench_core.forwarding import LIBRARIES
from tracebench_sandbox.launch import hidden_packages
from tracebench_sandbox.reach import carve


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def test_a_folder_without_holes_is_one_grant(tmp_path: Path) -> None:
    make(tmp_path, "a/x", "b/y")
    assert carve([tmp_path, tmp_path / "a"], holes=set()) == [tmp_path]


def test_a_hole_splits_the_folders_above_it_and_no_other(tmp_path: Path) -> None:
    make(tmp_path, "lib/one/x", "lib/two/x", "share/x")
    assert carve([tmp_path], holes={tmp_path / "lib" / "two"}) == [tmp_path / "lib" / "one", tmp_path / "share"]


def test_what_lies_in_a_hole_is_not_granted(tmp_path: Path) -> None:
    make(tmp_path, "suite/data/x")
    assert carve([tmp_path / "suite" / "data"], holes={tmp_path / "suite"}) == []


def test_links_do_not_lead_around_a_hole(tmp_path: Path) -> None:
    make(tmp_path, "lib/suite/x", "lib/other/x")
    (tmp_path / "lib" / "again").symlink_to(tmp_path / "lib" / "suite")
    assert carve([tmp_path / "lib"], holes={tmp_path / "lib" / "suite"}) == [tmp_path / "lib" / "other"]
    assert carve([tmp_path / "lib" / "again"], holes={tmp_path / "lib" / "suite"}) == []


def test_only_distributions_with_our_entry_point_are_withheld(tmp_path: Path) -> None:
    for name, group in (("suite", "tracebench"), ("other", "console_scripts"), ("near", "tracebenchmarks")):
        make(tmp_path, f"{name}/__init__.py", f"{name}_data.py", f"{name}-1.dist-info/METADATA")
        info = tmp_path / f"{name}-1.dist-info"
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{group}]\nx = {name}_plugin.entry:hook\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n{name}_data.py,,\n{name}-1.dist-info/METADATA,,\n")
    assert hidden_packages([str(tmp_path)]) == sorted(["suite", "suite_data", "suite_plugin", *LIBRARIES])
