"""`config schema` and `config show`: what a config may say, and what one says in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Overrides


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show what a config may say, or says.")
    group.command()(schema)
    group.command(name="show")(show)
    app.add_typer(group, name="config")


def schema() -> None:
    """Print the JSON Schema of run configs."""
    import json

    from tracebench_engine.api.configs import config_schema

    output.line(json.dumps(config_schema(), indent=2, ensure_ascii=False))


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run config, YAML or JSON.")],
    *,
    override: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Print a config as it is understood: one spelling for everything, defaults filled in."""
    from tracebench_engine.api.configs import dump_config, load_config

    config = load_config(file, overrides=override or ())
    if as_json:
        output.document("config", config=config.model_dump(mode="json"))
    else:
        output.line(dump_config(config).rstrip())
