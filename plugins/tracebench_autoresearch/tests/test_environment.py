"""An experiment's own Python: made of a file of its revision, once; read-only in the box; or refused in words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.tracebench_autoresearch.tests.dials import WITH_UV, write
from tests.whole import one_in

from tracebench_autoresearch.sources.environment import environment_key, open_python
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_core.errors import UsageError
from tracebench_core.specs import Feedback
from tracebench_engine.api import evaluate_task

LOOK = """
import json, pathlib, sys
try:
    pathlib.Path(sys.prefix, "mine").write_text("x")
    wrote = 1
except OSError:
    wrote = 0
print("own:", int("/autoresearch/environments/" in sys.prefix))
print("wrote:", wrote)
"""
METRICS = {"metric": {"name": "own"}, "metrics": [{"name": "wrote"}]}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def measured(root: Path, *, files: dict[str, str], **more: object) -> Feedback:
    write(
        root, "mine", {"editable": ["look.py"], "run": "python look.py", **METRICS, **more}, {"look.py": LOOK, **files}
    )
    return evaluate_task("autoresearch:mine", root=root)[0]


def snapshot(**texts: str) -> Snapshot:
    return Snapshot("r", {name.replace("_", "."): Entry("100644", text.encode()) for name, text in texts.items()})


@pytest.mark.parametrize("name", one_in(2, ["environment.yml", "requirements.txt"]))
def test_an_environment_is_made_of_a_file_and_the_box_cannot_change_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The one by `venv` and `pip`, the other by `uv`, where it is here."""
    if name == "environment.yml":
        monkeypatch.setenv("PATH", WITH_UV)
    text = {"requirements.txt": "# nothing\n", "environment.yml": "dependencies: [python=3.12, pip, {pip: []}]\n"}[name]

    found = measured(tmp_path / "root", files={name: text}, environment=name)

    assert found.status == "ok", found.text
    assert found.metrics["own"] == 1
    assert found.metrics["wrote"] == 0


def test_programs_that_a_command_starts_find_the_interpreter_too(tmp_path: Path) -> None:
    """`env NAME=value python …` is how a package below `src` is found."""
    where = "import os, sys\nprint('own:', int(os.path.realpath(sys.executable) == os.environ['WANTED']))\nprint('wrote: 0')\n"
    line = f"env WANTED={os.path.realpath(sys.executable)} python look.py"
    for name, more in (("boxed", {}), ("outside", {"outside": True})):
        write(
            tmp_path, name, {"editable": ["look.py"], "run": {"command": line, **more}, **METRICS}, {"look.py": where}
        )

        found = evaluate_task(f"autoresearch:{name}", root=tmp_path)[0]

        assert (found.status, found.metrics.get("own")) == ("ok", 1), found.text


def test_a_lock_file_makes_an_environment_that_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", WITH_UV)
    if (uv := shutil.which("uv")) is None:
        pytest.skip(f"no uv in {WITH_UV}")
    project = '[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.11"\n'
    (tmp_path / "p").mkdir()
    (tmp_path / "p/pyproject.toml").write_text(project)
    locked = subprocess.run([uv, "lock", "--offline"], cwd=tmp_path / "p", capture_output=True, text=True, check=False)
    if locked.returncode:
        pytest.skip(f"uv cannot lock here: {locked.stderr}")
    files = snapshot(uv_lock=(tmp_path / "p/uv.lock").read_text(), pyproject_toml=project)

    python = open_python("uv.lock", files)
    made = python.stat().st_ino, (python.parent.parent / "ready").stat().st_mtime_ns
    again = open_python("uv.lock", files)

    assert subprocess.run([python, "-c", "import sys; print(sys.prefix)"], check=True, capture_output=True).stdout
    assert (again.stat().st_ino, (again.parent.parent / "ready").stat().st_mtime_ns) == made


@pytest.mark.parametrize("line", ["-r base.txt", "--constraint=base.txt"])
def test_another_file_that_is_read_makes_another_environment(line: str) -> None:
    def files_with(text: str) -> Snapshot:
        return snapshot(**{"requirements.txt": line, "base.txt": text, "mine.py": "one"})

    one, same, other = (environment_key("requirements.txt", files_with(text)) for text in ("# 1", "# 1", "# 2"))
    assert one == same != other


@pytest.mark.parametrize("line", ["-e .", ".", "./part", "../part", "part @ file:part", "--editable=part"])
def test_a_copy_of_the_own_files_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="no candidate could edit"):
        open_python("requirements.txt", snapshot(**{"requirements.txt": "-r base.txt\n", "base.txt": line}))


def test_what_is_not_read_makes_the_same_environment() -> None:
    files = {"requirements.txt": "-r base.txt\n", "base.txt": "# one"}
    assert environment_key("requirements.txt", snapshot(**files)) == environment_key(
        "requirements.txt", snapshot(**files, mine_py="x")
    )


def test_an_interpreter_is_taken_by_its_path(tmp_path: Path) -> None:
    assert open_python(sys.executable, snapshot()) == Path(sys.executable)
    with pytest.raises(UsageError, match="no interpreter"):
        open_python("/no/where/python", snapshot())
    with pytest.raises(UsageError, match="neither a file of the revision"):
        open_python("missing.txt", snapshot())


def test_what_conda_alone_has_is_refused_in_words() -> None:
    for wanted in ("numpy=2.1", "conda-forge::cudatoolkit>=12"):
        with pytest.raises(UsageError, match="of conda, and only its part"):
            open_python("environment.yml", snapshot(environment_yml=f"dependencies: [python=3.12, '{wanted}']"))
    with pytest.raises(UsageError, match="no list `dependencies`"):
        open_python("environment.yml", snapshot(environment_yml="name: x\n"))


def test_nothing_is_left_of_an_environment_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", WITH_UV)
    monkeypatch.setenv("UV_OFFLINE", "1")  # it would try several times
    with pytest.raises(Exception, match="cannot be built"):
        open_python(
            "requirements.txt", snapshot(requirements_txt="no-such-package @ https://127.0.0.1:1/no-such-package.zip\n")
        )

    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_dir() and (path / "bin").exists()]


def test_a_box_reads_what_is_named_and_nothing_beside_it(tmp_path: Path) -> None:
    for name in ("shown", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.json").write_text(json.dumps({"value": 7}))
    look = (
        "import pathlib\n"
        f"print('own:', pathlib.Path({str(tmp_path / 'shown/data.json')!r}).read_text().count('7'))\n"
        f"try:\n    pathlib.Path({str(tmp_path / 'beside/data.json')!r}).read_text(); print('wrote: 1')\n"
        "except OSError:\n    print('wrote: 0')\n"
    )

    found = measured(tmp_path / "root", files={"look.py": look}, readable=[str(tmp_path / "shown")])

    assert found.status == "ok", found.text
    assert (found.metrics["own"], found.metrics["wrote"]) == (1, 0)
