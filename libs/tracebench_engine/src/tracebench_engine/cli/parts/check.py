"""`plugins check`: whether a plugin keeps what plugins promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Root

if TYPE_CHECKING:
    from tracebench_engine.api.checking import Outcome

FAILED = 1


def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A plugin, as `trace-bench plugins` names it.")],
    *,
    deep: Annotated[
        bool, typer.Option("--deep", help="All tasks, hostile candidates, and what else takes long.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="A task or part to look at; may be given again.")
    ] = None,
    code: Annotated[
        list[str] | None, typer.Option("--code", metavar="TBnnn", help="A check to make; may be given again.")
    ] = None,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Check a plugin against the rules for plugins. Prints a line for each check and each finding; exits 1 when one fails."""
    from tracebench_core.errors import UsageError
    from tracebench_core.ids import did_you_mean
    from tracebench_engine.api import checking

    codes, known = [c.upper() for c in code or ()], checking.checks()
    for unknown in (c for c in codes if c not in known):
        raise UsageError(
            f"There is no check `{unknown}`.{did_you_mean(unknown, known)}", hint="trace-bench plugins checks"
        )
    outcomes = []
    for outcome in checking.check_plugin(name, deep=deep, only=only or (), codes=codes, root=root):
        outcomes.append(outcome)
        if not as_json:
            _print(outcome)
    failed = [o for o in outcomes if o.findings]
    if as_json:
        output.document("plugin-check", plugin=name, ok=not failed, checks=[_row(o) for o in outcomes])
    else:
        output.note(_conclusion(outcomes, failed, deep=deep, name=name))
    if failed:
        raise typer.Exit(FAILED)


def checks(*, as_json: AsJson = False) -> None:
    """List the checks by code."""
    from tracebench_engine.api import checking

    rows = [(c.code, c.about, "deep" if c.deep else "", c.title) for c in checking.checks().values()]
    if as_json:
        listed = [
            dict(zip(("code", "about", "deep", "asks"), row, strict=True)) | {"deep": bool(row[2])} for row in rows
        ]
        output.document("checks", checks=listed)
    else:
        output.table(("code", "about", "", "asks"), rows)


def _print(outcome: Outcome) -> None:
    check_ = outcome.check
    level = "FAIL" if outcome.findings else "WARN" if outcome.warned else "SKIP" if outcome.skipped else "OK"
    output.line(f"[{level}] {check_.code} {check_.about}: {check_.title}")
    said = [(f.subject, f.message) for f in outcome.findings] + [(w.subject, w.message) for w in outcome.warned]
    said += [(s.subject, s.reason) for s in outcome.skipped]
    for subject, words in said:
        output.line(output.safe(f"    {subject + ': ' if subject else ''}{words}"))


def _row(outcome: Outcome) -> dict[str, object]:
    return {
        "code": outcome.check.code,
        "about": outcome.check.about,
        "asks": outcome.check.title,
        "ok": not outcome.findings,
        "findings": [{"subject": f.subject, "message": f.message} for f in outcome.findings],
        "warned": [{"subject": w.subject, "message": w.message} for w in outcome.warned],
        "skipped": [{"subject": s.subject, "reason": s.reason} for s in outcome.skipped],
    }


def _conclusion(outcomes: list[Outcome], failed: list[Outcome], *, deep: bool, name: str) -> str:
    if failed:
        return f"{len(failed)} of {len(outcomes)} checks failed; docs/reference/checks.md says how to mend each."
    held = f"{len(outcomes)} checks, none failed."
    return (
        held if deep else f"{held} All tasks and the slow checks:  {output.command('plugins', 'check', name, '--deep')}"
    )
