from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_terminalbench import program
from tracebench_terminalbench.found import find_harbor


@pytest.fixture(autouse=True)
def no_interpreters_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_PYTHONS", str(tmp_path / "pythons"))


def installed(folder: Path, *, version: str | None = "0.24.3", python: str = "3.12", shebang: str = "#!{}") -> Path:
    """Lay out an environment as an installer does: a script, a Python beside it, the library's metadata."""
    libraries = folder / f"lib/python{python}/site-packages"
    libraries.mkdir(parents=True)
    (folder / "bin").mkdir()
    if version is not None:
        (libraries / f"harbor-{version}.dist-info").mkdir()
    script = folder / "bin/harbor"
    script.write_text(shebang.format(folder / "bin/python") + "\nimport sys\n")
    script.chmod(0o755)
    return script


def test_harbor_is_found_by_config_then_variable_then_path(tmp_path: Path) -> None:
    by_config, by_variable, on_path = (installed(tmp_path / name) for name in "abc")
    environ = {"TRACE_BENCH_HARBOR": str(by_variable), "PATH": str(on_path.parent)}

    assert find_harbor(str(by_config), environ=environ).command == str(by_config)
    assert find_harbor(environ=environ).command == str(by_variable)
    assert find_harbor(environ={"PATH": str(on_path.parent)}).command == str(on_path)


def test_a_command_of_a_config_is_found_from_where_the_run_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = installed(tmp_path / "a")
    monkeypatch.setattr(program, "STARTED", tmp_path)

    assert find_harbor(f"./{script.relative_to(tmp_path)}", environ={"PATH": ""}).command == str(script)


def test_harbor_that_was_prepared_comes_before_the_one_on_path(tmp_path: Path) -> None:
    prepared, on_path = installed(tmp_path / "pythons/harbor"), installed(tmp_path / "a")
    (tmp_path / "pythons/harbor/trace-bench.json").write_text("{}")
    (tmp_path / "pythons/harbor/bin/python").symlink_to("/bin/sh")

    assert find_harbor(environ={"PATH": str(on_path.parent)}).command == str(prepared)


def test_the_version_is_read_beside_a_script_whose_long_path_is_wrapped(tmp_path: Path) -> None:
    script = installed(tmp_path / "a", shebang="#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''")

    found = find_harbor(str(script))

    assert (found.version, found.package) == ("0.24.3", str(tmp_path / "a/lib/python3.12/site-packages/harbor"))


@pytest.mark.parametrize("version", ["0.23.9", "0.27.0", "1.0"])
def test_another_version_is_refused_with_the_range(tmp_path: Path, version: str) -> None:
    script = installed(tmp_path / "a", version=version)

    with pytest.raises(MissingRequirementError, match=rf"Harbor {version}; this plugin drives `harbor>=0\.24,<0\.27`"):
        find_harbor(str(script))


def test_an_interpreter_that_is_too_old_is_named(tmp_path: Path) -> None:
    script = installed(tmp_path / "a", version=None, python="3.11")

    with pytest.raises(MissingRequirementError, match=r"No Harbor is installed .* needs Python 3\.12"):
        find_harbor(str(script))


@pytest.mark.parametrize(
    "environ", [{"PATH": "/nonexistent"}, {"PATH": "/nonexistent", "TRACE_BENCH_HARBOR": "/nonexistent/harbor"}]
)
def test_without_harbor_the_hint_is_the_line_that_installs_it(environ: dict[str, str]) -> None:
    with pytest.raises(MissingRequirementError) as caught:
        find_harbor(environ=environ)

    assert caught.value.exit_code == 3
    assert "uv tool install --python 3.12 'harbor>=0.24,<0.27'" in caught.value.hint


def test_a_command_that_is_no_script_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "harbor"
    binary.write_bytes(b"\x7fELF\x00\x01")
    binary.chmod(0o755)

    with pytest.raises(MissingRequirementError, match="no Python script"):
        find_harbor(str(binary))
