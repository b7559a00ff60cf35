"""`init`: packages that are whole, and that pass what they bring in a fresh environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tracebench_core.errors import UsageError
from tracebench_engine.cli.parts.init import PackageKind, write_package

from .conftest import Cli

ROOT = Path(__file__).parents[2]
KINDS = [kind.value for kind in PackageKind]


@pytest.mark.parametrize("kind", PackageKind)
def test_a_package_is_whole(kind: PackageKind, tmp_path: Path) -> None:
    folder = write_package(kind, "my-own", tmp_path)

    texts = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert {"pyproject.toml", "README.md", "LICENSE", ".github/workflows/test.yml"} <= {*texts}
    assert {f"src/tracebench_my_own/{name}" for name in ("__init__.py", "plugin.py", "py.typed")} <= {*texts}
    assert [name for name, text in texts.items() if "@@" in text or "@@" in name or name.endswith(".tmpl")] == []
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    assert project["entry-points"]["tracebench"] == {"my_own": "tracebench_my_own.plugin"}
    assert re.fullmatch(r"tracebench-core>=[\d.]+,<[\d.]+", project["dependencies"][0])
    for name, text in texts.items():
        if name.endswith(".py"):
            compile(text, name, "exec")
    assert "my_own" in yaml.safe_load(texts[".github/workflows/test.yml"])["jobs"]["test"]["steps"][-1]["run"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My Suite", "cannot be a plugin's name"),
        ("../x", "cannot be"),
        ("internal", "is installed already"),
        ("a" * 3, "exists"),
    ],
)
def test_a_name_that_will_not_do_is_refused(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "tracebench-aaa").mkdir()
    with pytest.raises(UsageError, match=words) as caught:
        write_package(PackageKind.SUITE, name, tmp_path)
    assert caught.value.hint.startswith("trace-bench init suite ")


def test_a_part_that_another_plugin_offers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`core` offers a trainer `RandomSearch`") as caught:
        write_package(PackageKind.TRAINER, "random-search", tmp_path)
    assert caught.value.hint == "trace-bench init trainer random_search_2"
    assert [*tmp_path.iterdir()] == []
    assert write_package(PackageKind.SUITE, "random-search", tmp_path).is_dir()


def test_the_config_validates_and_is_not_overwritten(cli: Cli, tmp_path: Path) -> None:
    only_core = {"TRACEBENCH_PLUGINS": ""}
    assert cli("init", "config", "mine.yaml", env=only_core).returncode == 0
    assert (
        "# - internal:code_param" in (tmp_path / "mine.yaml").read_text()
        or "trace_examples" in (tmp_path / "mine.yaml").read_text()
    )
    checked = cli("validate", "--config", "mine.yaml", env=only_core)
    assert checked.returncode == 0, checked.stderr
    again = cli("init", "config", "mine.yaml", env=only_core)
    assert again.returncode == 2
    assert "`mine.yaml` exists" in again.stderr


@pytest.mark.heavy("kits")
@pytest.mark.timeout(1800)  # it builds an environment from nothing, and runs the tests of five packages there
def test_packages_pass_their_tests_in_a_fresh_environment(tmp_path: Path) -> None:
    uv = shutil.which("uv") or str(ROOT / ".tools/bin/uv")  # `uv` of the checkout
    if not Path(uv).exists():
        pytest.skip("uv is not installed")
    folders = [write_package(kind, f"fresh-{kind.value}", tmp_path) for kind in PackageKind]
    python = tmp_path / "env/bin/python"
    environ = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}

    def run(*command: str, cwd: Path = tmp_path) -> None:
        done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"

    run(uv, "venv", "--quiet", "--python", sys.executable, str(tmp_path / "env"))
    run(
        uv, "pip", "install", "--quiet", "--python", str(python), str(ROOT), f"{ROOT}/libs/tracebench_engine[testing]",
        "pytest", "pytest-timeout",
        *(str(folder) for folder in folders),
    )  # fmt: skip
    for folder in folders:
        name = folder.name.removeprefix("tracebench-").replace("-", "_")
        run(str(python), "-m", "pytest", "-q", cwd=folder)
        run(str(python.with_name("trace-bench")), "plugins", "check", name)
