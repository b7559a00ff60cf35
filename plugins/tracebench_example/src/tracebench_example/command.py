"""`trace-bench result-cache`: what the cache of results holds, and how to empty it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_example.result_cache import ORIGIN

app = typer.Typer(help="Look into a folder of cached results.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="As the config names it in `plugins.options.result_cache.folder`.")]


@app.command("list")
def show(folder: Folder) -> None:
    """List the jobs that are kept."""
    rows = [(d.name, d.parent.name, f"{_size(d) / 1e6:.2f}") for d in _kept(folder)]
    output.table(("job", "versions", "megabytes"), rows)


@app.command()
def clear(folder: Folder) -> None:
    """Remove what is kept."""
    count = 0
    for one in _kept(folder):
        if one.is_symlink() or one.parent.is_symlink():
            continue  # what it leads to lies elsewhere
        with suppress(FileNotFoundError):  # another command was quicker
            _remove(one)
            count += 1
    output.note(f"{count} kept results removed.")


def _kept(folder: Path) -> Iterator[Path]:
    """Yield the folders of jobs, each of which bears our mark; nothing else that lies there is touched, however it is called.

    Raises:
        UsageError: when there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no folder `{folder}`.", hint="ls")
    yield from sorted(mark.parents[1] for mark in folder.glob(f"*-core-*/*/artifacts/{ORIGIN}"))


def _remove(one: Path) -> None:
    """Remove what makes it a result first and its mark last: cut short it is used by no run, and found by the next `clear`."""
    (one / "results.json").unlink(missing_ok=True)
    mark = one / "artifacts" / ORIGIN
    for path in [*one.iterdir(), *mark.parent.iterdir()]:
        if path in {mark, mark.parent}:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(one)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
