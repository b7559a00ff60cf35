"""`trace-bench mcp`: serve plan, validate, run, watch, compare and explain to an agent, under a cap that only the person sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_engine.api.console.options import Root
from tracebench_open.operator.study import ALLOWED

app = typer.Typer(help="Serve an agent that compares trainers, under a cap.", rich_markup_mode=None)
MOST_PRICES = 2


@app.callback(invoke_without_command=True)
def mcp(
    *,
    max_usd: Annotated[float, typer.Option(min=0, metavar="USD", help="All that may be spent, whatever is asked for.")],
    model: Annotated[list[str], typer.Option(metavar="NAME", help="A model that may be asked. May be given often.")],
    runs_dir: Annotated[Path, typer.Option(metavar="DIR", help="A folder for these runs and for what was spent.")],
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PROMPT,COMPLETION", help="USD per million tokens of a model that has no known price."
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Where all of these models are asked.")] = None,
    api_key_env: Annotated[str | None, typer.Option(metavar="NAME", help="The variable that holds the key.")] = None,
    trainer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further trainer that may be used, such as an agent's.")
    ] = None,
    root: Root = None,
) -> None:
    """Serve on standard input and output. What runs spend counts in DIR, so that a second start allows nothing more."""
    try:
        from tracebench_open.operator.server import Operator, serve  # noqa: PLC0415 - needs the SDK
    except ModuleNotFoundError as err:
        if (err.name or "").partition(".")[0] != "mcp":
            raise
        raise MissingRequirementError(
            "`trace-bench mcp` needs the SDK of the Model Context Protocol.", hint="pip install 'tracebench-open[mcp]'"
        ) from err
    if not 0 < max_usd < float("inf"):
        raise UsageError("`--max-usd` has to be above 0 and finite.", hint="--max-usd 5")
    serve(
        Operator(
            runs_dir,
            usd=max_usd,
            models=_models(model, price or [], base_url, api_key_env),
            trainers=[*ALLOWED, *(trainer or ())],
            root=root,
        )
    )


def _models(names: list[str], prices: list[str], base_url: str | None, key: str | None) -> dict[str, dict[str, Any]]:
    """Return by name how each model is asked, and at which price."""
    given = {}
    for text in prices:
        name, _, amounts = text.rpartition("=")
        try:
            found = [float(x) for x in amounts.split(",")]
        except ValueError:
            found = []
        if name not in names or len(found) != MOST_PRICES or not all(0 <= x < float("inf") for x in found):
            raise UsageError(f"`{text}` is no price of a model that is given.", hint="--price NAME=PROMPT,COMPLETION")
        given[name] = {"prompt": found[0], "completion": found[1]}
    told: dict[str, dict[str, Any]] = {}
    for name in names:
        settings = {"model": name, "base_url": base_url, "api_key_env": key}
        told[name] = {k: v for k, v in settings.items() if v is not None}
        if name in given:
            told[name]["prices"] = {name: given[name]}
    return told
