"""`trace-bench open-bench`: promise, run, gather and verify a page of results that others can check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import TraceBenchError, UsageError, quoted
from tracebench_core.ids import did_you_mean
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson
from tracebench_engine.api.console.writing import put
from tracebench_open.bench.plan import SIZES, as_promised, parts_of, write_configs
from tracebench_open.claims.command import app as claims
from tracebench_open.command import promised_by
from tracebench_open.registration import Registration, read, write

app = typer.Typer(
    help="Make a page of results with receipts, and verify it.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(claims, name="claims")
SizeName = Annotated[str, typer.Option("--size", metavar="NAME", help=f"One of {', '.join(SIZES)}.")]
Release = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of the fields, committed to, not yet given away. `suites` has none."),
]
Keep = Annotated[Path, typer.Option(metavar="DIR", help="Where configs, the registration and runs are kept.")]
BENCH = "bench.json"
PROMISE, COMMIT = "registration.json", "commit.txt"


@app.command()
def promise(*, size: SizeName = "small", release: Release = None, keep: Keep) -> None:
    """Write the configs, register every job, print the head.

    The head is to be published before the first call. No model is asked.
    """
    from tracebench_open.bench.gather import this_commit  # noqa: PLC0415 - the other commands need less

    _known(size)
    configs = write_configs(parts_of(size, release), keep)
    made = promised_by(configs)
    if not (keep / PROMISE).exists():
        put(keep / COMMIT, f"{this_commit()}\n".encode())  # first: the promise makes it whole
    write(made, keep / PROMISE)
    output.line(made.head)
    output.note(f"{sum(len(s.seeds) for s in made.jobs)} jobs. Publish the head, then:")
    released = ["--release", release] if release else []
    output.note(output.command("open-bench", "run", "--size", size, *released, "--keep", keep))


@app.command()
def run(*, size: SizeName = "small", release: Release = None, keep: Keep) -> None:
    """Run what was promised.

    What has ended is kept, so that it goes on where it was cut off.
    """
    _promised(keep)
    for part in parts_of(size, release):
        config = keep / f"{part['name']}.json"
        argv = [
            sys.executable,
            "-P",
            "-m",
            "tracebench_engine.cli",
            "run",
            "--config",
            str(config),
            "--runs-dir",
            str(keep / "runs"),
        ]
        code = subprocess.run(argv, check=False).returncode  # noqa: S603 - this program
        if code not in {0, 1}:  # 1: some jobs failed, which the page tells
            raise typer.Exit(code)


@app.command()
def page(
    *,
    size: SizeName = "small",
    release: Release = None,
    keep: Keep,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder of receipts; the page is its name with `.md`.")],
    leave: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART", help="A part that was promised and not run; the page tells it. May be given often."
        ),
    ] = None,
) -> None:
    """Gather the receipts, and write the page.

    Every figure of the page follows from the receipts of the runs.
    """
    from tracebench_open.bench.gather import gather  # noqa: PLC0415 - the other commands need less

    _known(size)
    path = _page_of(to, {f"{part['name']}.zip" for part in parts_of(size, release)})
    text = gather(
        as_promised(parts_of(size, release), keep),
        keep / "runs",
        _promised(keep),
        size=size,
        release=release,
        to=to,
        leave=leave or (),
        commit=(keep / COMMIT).read_text(encoding="utf-8").strip(),
    )
    put(path, text.encode())
    output.line(str(path))
    output.note(output.command("open-bench", "verify", to, "--page", path))


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The receipts.")],
    *,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; left out, the receipts alone.")] = None,
    head: Annotated[str | None, typer.Option(metavar="HEX", help="Of the registration, as it was published.")] = None,
    root: Annotated[str | None, typer.Option(metavar="HEX", help="Of the receipts, as somebody kept it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the page again from its receipts.

    The bench's own library does it. Exits with 1 where anything is not so.
    """
    from tracebench_open.bench import recompute  # noqa: PLC0415 - it imports numpy

    try:
        wrong = [*recompute.verify(folder, page, head=head, root=root)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as err:
        raise UsageError(
            f"`{folder}` holds no receipts of the open bench: {err!r}.", hint=output.command("open-bench", "--help")
        ) from err
    if as_json:
        output.document("open-bench-verification", agrees=not wrong, wrong=wrong)
    else:
        for words in wrong:
            output.line(output.safe(words))
        if not wrong:
            output.line("All of it is so: receipts, promise and figures.")
    if wrong:
        raise typer.Exit(1)


def _page_of(to: Path, receipts: set[str]) -> Path:
    """Return the page that goes with a folder of receipts.

    Raises:
        UsageError: when the folder has no name, or it or the page is there and is somebody else's.
    """
    if to.name in {"", ".."}:
        raise UsageError(f"`{to}` has no name that a page could have.", hint="--to results")
    path = to.with_suffix(".md")
    is_ours = (to / BENCH).is_file()
    if to.is_dir() and not is_ours and {file.name for file in to.iterdir()} - receipts:
        raise UsageError(f"`{to}` is there, and holds no receipts.", hint=f"--to {quoted(f'{to}-receipts')}")
    if os.path.lexists(path) and not (is_ours and path.is_file()):
        raise UsageError(f"`{path}` is there, and is no page of `{to}`.", hint=f"--to {quoted(f'{to}-receipts')}")
    return path


def _known(size: str) -> None:
    if size not in SIZES:
        raise UsageError(f"There is no size `{size}`.{did_you_mean(size, SIZES)}", hint=f"--size {next(iter(SIZES))}")


def _promised(keep: Path) -> Registration:
    try:
        return read(keep / PROMISE)
    except TraceBenchError as err:
        raise UsageError(str(err), hint=output.command("open-bench", "promise", "--keep", keep)) from err
