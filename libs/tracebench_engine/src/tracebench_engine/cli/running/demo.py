"""`demo`: a recorded run, repeated before your eyes without a model, with its verdict and a page that shows it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_core.errors import OutputError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import DEFAULT_RUNS_DIR, spare_runs
from tracebench_engine.api.console.options import AsJson, MaxWorkers, RunsDir
from tracebench_engine.api.console.writing import put
from tracebench_engine.cli.running.ending import next_command, tell_end
from tracebench_engine.cli.running.replay import DIFFERENT, repeat, tell_differences
from tracebench_engine.cli.running.run import reporter_name

if TYPE_CHECKING:
    from tracebench_engine.api.rundirs.demos import Demo


def demo(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One of `--list`; the first of them when none is given.")
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.  [default: beside the run]"),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")] = False,
    every: Annotated[bool, typer.Option("--list", help="List what is recorded, and run nothing.")] = False,
    runs_dir: RunsDir = None,
    max_workers: MaxWorkers = None,
    as_json: AsJson = False,
) -> None:
    """Show a recorded run again: curves, verdict and a page. Offline and free."""
    from tracebench_engine.api.rundirs.demos import demo_named, demos

    if every:
        _list(demos(), as_json=as_json)
        return
    shown = demo_named(name)
    if out is not None:
        spare_runs(out)
        _refuse_unwritable(out, shown)
    folder, recorded = _unpacked(shown, runs_dir)
    if not as_json:
        output.prose(f"{shown.title}. {shown.model} Candidates are run and scored here, now.")
    summary, differences = repeat(
        recorded, runs_dir=str(folder), max_workers=max_workers, reporter=reporter_name(as_json=as_json)
    )
    run_dir = Path(summary.run_dir)
    if summary.exit_code:
        if not as_json:
            tell_end(summary)
        output.note(next_command(summary))
        raise typer.Exit(summary.exit_code)
    page = _page(shown, run_dir, out or folder / f"{run_dir.name}.html", same=not differences)
    if as_json:
        tell_differences(differences, recorded=recorded, replayed=run_dir, as_json=True, page=str(page))
    else:
        tell_end(summary)
        tell_differences(differences, recorded=recorded, replayed=run_dir, as_json=False)
        opened = not no_open and open_page(page)
        output.line(f"Page: {page.resolve()}{' (opened in your browser)' if opened else ''}")
    output.note(next_command(summary))
    raise typer.Exit(DIFFERENT if differences else 0)


def _list(found: list[Demo], *, as_json: bool) -> None:
    rows = [(demo.name, demo.title, demo.model) for demo in found]
    if as_json:
        output.document("demos", demos=[dict(zip(("name", "title", "model"), row, strict=True)) for row in rows])
    else:
        output.table(("demo", "title", "model"), rows)


def _unpacked(shown: Demo, runs_dir: str | None) -> tuple[Path, Path]:
    """Return the folder that holds the demo's runs and the recording in it; a temporary one where `runs` cannot be written.

    Raises:
        OutputError: when the folder that was asked for cannot be written.
    """
    from tracebench_engine.api.rundirs.demos import unpacked

    folder = Path(runs_dir or DEFAULT_RUNS_DIR)
    try:
        return folder, unpacked(shown, folder)
    except OSError as err:
        if runs_dir is not None:
            raise OutputError(
                f"`{folder}` cannot be written: {err.strerror}.", hint="trace-bench demo --runs-dir DIR"
            ) from err
        elsewhere = Path(tempfile.mkdtemp(prefix="trace-bench-"))
        output.note(f"`{folder}` cannot be written ({err.strerror}); the runs go to `{elsewhere}`.")
        return elsewhere, unpacked(shown, elsewhere)


def _page(shown: Demo, run_dir: Path, page: Path, *, same: bool) -> Path:
    """Write the page.

    Raises:
        OutputError: when it cannot be written.
    """
    from tracebench_engine.api.judging.stories import story_of

    agreed = (
        "All results are as recorded." if same else "Some results differ from the recording: the command named them."
    )
    notes = [
        f"This run repeats a recording: no model was asked, and nothing was paid. {shown.model}",
        f"All candidates were run and scored anew on this machine. {agreed}",
    ]
    run = str(run_dir.resolve())
    commands = [
        (output.command("compare", run), "Which trainer is better, by how much, and how sure that is"),
        (output.command("report", run), "The same as one HTML file to hand on, with every table"),
        (output.command("ui", "--runs-dir", str(run_dir.resolve().parent)), "Every job and candidate in the browser"),
        (output.command("init", "config", "mine.yaml"), "Write a config of your own"),
    ]
    text = story_of(run_dir, title=shown.title, notes=notes, commands=commands)
    try:
        put(page, text.encode("utf-8", "replace"))
    except OSError as err:
        raise _unwritable(page, shown, err.strerror) from err
    return page


def _refuse_unwritable(page: Path, shown: Demo) -> None:
    """Refuse a page that could not be written before a run is made for it.

    Raises:
        OutputError: its place is a folder, or in none that can be written.
    """
    here = page if page.exists() else page.parent
    why = (
        errno.EISDIR
        if page.is_dir()
        else 0
        if os.access(here, os.W_OK)
        else errno.EACCES
        if here.exists()
        else errno.ENOENT
    )
    if why:
        raise _unwritable(page, shown, os.strerror(why))


def _unwritable(page: Path, shown: Demo, why: str | None) -> OutputError:
    return OutputError(
        f"`{page}` cannot be written: {why}.", hint=output.command("demo", shown.name, "-o", "demo.html")
    )


CONSOLE = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})
"""Browsers that would take the terminal."""


def has_display() -> bool:
    """Tell whether a page could be seen: somebody at a terminal, and a screen that it belongs to."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(page: Path) -> bool:
    """Open a page where there is a display, and tell whether a browser took it. It says nothing on this terminal."""
    if not has_display():
        return False
    with suppress(webbrowser.Error, OSError, subprocess.SubprocessError):
        browser = webbrowser.get()
        if Path(getattr(browser, "name", "")).name in CONSOLE:
            return False
        with _quiet():
            return bool(browser.open(page.resolve().as_uri()))
    return False


class _quiet:  # noqa: N801 - a context manager
    """Keeps what a browser prints off the terminal: its process inherits both streams."""

    def __enter__(self) -> None:
        self._kept = [os.dup(1), os.dup(2)]
        nothing = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nothing, number)
        os.close(nothing)

    def __exit__(self, *_: object) -> None:
        for number, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, number)
            os.close(kept)
