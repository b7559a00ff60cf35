"""`trace-bench open-bench claims`: public claims asked again from their authors' own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson
from tracebench_engine.api.console.writing import put
from tracebench_open.claims import page as shown
from tracebench_open.claims import register as registers

app = typer.Typer(
    help="Ask public claims again, from their authors' own files.", no_args_is_help=True, rich_markup_mode=None
)
Registered = Annotated[
    Path | None, typer.Option("--register", metavar="FILE", help="Claims and rules; left out, the shipped ones.")
]


@app.command(name="list")
def listed(*, register: Registered = None, as_json: AsJson = False) -> None:
    """List the claims, their rules and the head that fixes them."""
    found = registers.read(register)
    if as_json:
        output.document("claims", head=found.head(), **found.model_dump(mode="json"))
        return
    for claim in found.claim:
        output.line(output.safe(f"{claim.id}  {claim.by}: {claim.said or claim.asked}"))
    output.note(f"{len(found.claim)} claims and questions. Head: {found.head()}")


@app.command()
def repeat(
    *,
    root: Annotated[Path, typer.Option(metavar="DIR", help="Clones, as OWNER+NAME each.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="Where figures are kept; what is there is not asked again.")],
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="One claim; may be given often.")] = None,
    python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Python with the libraries of the authors' programs.")
    ] = None,
    register: Registered = None,
) -> None:
    """Measure each claim. What cannot be had is said and left out.

    Exits with 1 where a file is not the one that is pinned.
    """
    from tracebench_open.claims import results  # noqa: PLC0415 - the other commands need less
    from tracebench_open.claims.cage import Cage  # noqa: PLC0415 - as above
    from tracebench_open.claims.trees import Trees  # noqa: PLC0415 - as above

    found = registers.read(register)
    known = [claim.id for claim in found.claim]
    for name in only or ():
        if name not in known:
            raise UsageError(f"There is no claim `{name}`.{did_you_mean(name, known)}", hint="--only ID")
    if not root.is_dir():
        raise UsageError(f"`{root}` is no folder.", hint="--root FOLDER")

    def told(claim: registers.Claim, kept: dict[str, Any]) -> None:
        seen = kept["absent"] if "absent" in kept else shown.figure(claim, results.found_of(kept))
        output.line(output.safe(f"{claim.id}: {shown.words_of(claim, kept)}: {seen}"))

    with Cage(python, say=output.note) as cage:
        sound = results.repeat(found, Trees(root, found.sources), cage, to, only=tuple(only or ()), told=told)
    output.note(output.command("open-bench", "claims", "page", to, "--to", "public-claims.md"))
    if not sound:
        raise typer.Exit(1)


@app.command()
def page(
    figures: Annotated[Path, typer.Argument(metavar="FILE", help="What `repeat` has kept.")],
    *,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The page.")],
    register: Registered = None,
) -> None:
    """Write the page. Every verdict is computed from the figures."""
    from tracebench_open.claims import results  # noqa: PLC0415 - the other commands need less

    found = registers.read(register)
    put(to, shown.page(found, results.read(figures, found)).encode())
    output.line(str(to))
