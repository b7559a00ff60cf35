"""`trace-bench kernelbench …`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Judge kernels for other machines, or fetch the problems.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Judge kernels for other machines, or fetch the problems."""


@app.command()
def fetch(
    folder: Annotated[Path, typer.Argument(help="Where the rows are written: FOLDER/level_<n>.jsonl.")],
    *,
    revision: Annotated[str | None, typer.Option(help="A revision of the data set; its newest when not given.")] = None,
) -> None:
    """Write KernelBench's rows from the hub to a folder, once."""
    from tracebench_kernelbench.modules.hub import fetch_rows  # noqa: PLC0415 - `--help` needs none of it

    counts = fetch_rows(folder, revision)
    typer.echo(f"{sum(counts.values())} problems of {len(counts)} levels in {folder}")
    typer.echo(f"export KERNELBENCH_ROOT={folder.resolve()}")


@app.command()
def models(
    root: Annotated[Path, typer.Argument(help="The server's root: models are prepared in ROOT/models/<name>.")],
    names: Annotated[list[str], typer.Argument(help="Models by the hub's names, such as gpt2.", metavar="NAME...")],
    *,
    revision: Annotated[str | None, typer.Option(help="A revision of the models; their newest when not given.")] = None,
    weights: Annotated[bool, typer.Option(help="Take weights, too; without them they are made from a seed.")] = True,
    kept: Annotated[bool, typer.Option("--kept", help="Ask no hub: write down the sums of what lies there.")] = False,
) -> None:
    """Prepare models for level 4: what they are made of, with its SHA-256 sums."""
    from tracebench_kernelbench.level4.fetching import prepare  # noqa: PLC0415 - `--help` needs none of it

    for name in names:
        typer.echo(prepare(root, name, revision=revision, weights=weights, kept=kept))


@app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond loopback, KERNELBENCH_TOKEN must be set.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 6000,
    devices: Annotated[
        int, typer.Option(min=1, help="Candidates that are judged at a time, each on a core of its own.")
    ] = 1,
    build_seconds: Annotated[
        float,
        typer.Option(min=1, max=600, help="That building a module may take where its request has no `effort`."),
    ] = 240,
    root: Annotated[
        Path | None,
        typer.Option(help="A checkout of KernelBench, or fetched rows: levels without `ref_arch_src` are read there."),
    ] = None,
) -> None:
    """Serve evaluations over HTTP until interrupted."""
    from tracebench_kernelbench.client import TOKEN  # noqa: PLC0415 - `--help` needs none of it
    from tracebench_kernelbench.server.serving import serve as run  # noqa: PLC0415
    from tracebench_kernelbench.settings import SETTINGS  # noqa: PLC0415

    if root is not None:
        SETTINGS.configure({"options": {"root": str(root)}})
    run(
        host,
        port,
        token=os.environ.get(TOKEN) or None,
        devices=devices,
        build_seconds=build_seconds,
        ready=lambda address: typer.echo(f"KernelBench evaluation server at {address}"),
    )


if __name__ == "__main__":
    app()
