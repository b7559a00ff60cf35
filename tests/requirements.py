"""Whether each library requires what it imports, and imports what it requires: deptry, over all of `src` and `libs`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BY_NEED = {
    "tracebench_gateway": ["httptools"],
    "tracebench_runs": ["duckdb", "pandas", "polars", "pyarrow"],
    "tracebench_analysis": ["altair", "backports-zstd", "vl-convert-python"],
    "tracebench_engine": [
        "altair",
        "duckdb",
        "litellm",
        "pandas",
        "polars",
        "pyarrow",
        "tensorboardX",
        "vl-convert-python",
        "pytest",
        "tracebench-testing",
    ],
    "tracebench_testing": ["pytest"],
}
"""What is imported by name, which no reader of imports sees: extras, and the reader that uvicorn is quicker with."""


def check(package: str) -> int:
    """Return the exit code of deptry for one distribution."""
    home = ROOT if package == "tracebench_core" else ROOT / "libs" / package
    plugins = [p.name for p in (ROOT / "plugins").iterdir()] if package == "tracebench_engine" else []
    unused = "|".join([*BY_NEED.get(package, []), *(p.replace("_", "-") for p in plugins)])
    command = [Path(sys.executable).with_name("deptry"), f"src/{package}", "--known-first-party", package, "--no-ansi"]
    command += ["--package-module-name-map", "pyyaml=yaml,vl-convert-python=vl_convert"]
    command += (
        ["--per-rule-ignores", f"DEP002={unused},DEP003=pydantic_core|typing_extensions"]
        if unused
        else ["--per-rule-ignores", "DEP003=pydantic_core|typing_extensions"]
    )
    if package == "tracebench_core":
        command += ["--optional-dependencies-dev-groups", ",".join(extras())]
    return subprocess.run(command, cwd=home, check=False).returncode


def extras() -> list[str]:
    """Return the names of the extras that the core forwards to the bench."""
    return [*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]]


if __name__ == "__main__":
    libraries = ["tracebench_core", *sorted(p.name for p in (ROOT / "libs").iterdir())]
    sys.exit(max(check(library) for library in libraries))
