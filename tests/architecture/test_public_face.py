"""What others build on changes only where somebody means it to: the public face is held by a file."""

from __future__ import annotations

import pytest

pytest.importorskip("griffe", reason="griffe reads signatures from sources")

from tests.face import breaks, differences, face, is_above, kept, minor, modules, name_of

from tracebench_core.specs.renamed import RENAMED


@pytest.fixture(scope="module")
def now() -> list[str]:
    """Return the face of the sources as they are."""
    return face()


def test_no_public_name_goes_or_changes_unnoticed(now: list[str]) -> None:
    found = differences(kept()[1], now)
    assert found == [], (
        "is it meant? Then `just face`, and say so in changelog.d; docs/how-to/release.md says what a release may do:\n"
        + "\n".join(found)
    )


def test_a_name_that_goes_and_one_that_takes_something_else_are_told() -> None:
    kept = ["m.f(a: int) -> str", "m.C(Spec)", "m.C.x: int = 3", "m.AXES = ('a',)"]
    assert differences(kept, kept) == []
    assert differences(kept, ["m.f(a: int, b: int) -> str", "m.C(Spec)", "m.C.y: int = 3", "m.AXES = ('a',)"]) == [
        "gone: m.C.x: int = 3",
        "changed: m.f(a: int) -> str\n      to: m.f(a: int, b: int) -> str",
    ]


def test_what_breaks_others_is_told_from_what_does_not() -> None:
    before = ["m.f(a: int, *, c: str = 'x') -> str", "m.C(Spec)", "m.C.x: int = 3"]
    assert breaks(before, ["m.f(a: int | str, b: int = 1, *, c: str = 'y', d: int = 2) -> str", *before[1:]]) == []
    assert breaks(before, ["m.f(b: int, c: str) -> str", "m.C(Spec)"]) == [
        "`m.f` no longer takes `a`",
        "`m.f` now needs `b`",
        "`m.f` now needs `c`",
        "gone: m.C.x: int = 3",
    ]


def test_no_minor_is_named_that_is_not_reached() -> None:
    assert not is_above(kept()[0], minor())
    assert [row for row in RENAMED.values() if is_above(row.since, minor())] == []
    assert (is_above("0.10", "0.9"), is_above("0.2", "0.2")) == (True, False)


def test_names_of_before_are_gone_and_names_of_today_are_there(now: list[str]) -> None:
    fields = {tuple(name_of(line).split(".")[2:]) for line in now if line.startswith("tracebench_core.specs.")}
    for (owner, field), row in RENAMED.items():
        assert (owner, row.now) in fields
        assert (owner, field) not in fields


def test_the_face_has_what_plugins_are_told_to_import(now: list[str]) -> None:
    names = {name_of(line) for line in now}
    assert {
        "tracebench_core.task",
        "tracebench_core.contracts.Problem.evaluate",
        "tracebench_core.specs.TaskSpec.loader",
    } <= names
    assert {
        "tracebench_core.run",
        "tracebench_engine.api.run",
        "tracebench_engine.api.records.Run",
        "tracebench_testing.toys.Toy",
    } <= names
    assert {name for name in names if "._" in name} <= {
        name for name in names if name.rpartition(".")[2].startswith("__")
    }
    assert {name.rpartition(".")[0] for name in names} >= {
        "tracebench_core.specs.events",
        "tracebench_core.ids",
        "tracebench_core.errors",
    }
    assert all(any(name.startswith(f"{module}.") for name in names) for module in modules())
