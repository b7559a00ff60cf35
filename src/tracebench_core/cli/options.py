"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ConfigFile: TypeAlias = Annotated[Path, typer.Option("--config", metavar="FILE", help="A run config, YAML or JSON.")]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="A folder with tasks of your own, for suites that read one."),
]
Bench: TypeAlias = Annotated[
    str | None,
    typer.Option("--bench", "--dataset-name", metavar="SUITES", help="Only these suites: `a,b` or `a+b`."),
]
RunsDir: TypeAlias = Annotated[
    str | None, typer.Option("--runs-dir", "--output-dir", metavar="DIR", help="Where runs are kept.  [default: runs]")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Overrides: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change a field of the config, as in `-o llm.model=x`."),
]
MaxWorkers: TypeAlias = Annotated[
    int | None, typer.Option("--max-workers", "--n-concurrent", min=0, metavar="N", help="Jobs at a time.")
]


def suite_names(bench: str | None) -> list[str]:
    """Return the suites that `--bench` names; none when it is absent."""
    return [name for name in (bench or "").replace("+", ",").split(",") if name.strip()]
