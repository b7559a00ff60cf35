"""`trace-bench publish`: runs as a site of files, to be opened from disk or put on any server."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import OutputError, RunDirError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_run
from tracebench_engine.api.console.options import AsJson, RunsDir

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def publish(
    names: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs: directories, or ids in `--runs-dir`.")],
    *,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder of the site.")] = Path("site"),
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Write runs as a static site. Open index.html from disk, or put the folder on any server."""
    folders = [find_run(name, runs_dir=runs_dir) for name in dict.fromkeys(names)]
    _demand_names(folders)
    _demand_folder(out, folders)

    from tracebench_engine.api.analysis import open_run  # noqa: PLC0415 - numpy, which `--help` needs not
    from tracebench_viewer.publishing.site import write_site  # noqa: PLC0415 - as above

    runs = {folder.resolve().name: open_run(folder) for folder in folders}
    try:
        size = write_site(runs, out)
    except OSError as err:
        raise OutputError(f"`{out}` cannot be written: {err.strerror}.", hint="trace-bench publish RUN -o DIR") from err
    index = out / "index.html"
    jobs = sum(len(run.planned) for run in runs.values())
    if as_json:
        output.document("site", path=str(index), runs=[*runs], jobs=jobs, bytes=size)
    else:
        output.line(
            f"{index}: {len(runs)} {'run' if len(runs) == 1 else 'runs'}, {jobs} {'job' if jobs == 1 else 'jobs'}, {size / 1e6:.1f} MB"
        )


def _demand_names(folders: list[Path]) -> None:
    """Refuse two runs of one name: their addresses would be the same.

    Raises:
        UsageError: naming them.
    """
    known: dict[str, Path] = {}
    for folder in folders:
        name = folder.resolve().name
        other = known.setdefault(name, folder)
        if other.resolve() != folder.resolve():
            raise UsageError(
                f"`{other}` and `{folder}` are both called `{name}`: their pages would have the same address.",
                hint=shlex.join(
                    ["trace-bench", "publish", str(folder), "-o", f"site-{folder.resolve().parent.name or 'other'}"]
                ),
            )


def _demand_folder(out: Path, folders: list[Path]) -> None:
    """Refuse a folder that holds something else, or a site with runs that this one would lose: links to them would die.

    Raises:
        RunDirError: saying what it holds.
    """
    from tracebench_viewer.publishing.site import MARK  # noqa: PLC0415 - as above

    named = [folder.resolve().name for folder in folders]
    other = shlex.join(["trace-bench", "publish", *map(str, folders), "-o", f"{out}-2"])
    try:
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return
    except OSError as err:
        raise OutputError(f"`{out}` cannot be looked at: {err.strerror}.", hint=other) from err
    try:
        held = [str(name) for name in json.loads((out / MARK).read_text(encoding="utf-8"))["runs"]]
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise RunDirError(f"`{out}` is there, and is no site that `publish` wrote.", hint=other) from err
    if lost := [name for name in held if name not in named]:
        every = [*folders, *(folders[0].parent / name for name in lost)]
        again = shlex.join(["trace-bench", "publish", *map(str, every), "-o", str(out)])
        raise RunDirError(
            f"The site in `{out}` holds `{lost[0]}`, which is not named: links to it would die.",
            hint=f"name it, too: {again}",
        )
