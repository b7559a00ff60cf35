"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from tracebench_core.specs import Budget

ConfigFile: TypeAlias = Annotated[Path, typer.Option("--config", metavar="FILE", help="A run config, YAML or JSON.")]
Root: TypeAlias = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="A folder with tasks of your own; `SUITE=DIR` for one suite alone."),
]
Bench: TypeAlias = Annotated[
    str | None,
    typer.Option("--bench", "--dataset-name", metavar="SUITES", help="Only these suites: `a,b` or `a+b`."),
]
RunsDir: TypeAlias = Annotated[
    str | None, typer.Option("--runs-dir", "--output-dir", metavar="DIR", help="Where runs are kept.  [default: runs]")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Columns: TypeAlias = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="Only these columns of the tables, in this order.")
]
Overrides: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change a field of the config, as in `-o llm.model=x`."),
]
MaxWorkers: TypeAlias = Annotated[
    int | None, typer.Option("--max-workers", "--n-concurrent", min=0, metavar="N", help="Jobs at a time.")
]
ExecutorName: TypeAlias = Annotated[
    str | None, typer.Option("--executor", metavar="NAME", help="Where jobs run: an executor that is installed.")
]
MaxEvaluations: TypeAlias = Annotated[int | None, typer.Option(min=0, metavar="N", help="At most N evaluations.")]
MaxCalls: TypeAlias = Annotated[int | None, typer.Option(min=0, metavar="N", help="At most N model calls.")]
MaxTokens: TypeAlias = Annotated[int | None, typer.Option(min=0, metavar="N", help="At most N tokens.")]
MaxUsd: TypeAlias = Annotated[float | None, typer.Option(min=0, metavar="USD", help="At most this much money.")]
MaxSeconds: TypeAlias = Annotated[float | None, typer.Option(min=0, metavar="S", help="At most this long.")]


def budget_of(**caps: float | None) -> Budget:
    """Return the budget that the `--max-…` options mean."""
    from tracebench_core.specs import Budget

    return Budget.model_validate(caps)


def suite_names(bench: str | None) -> list[str]:
    """Return the suites that `--bench` names; none when it is absent."""
    return [name for name in (bench or "").replace("+", ",").split(",") if name.strip()]
