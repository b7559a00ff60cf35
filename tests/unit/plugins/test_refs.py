"""What a spec names is imported, and an error says whose it is and what to install."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError, PluginError, typed
from tracebench_core.plugins.refs import load_ref


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what was imported from it is forgotten."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if name.startswith("refd"):
            del sys.modules[name]


def test_an_attribute_of_a_module_or_of_one_in_a_package_is_loaded(written: Path) -> None:
    (written / "refd_pack").mkdir()
    (written / "refd_pack/__init__.py").write_text("")
    (written / "refd_pack/one.py").write_text("value = 3\n")
    assert load_ref("refd_pack.one:value", owner="o") == 3


@pytest.mark.parametrize(
    ("source", "ref", "kind", "words", "hint"),
    [
        (None, "refd_no:x", PluginError, "`o` names `refd_no:x`, and there is no module `refd_no`.", ""),
        ("", "refd_one.sub:x", PluginError, "`o` names `refd_one.sub:x`, and there is no module `refd_one.sub`.", ""),
        (
            "import refless_other.sub", "refd_one:x", MissingRequirementError,
            "`o` needs the module `refless_other`, which is not installed.", "pip install refless_other",
        ),
        (
            "import email.nosuch", "refd_one:x", MissingRequirementError,
            "`o` needs the module `email.nosuch`, which is not installed.", "pip install email",
        ),
        (  # a library whose name begins that of the module
            "import refd", "refd_one:x", MissingRequirementError, "`o` needs the module `refd`, which is not installed.",
            "pip install refd",
        ),
        (
            "raise ModuleNotFoundError('of no name')", "refd_one:x", PluginError,
            "`o` names `refd_one:x`, and there is no module `of no name`.", "",
        ),
        ("y = 1", "refd_one:x", PluginError, "`o` names `refd_one:x`: module 'refd_one' has no attribute 'x'.", ""),
        ("1 / 0", "refd_one:x", PluginError, "`o`: importing `refd_one:x` failed: ZeroDivisionError: division by zero", ""),
        ("import sys; sys.exit(3)", "refd_one:x", PluginError, "`o`: importing `refd_one:x` failed: SystemExit: 3", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_told_with_its_owner(
    written: Path, *, source: str | None, ref: str, kind: type[Exception], words: str, hint: str
) -> None:
    if source is not None:
        (written / "refd_one.py").write_text(source)
    with pytest.raises(kind) as caught:
        load_ref(ref, owner="o")
    assert (str(caught.value), getattr(caught.value, "hint", "") or "") == (words, typed(hint))
