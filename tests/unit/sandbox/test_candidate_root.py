"""The root of a candidate in namespaces: what is made for it is made in it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tracebench_sandbox.kernel.candidate_root import _root


def test_what_is_given_through_a_link_changes_nothing_where_the_link_leads() -> None:
    """As with an interpreter in a home that is a link: places beside its packages are given that need not be there."""
    with TemporaryDirectory(dir="/var/tmp") as scratch:
        place = Path(scratch)
        real, home = place / "real", place / "home"
        (real / "lib").mkdir(parents=True)
        home.symlink_to(real)

        given = [home, home / "lib", home / "lib" / "missing.libs", home / "missing" / "deep"]
        root = _root(place / "root", given)

        assert [path.relative_to(real) for path in real.rglob("*")] == [Path("lib")]
        assert (root / home.relative_to("/")).readlink() == real
