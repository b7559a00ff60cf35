"""Answers that lie in a suite's own package are out of a candidate's reach: as files, as modules, and in memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracebench_core
import tracebench_sandbox
from tracebench_sandbox import LocalSandbox, open_sandbox
from tracebench_sandbox.host import level

SECRET = "answer-" + "41f7c0de"
WALK = f"""
import gc, sys
def find():
    mark = "answer-" + "{SECRET.removeprefix("answer-")}"
    waiting, frame = [sys.modules, *gc.get_objects()], sys._getframe(1)
    while frame is not None:
        waiting += [frame, frame.f_locals]
        frame = frame.f_back
    seen, held = {{id(globals()), id(waiting)}}, []
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing) is dict:
            held += [key for key, value in thing.items() if isinstance(value, str) and mark in value]
        waiting += gc.get_referents(thing)
    return held, [n for n in sys.modules if n.partition(".")[0] == "fake_suite" or n.startswith("tracebench_")], len(seen)
"""

LIBRARY = """
NAME = 'library'
def other():
    try:
        import fake_other
    except ImportError:
        return None
    return fake_other.NAME
"""

pytestmark = pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")


def lay(folder: Path, package: str, *, text: str, points: str = "") -> Path:
    """Install a package by hand: its code, a data file, and its metadata."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(text)
    (folder / package / "answers.json").write_text(SECRET)
    (folder / package / "later.py").write_text("value = 5\n")
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{package}/__init__.py,,\n{package}/later.py,,\n")
    (info / "entry_points.txt").write_text(points)
    return folder / package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site-packages"
    suite = f"from pathlib import Path\nANSWERS = Path(__file__).with_name('answers.json').read_text() + '{SECRET}'\n"
    lay(folder, "fake_suite", text=suite, points="[tracebench]\nfake = fake_suite.plugin\n")
    lay(folder, "fake_library", text=LIBRARY)
    lay(folder, "fake_other", text="NAME = 'other'\n")
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def sandbox(site: Path) -> Iterator[LocalSandbox]:
    with open_sandbox(preload=["fake_library"], require="strong") as opened:
        yield opened


def read(path: Path) -> str:
    return f"def f():\n    return open({str(path)!r}).read()\n"


def test_what_is_preloaded_can_be_imported_and_read(sandbox: LocalSandbox, site: Path) -> None:
    code = "import fake_library, fake_library.later\ndef f():\n    return fake_library.NAME, fake_library.later.value\n"
    assert sandbox.call(code, "f").value == ("library", 5)
    assert sandbox.call(read(site / "fake_library" / "answers.json"), "f").value == SECRET


def test_a_library_does_without_another_that_is_out_of_reach(sandbox: LocalSandbox) -> None:
    found = sandbox.call("import fake_library\ndef f():\n    return fake_library.other()\n", "f")
    assert (found.status, found.value) == ("ok", None)


def test_a_suites_files_cannot_be_opened_or_listed(sandbox: LocalSandbox, site: Path) -> None:
    assert sandbox.call(read(site / "fake_suite" / "answers.json"), "f").status == "forbidden"
    assert sandbox.call(f"import os\ndef f():\n    return os.listdir({str(site)!r})\n", "f").status == "forbidden"


def test_a_suite_cannot_be_imported(sandbox: LocalSandbox, site: Path) -> None:
    direct = sandbox.call("def f():\n    import fake_suite\n    return fake_suite.ANSWERS\n", "f")
    found = f"import sys\ndef f():\n    sys.path.insert(0, {str(site)!r})\n    import fake_suite\n    return fake_suite.ANSWERS\n"
    again = sandbox.call(found, "f")
    assert {direct.status, again.status} <= {"error", "forbidden"}
    assert SECRET not in repr((direct, again))


def test_what_is_not_preloaded_is_no_part_of_the_sandbox(sandbox: LocalSandbox) -> None:
    assert sandbox.call("def f():\n    import fake_other\n", "f").status in {"error", "forbidden"}


@pytest.mark.parametrize("module", ["tracebench_engine.builtin", "tracebench_engine", "tracebench_sandbox.client"])
def test_the_bench_itself_cannot_be_imported(sandbox: LocalSandbox, module: str) -> None:
    assert sandbox.call(f"def f():\n    import {module}\n", "f").status in {"error", "forbidden"}


def test_no_source_folder_can_be_read(sandbox: LocalSandbox) -> None:
    import tracebench_core

    assert tracebench_core.__file__ is not None
    assert sandbox.call(read(Path(tracebench_core.__file__)), "f").status == "forbidden"
    paths = sandbox.call("import sys\ndef f():\n    return sys.path, sys.argv\n", "f").value
    assert not any(str(Path(tracebench_core.__file__).parents[1]) in entry for group in paths for entry in group)


def test_no_module_object_or_frame_leads_to_a_suite(sandbox: LocalSandbox) -> None:
    held, modules, objects = sandbox.call(WALK, "find").value
    assert (held, modules) == ([], [])
    assert objects > 10_000


def test_the_walk_would_find_what_is_there(site: Path) -> None:
    with open_sandbox(preload=["fake_suite"], require="strong") as sandbox:
        held, modules, _ = sandbox.call(WALK, "find").value
        assert "ANSWERS" in held
        assert modules == ["fake_suite"]


def test_a_command_cannot_read_a_suite_either(site: Path) -> None:
    with open_sandbox(require="strong", readable=[]) as sandbox:
        outcome = sandbox.command(["cat", str(site / "fake_suite" / "answers.json")])
        assert outcome.value["returncode"] != 0
        assert SECRET not in repr(outcome)


def test_a_python_command_has_packages_and_no_plugin() -> None:
    script = (
        "import pydantic, sys\ntry:\n    import tracebench_core\nexcept ImportError as err:\n    print('kept away')\n"
    )
    with open_sandbox(require="strong") as sandbox:
        outcome = sandbox.command([sys.executable, "-c", script])
        assert outcome.value["stdout"] == "kept away\n", outcome


INSTALLED = """
import json, sys
from pathlib import Path
import tracebench_core
import tracebench_sandbox
from tracebench_sandbox import open_sandbox

place = Path(tracebench_core.__file__).parent
code = f"import leaf; print(leaf.NAME); open({str(place / 'errors.py')!r})"
with open_sandbox() as sandbox:
    print(json.dumps([str(place.parent), sandbox.command([sys.executable, "-c", code]).value]))
"""


def test_a_command_imports_what_is_installed_beside_us_and_reads_nothing_of_ours(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (folder,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for ours in (tracebench_core, tracebench_sandbox):
        shutil.copytree(
            Path(ours.__file__).parent, folder / ours.__name__, ignore=shutil.ignore_patterns("__pycache__")
        )
    (folder / "leaf.py").write_text("NAME = 'leaf'\n")
    (folder / "others.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")

    said = subprocess.run([python, "-c", INSTALLED], capture_output=True, text=True, check=False)

    assert said.returncode == 0, said.stderr
    place, told = json.loads(said.stdout)
    assert place == str(folder)
    assert told["stdout"] == "leaf\n"
    assert "PermissionError" in told["stderr"]
