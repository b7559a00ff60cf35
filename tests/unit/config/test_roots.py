"""`--root DIR` is told to every suite, `--root SUITE=DIR` to one."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.plugins import PluginHost
from tracebench_engine.config.roots import absolute_root, roots

SUITES = ("packings", "questions")


def told_by(root: Any) -> dict[str, Any]:
    """Return what each of two plugins is told of a root."""
    told: dict[str, Any] = {}
    host = PluginHost({}, root=root)
    for name in SUITES:
        module = ModuleType(name)

        @hookimpl
        def tracebench_configure(settings: dict[str, Any], name: str = name) -> None:
            told[name] = settings["root"]

        module.tracebench_configure = tracebench_configure  # type: ignore[attr-defined]
        host.register(module, name)
    host.catalog()
    return told


def test_a_folder_is_told_to_all_and_one_of_a_suite_to_it_alone(tmp_path: Path) -> None:
    assert told_by(roots(tmp_path, SUITES)) == dict.fromkeys(SUITES, tmp_path)
    assert told_by(roots(Path(f"packings={tmp_path}"), SUITES)) == {"packings": tmp_path, "questions": None}
    assert told_by(roots(None, SUITES)) == dict.fromkeys(SUITES)


def test_a_suite_that_is_not_installed_is_told_with_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"names the suite `packing`, which is not installed\. Did you mean `packings`\?"
    ):
        roots(Path("packing=there"), SUITES)


def test_a_home_of_nobody_is_a_folder_that_is_not_there() -> None:
    assert roots(Path("packings=~no-such-user/x"), SUITES) == {"packings": Path("~no-such-user/x")}
    assert absolute_root(Path("packings=~no-such-user/x")) == f"packings={Path.cwd()}/~no-such-user/x"


def test_a_folder_may_have_an_equals_sign_in_its_name(tmp_path: Path) -> None:
    odd = tmp_path / "packings=old"
    odd.mkdir()

    assert roots(odd, SUITES) == odd


def test_a_run_goes_on_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert absolute_root(Path("packings=trees")) == f"packings={tmp_path / 'trees'}"
    assert absolute_root(Path("trees")) == str(tmp_path / "trees")
    assert absolute_root(None) is None
