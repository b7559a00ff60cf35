"""Tries the newest release of every library that a distribution of ours pins, and says what broke: `just newest`.

    python -m tests.newest [NAME …]       all, or these libraries

For each: a copy of the checkout in which that library has no upper bound, an environment of its own with the distribution and the extra
that pin it (of the core and the libraries, the one of the checkout), and the tests that need the library (`TESTS`), or those of the
plugin that pins it where none are named.
One line each, tab-separated: the library, the distribution with the extra, the pin, the newest release, what was installed, and what
came of it: `passed N`, `failed N: the first`, or the resolver's reason. Exit code 1 where something broke.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")
BESIDE = ("pytest", "pytest-timeout", "hypothesis")
OURS = "tracebench"
PLACES = ("pyproject.toml", "libs/*/pyproject.toml", "plugins/*/pyproject.toml")
LEFT = (".git", ".venv", ".tools", "runs", "dist", "site", "__pycache__", "uv.lock")
"""What no copy of the checkout needs, or what would hold a release."""
FOREIGN = "plugins/tracebench_trainers_ext/tests"
FRAMES = ("tests/unit/store/test_frames_and_export.py", "", "")
TESTS: dict[str, tuple[str, str, str]] = {
    "packaging": ("tests/unit/plugins", "", ""),
    "pluggy": ("tests/unit/plugins", "", ""),
    "pydantic": ("tests/unit/config", "", ""),
    "numpy": ("tests/unit/analysis", "", ""),
    "backports-zstd": ("tests/unit/analysis/test_logs.py", "", ""),
    "altair": ("tests/unit/analysis/test_report.py", "", ""),
    "vl-convert-python": ("tests/unit/analysis/test_report.py", "", ""),
    "pyyaml": ("tests/unit/config", "", ""),
    "rich": ("tests/cli/test_validate.py", "", ""),
    "typer": ("tests/cli/test_validate.py", "", ""),
    "tensorboardX": ("tests/engine/test_loggers.py", "", ""),
    "pandas": FRAMES,
    "pyarrow": FRAMES,
    "polars": FRAMES,
    "duckdb": FRAMES,
    "pytest": ("tests/unit/testing", "", ""),
    "aiohttp": ("tests/llm", "", ""),
    "httptools": ("tests/llm", "", ""),
    "starlette": ("tests/llm", "", ""),
    "uvicorn": ("tests/llm", "", ""),
    "alembic": ("plugins/tracebench_trackers/tests", "trackers", ""),
    "datasets": ("plugins/tracebench_hfqa/tests/test_hub.py", "datasets", ""),
    "huggingface-hub": ("plugins/tracebench_hfqa/tests/test_hub.py", "datasets", ""),
    "litellm": ("tests/llm", "", ""),
    "mlflow-skinny": ("plugins/tracebench_trackers/tests", "trackers", ""),
    "wandb": ("plugins/tracebench_trackers/tests", "trackers", ""),
    "gepa": (f"{FOREIGN}/test_twins.py", "trainers_ext", "gepa-"),
    "dspy": (f"{FOREIGN}/test_twins.py", "trainers_ext", "DSPy"),
    "textgrad": (f"{FOREIGN}/test_twins.py", "trainers_ext", "TextGrad"),
    "openevolve": (f"{FOREIGN}/test_twins.py", "trainers_ext", "OpenEvolve"),
    "skydiscover": (f"{FOREIGN}/test_twins.py", "trainers_ext", "SkyDiscover"),
    "adalflow": (f"{FOREIGN}/test_twins.py", "trainers_ext", "AdalFlow"),
    "openai": (f"{FOREIGN}/test_twins.py", "trainers_ext", "AdalFlow"),
    "optuna": (f"{FOREIGN}/test_twins.py", "trainers_ext", "Optuna"),
    "nevergrad": (f"{FOREIGN}/test_twins.py", "trainers_ext", "Nevergrad"),
}
"""By library: tests, the heavy group that they are of, and which of them (`-k`). Others: all tests of the plugin that pins it."""


def trial_of(pin: Pin) -> tuple[str, str, str]:
    """Return which tests try a pin."""
    return TESTS.get(pin.name, (str(pin.home / "tests"), "", ""))


class Pin(NamedTuple):
    """One requirement of ours."""

    home: Path
    """Of its distribution, below the checkout."""
    distribution: str
    extra: str
    written: str

    @property
    def name(self) -> str:
        """The library's."""
        return Requirement(self.written).name

    @property
    def is_ours(self) -> bool:
        """Whether the core or a library of ours pins it: then its tests are the checkout's, in the environment that they have there."""
        return self.home.parts[:1] != ("plugins",)


def pins() -> Iterator[Pin]:
    """Yield what our distributions pin: each library once, where it is written first."""
    seen: set[str] = set()
    for path in (path for places in PLACES for path in sorted(ROOT.glob(places))):
        project = tomllib.loads(path.read_text())["project"]
        parts = {"": project.get("dependencies", []), **project.get("optional-dependencies", {})}
        for extra, written in ((extra, one) for extra, them in parts.items() for one in them):
            pin = Pin(path.parent.relative_to(ROOT), project["name"], extra, written)
            if not pin.name.startswith(OURS) and pin.name not in seen:
                seen.add(pin.name)
                yield pin


def newest_of(name: str) -> str:
    """Return the newest release that this machine's index has for this Python; empty where there is none."""
    asked = [UV, "pip", "compile", "-q", "--no-deps", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    found = subprocess.run(asked, input=name, capture_output=True, text=True, check=False).stdout.strip()
    return found.rpartition("==")[2]


def tried(pin: Pin, folder: Path) -> tuple[str, str]:
    """Return which release was installed, and what came of it."""
    tree = _unbound(pin.name, folder / "tree")
    python = folder / "env/bin/python"
    wanted = f"{tree / pin.home}[{pin.extra}]" if pin.extra else str(tree / pin.home)
    if pin.is_ours:
        environ = os.environ | {"UV_PROJECT_ENVIRONMENT": str(folder / "env")}
        made = _done([UV, "sync", "-q", "--python", sys.executable], tree, environ)
        more = ["-e", wanted]
    else:
        made = _done([UV, "venv", "-q", "--python", sys.executable, str(folder / "env")], tree)
        more = ["-e", f"{tree}/libs/tracebench_engine[testing]", "-e", wanted, *BESIDE]
    made = made or _done([UV, "pip", "install", "-q", "--python", str(python), *more], tree)
    if made:
        return "", f"not installed: {made}"
    ask = f"import importlib.metadata as m; print(m.version({pin.name!r}))"
    version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()
    where, group, which = trial_of(pin)
    environ = os.environ | {"TRACEBENCH_HEAVY": group, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    asked = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        where,
        *(("-k", which) if which else ()),
    ]
    ended = subprocess.run(asked, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    return version, _told(ended.stdout or ended.stderr)


def _unbound(name: str, tree: Path) -> Path:
    """Return a copy of the checkout without an upper bound on one library."""
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT), symlinks=True)
    bound = re.compile(rf'(["\']{re.escape(name)}(?:\[[^]]*\])?>=[^,"\']+),<[^"\';]+')
    for path in (path for places in (*PLACES, "plugins/*/src/*/libraries.py") for path in tree.glob(places)):
        text = bound.sub(r"\1", path.read_text())
        path.write_text(re.sub(rf'(Library\([^)]*"{re.escape(name)}", "[^"]+", )"[^"]+"', r'\1"9999"', text))
    return tree


def _done(command: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> str:
    """Run a command; return nothing, or the last line of what it said when it failed."""
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    lines = ended.stderr.strip().splitlines() or ["no word"]
    return "" if ended.returncode == 0 else " ".join(lines[-3:])[:300]


def _told(output: str) -> str:
    """Return what tests came to in a few words."""
    lines = output.strip().splitlines() or ["pytest said nothing"]
    first = next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "")
    return f"{lines[-1].strip('= ')}{': ' if first else ''}{first}"[:300]


def main() -> int:
    """Print a line for each library as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args().names
    known = {pin.name: pin for pin in pins()}
    if strange := [name for name in asked if name not in known]:
        parser.error(f"nothing of ours pins {', '.join(strange)}; pinned are {', '.join(sorted(known))}")
    print("library\tpinned by\tpin\tnewest\tinstalled\twhat came of it", flush=True)
    broke = False
    for pin in (known[name] for name in asked or sorted(known)):
        newest = newest_of(pin.name)
        with tempfile.TemporaryDirectory(prefix="newest-") as folder:
            version, words = tried(pin, Path(folder))
        broke = broke or not re.match(r"\d+ passed", words)
        by = f"{pin.distribution}[{pin.extra}]" if pin.extra else pin.distribution
        print(f"{pin.name}\t{by}\t{Requirement(pin.written).specifier}\t{newest}\t{version}\t{words}", flush=True)
    return int(broke)


if __name__ == "__main__":
    sys.exit(main())
