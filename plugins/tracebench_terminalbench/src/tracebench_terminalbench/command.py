"""`trace-bench images`: prepare the images of terminal tasks before they are needed, see what they take, and remove them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, ConfigFile, Overrides, Root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tracebench_terminalbench.catalog import Case
    from tracebench_terminalbench.oci.images import Store
    from tracebench_terminalbench.options import Options

FAILED = 1
SUITE = "terminal_bench"
_MB = 1_000_000
app = typer.Typer(
    help="Prepare images of terminal tasks, which need no Docker.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
Keys = Annotated[list[str], typer.Argument(metavar="KEY…", help="Keys that `images list` shows.")]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of one task's image."""

    task: str
    ready: bool
    seconds: float
    words: str
    """Where its files are, or why they are not."""


@app.command()
def prepare(*, config: ConfigFile, root: Root = None, override: Overrides = None, as_json: AsJson = False) -> None:
    """Fetch, build and unpack the image of each task of a config. Exits with 1 where one cannot be had; the others are prepared."""
    found = []
    for made in _prepared(config, root, override or []):
        found.append(made)
        if not as_json:
            state = "OK" if made.ready else "FAIL"
            output.prose(f"[{state}] {made.task}: {made.words} ({made.seconds:.1f} s)", is_data=True)
    if as_json:
        rows = [
            {"task": made.task, "ready": made.ready, "seconds": made.seconds, "words": made.words} for made in found
        ]
        output.document("images-prepared", images=rows)
    elif not found:
        output.note("No task of this config has `harbor_env: oci` and a folder on disk: no image is needed beforehand.")
    if not all(made.ready for made in found):
        raise typer.Exit(FAILED)


@app.command("list")
def list_all(*, as_json: AsJson = False) -> None:
    """List the images that are unpacked here."""
    found = _store().kept()
    for image in found:
        if image.damaged:
            hint = output.command("images", "remove", image.key)
            output.note(f"The `image.json` of `{image.key}` is damaged; remove it:  {hint}")
    if as_json:
        rows = [{"key": image.key, "name": image.name, "bytes": image.bytes} for image in found]
        output.document("images", images=rows)
        return
    output.table(("key", "MB", "of"), [(image.key, f"{image.bytes / _MB:,.0f}", image.name) for image in found])


@app.command()
def remove(keys: Keys) -> None:
    """Remove images; the next trial that needs one prepares it again. Exits with 1 where a sandbox runs on one."""
    from tracebench_core.errors import UsageError  # noqa: PLC0415 - every command imports this module for its help

    store = _store()
    known = {image.key for image in store.kept()}
    if unknown := [key for key in keys if key not in known]:
        raise UsageError(f"There is no image `{unknown[0]}`.", hint=output.command("images", "list"))
    used = [key for key in keys if not store.remove(key)]
    for key in used:
        output.note(f"`{key}` stays: a sandbox runs on it.")
    if used:
        raise typer.Exit(FAILED)


def _prepared(config: Path, root: Path | None, override: list[str]) -> Iterator[Prepared]:
    from tracebench_terminalbench.oci.mapped import MappedError  # noqa: PLC0415 - every command imports this module
    from tracebench_terminalbench.oci.needed import needed_images, prepare_agent  # noqa: PLC0415

    for name, options, cases in _tasks(config, root, override):
        begun = time.monotonic()
        try:
            for image in needed_images(options, cases):
                begun = time.monotonic()
                place = image.prepare()
                prepare_agent(options)
                yield Prepared(name, ready=True, seconds=time.monotonic() - begun, words=str(place))
        except (MappedError, OSError) as err:
            yield Prepared(name, ready=False, seconds=time.monotonic() - begun, words=str(err))


def _tasks(config: Path, root: Path | None, override: list[str]) -> Iterator[tuple[str, Options, list[Case]]]:
    """Yield the tasks of this suite in a config, each once for its options: name, options, and what its examples run."""
    from tracebench_engine import api  # noqa: PLC0415 - every command imports this module for its help
    from tracebench_engine.api.configs import load_config, placing  # noqa: PLC0415
    from tracebench_terminalbench.loading import build  # noqa: PLC0415

    settings = load_config(config, overrides=override)
    with placing(config, overrides=override):
        host = api.open_host(root=root, plugins=settings.plugins)
        jobs = api.plan(settings, root=root, host=host).jobs
    for name, given in dict.fromkeys((job.task_id, json.dumps(job.eval_kwargs, sort_keys=True)) for job in jobs):
        suite, _, own = name.partition(":")
        if suite == SUITE:
            task = build(own, **json.loads(given))
            cases = [example.input for examples in task.splits.values() for example in examples]
            yield name, task.options, cases


def _store() -> Store:
    from tracebench_terminalbench.oci.needed import store_of  # noqa: PLC0415 - every command imports this module
    from tracebench_terminalbench.options import Options  # noqa: PLC0415

    return store_of(Options())
