"""`config schema`, `config show` and `config upgrade`: what a config may say, what one says in full, and what an older one says today."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import OutputError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Overrides
from tracebench_engine.api.console.writing import put_new

group = typer.Typer(
    name="config", no_args_is_help=True, rich_markup_mode=None, help="Show what a config may say, or says."
)


@group.command()
def schema() -> None:
    """Print the JSON Schema of run configs."""
    import json

    from tracebench_engine.api.configs import config_schema

    output.line(json.dumps(config_schema(), indent=2, ensure_ascii=False))


@group.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run config, YAML or JSON.")],
    *,
    override: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Print a config in full. One spelling for everything, defaults filled in."""
    from tracebench_engine.api.configs import dump_config, load_config

    config = load_config(file, overrides=override or ())
    if as_json:
        output.document("config", config=config.model_dump(mode="json"))
    else:
        output.line(dump_config(config).rstrip())


@group.command("upgrade")
def upgrade_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A config of an earlier bench, or of promptfoo.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="NEW", help="Where the config goes.  [default: standard output]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn an older config into one of today. Says line by line what became of each field. Exits with 1 when some is left to you."""
    from tracebench_engine.api.installed.hosting import open_host
    from tracebench_engine.api.installed.upgrading import upgrade

    text, rows = upgrade(file, open_host())
    if out is not None:
        try:
            put_new(out, text.encode())
        except OSError as err:
            hint = output.command("config", "upgrade", file, "-o", out.with_name(f"{out.stem}-new{out.suffix}"))
            raise OutputError(f"`{out}` cannot be written: {err.strerror}.", hint=hint) from err
    if as_json:
        output.document("upgrade", config=text, fields=[row._asdict() for row in rows])
    elif out is None:
        output.line(text.rstrip())
    for row in rows:
        if row.words:
            where = "" if row.line is None else f"line {row.line}: "
            name = f"`{row.field}`{': ' if row.words.startswith('`') else ' '}" if row.field else ""
            output.note(output.safe(f"{'! ' if row.is_open else '  '}{where}{name}{row.words}"))
    same = sum(not row.words for row in rows)
    left = sum(row.is_open for row in rows)
    output.note(f"As they were: {same}. Left to you, marked with `!`: {left}.")
    if out is not None and not left:
        output.note(f"Next:  {output.command('validate', '--config', out)}")
    raise typer.Exit(1 if left else 0)
