"""`trace-bench fields`: commit to a release's secret, check it, and look at a field's best candidate."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_engine.api.console import output
from tracebench_engine.api.console.writing import put_new
from tracebench_fields.drawing import Drawing, draw
from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Size
from tracebench_fields.releases import OPEN, commitment_of, known, new_secret, secret_of

app = typer.Typer(
    help="Manage secrets of fields, or print the best of one.", no_args_is_help=True, rich_markup_mode=None
)
Release = Annotated[str, typer.Argument(help="The release's name.")]


@app.command()
def commit(
    release: Release, *, to: Annotated[Path, typer.Option(help="A folder of your own for `RELEASE.secret`.")]
) -> None:
    """Draw a secret, and print what to publish beforehand. It is kept in a file that only you can read."""
    if release == OPEN or not re.fullmatch(r"\w[\w.-]*", release):
        raise UsageError(
            f"`{release}` cannot be the name of a release: letters, digits, `_`, `.` and `-`, and not `{OPEN}`.",
            hint=shlex.join(["trace-bench", "fields", "commit", "spring-2027", "--to", str(to)]),
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(
            f"`{to}` is no folder and cannot become one: {err.strerror}.", hint="--to <a folder of your own>"
        ) from err
    path = to / f"{release}.secret"
    secret = new_secret()
    try:
        put_new(path, f"{secret}\n".encode("ascii"), private=True)
    except FileExistsError as err:
        raise UsageError(
            f"`{path}` is there already; a secret is never drawn twice.", hint=shlex.join(["ls", "-l", str(path)])
        ) from err
    output.line(json.dumps({release: {"commitment": commitment_of(secret), "secret": None}}))
    output.note(f"Kept in {path}. Enter the line into releases.json, and publish it.")


@app.command()
def verify(release: Release) -> None:
    """Check a secret against what was published."""
    commitment = commitment_of(secret_of(release))
    if known().get(release, {}).get("commitment") != commitment:
        raise UsageError(
            f"Release `{release}` was not committed to: nothing stands in releases.json.",
        )
    output.line(f"{release}: the secret is the one that was committed to, {commitment}")


@app.command()
def optimum(
    family: Annotated[str, typer.Argument(help=f"One of {', '.join(FAMILIES)}.")],
    *,
    release: str = OPEN,
    instance: int = 0,
    size: Size = "medium",
    deception: float = 0.25,
) -> None:
    """Print the best candidate of a field. As `trace-bench evaluate` takes it."""
    if family not in FAMILIES:
        raise UsageError(
            f"There is no family `{family}`.{did_you_mean(family, FAMILIES)}",
            hint="trace-bench list-tasks --bench fields",
        )
    if instance < 0 or not 0 <= deception <= 1:
        raise UsageError(
            f"No task has `instance: {instance}` and `deception: {deception:g}`: the one begins at 0, the other lies between 0 and 1.",
            hint=f"trace-bench fields optimum {family} --instance 0 --deception 0.25",
        )
    field = draw(Drawing(family, release, instance, size, deception))
    output.line(json.dumps(field.optimum, ensure_ascii=False, indent=2))
