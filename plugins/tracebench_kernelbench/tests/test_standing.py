"""What times stand on: another compiler is another instrument."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from tracebench_core.plugins import load_ref
from tracebench_kernelbench.catalog import listed
from tracebench_kernelbench.modules.backends import CPP
from tracebench_kernelbench.modules.listing import list_numba
from tracebench_kernelbench.standing import of_c, of_modules, of_numba


def test_times_stand_on_compilers_and_on_what_a_backend_compiles_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, said in (("gcc", "gcc 77.1"), ("g++", "g++ 77.1")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}'\necho more\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.delenv("KERNELBENCH_SERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    assert of_c({}) == {"gcc": "gcc 77.1", "g++": "g++ 77.1"}
    assert of_c({"server": "run"}) == {}
    assert of_numba({}).keys() >= {"gcc", "g++", "numpy", "numba", "llvmlite"}
    assert of_numba({})["llvmlite"] == version("llvmlite")
    assert "gcc" not in of_modules({"backend": "torch"})
    assert of_modules({"backend": "torch_compile"})["g++"] == "g++ 77.1"

    (tmp_path / "gcc").write_text("#!/bin/sh\necho 'gcc 78.0'\n")
    assert of_c({})["gcc"] == "gcc 78.0"


def test_a_compiler_beside_the_interpreter_is_the_one_that_a_backend_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "g++").write_text("#!/bin/sh\necho 'g++ of pip'\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    assert "g++" not in {CPP.missing()}
    assert of_modules({"backend": "cpp"})["g++"] == "g++ of pip"


def test_every_timed_task_says_what_it_stands_on() -> None:
    for spec in (*listed(), *list_numba()):
        assert spec.timed
        assert load_ref(spec.stands_on or "", owner=spec.name)({}).keys() >= {"gcc", "g++"}
