"""`validate`: try a config without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Bench, ConfigFile, Overrides, Root, RunsDir, suite_names
from tracebench_engine.cli.running.reading import config_words, read_config

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig
    from tracebench_engine.api.installed.hosting import PluginHost

FAILED = 1
JOBS_TOLD = 10
"""How many jobs are printed one by one; of the others, only how many they are."""


def validate(
    *,
    config: ConfigFile,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Open every task and measure its initial candidate once, check every setting, expand the matrix: would it run?",
        ),
    ] = False,
    manifest_wanted: Annotated[
        bool,
        typer.Option(
            "--manifest", help="Write the run directory, so that `resume` can run it; nothing is left behind otherwise."
        ),
    ] = False,
    task_timeout: Annotated[
        float,
        typer.Option("--task-timeout", min=0.1, metavar="SECONDS", help="With --strict: how long one task may take."),
    ] = 120.0,
    bench: Bench = None,
    root: Root = None,
    runs_dir: RunsDir = None,
    override: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Check a config without running it. Prints `[OK]`, `[SKIP]`, `[WARN]`, `[EXPECTED]` and `[FAIL]` lines; exits 1 when one fails."""
    import json

    from tracebench_engine import api
    from tracebench_engine.api.configs import placing
    from tracebench_engine.api.running import prepare_run

    changes = [
        *(override or ()),
        *([f"runs_dir={json.dumps(runs_dir, ensure_ascii=False)}"] if runs_dir is not None else []),
    ]
    settings = read_config(config, changes, root=root)
    same = config_words(config, root=root, runs_dir=runs_dir, override=override)
    host = api.open_host(root=root, plugins=settings.plugins)
    if bench is not None:
        settings = _only(host, settings, suite_names(bench))
    failed = False
    checks = []
    jobs = 0
    with placing(config, overrides=changes):
        for check in api.validate(settings, root=root, host=host, strict=strict, task_timeout=task_timeout):
            failed = failed or check.level == "FAIL"
            jobs += check.subject.startswith("job ")
            if as_json:
                checks.append({"level": check.level, "subject": check.subject, "message": check.message})
            elif jobs <= JOBS_TOLD:
                reason = f": {check.message}" if check.message else ""
                output.prose(f"[{check.level}] {check.subject}{reason}", is_data=True)
    if not as_json and (more := jobs - JOBS_TOLD) > 0:
        every = output.command("validate", *same, "--strict", "--json")
        output.prose(f"[OK] and {more:,} more {'job' if more == 1 else 'jobs'}; all of them: {every}", is_data=True)
    manifest = str(prepare_run(settings, root=root, host=host)) if manifest_wanted and not failed else None
    if as_json:
        output.document("validation", ok=not failed, checks=checks, manifest=manifest)
    elif manifest is not None:
        output.line(f"[OK] manifest written: {manifest}")
    if failed:
        output.note(f"Some checks failed. When they are mended:  {output.command('validate', *same)}")
        raise typer.Exit(FAILED)
    output.note(f"Next:  {output.command('run', *same)}")


def _only(host: PluginHost, config: RunConfig, suites: list[str]) -> RunConfig:
    """Return the config with the tasks of some suites alone.

    Raises:
        NothingSelectedError: no task is left.
    """
    from tracebench_core.errors import NothingSelectedError
    from tracebench_engine.api.installed.hosting import resolve_task_ids

    wanted = {id_.partition(":")[0] for suite in suites for id_ in resolve_task_ids(host, f"{suite}:all")}
    kept = [t for t in config.tasks if resolve_task_ids(host, t.id)[0].partition(":")[0] in wanted]
    if not kept:
        raise NothingSelectedError(
            f"The config has no task of {', '.join(f'`{suite}`' for suite in suites)}.", hint="leave `--bench` out"
        )
    return config.model_copy(update={"tasks": tuple(kept)})
