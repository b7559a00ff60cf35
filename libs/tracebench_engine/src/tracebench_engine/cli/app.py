"""The `trace-bench` command: its groups, its plugins' commands, and how errors leave it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from tracebench_core.errors import UNUSABLE, UNWRITABLE, MissingRequirementError, TraceBenchError, UsageError, quoted
from tracebench_engine.api.console import output
from tracebench_engine.api.console.exit import code_of, is_watched, leave
from tracebench_engine.api.keyless import begin
from tracebench_engine.cli.announced import announce, announce_plugin
from tracebench_engine.cli.parts import agents, attack, calibrate, doctor, evaluate, init, listing, pythons, regrade
from tracebench_engine.cli.results import compare, export, fsck, recap, report, runs, show, verify
from tracebench_engine.cli.running import config, control, demo, plan, replay, run, validate

BUG = 70
LONGEST_SHOWN = 200
"""Characters of a path that cannot be used."""
GOLDEN_PATH = """Start here:

\b
  trace-bench demo
  trace-bench list-tasks
  trace-bench init config mine.yaml
  trace-bench run --config mine.yaml
  trace-bench show RUN
"""


INTERRUPTED = 130
STARTING = ("run", "resume", "replay")
NOT_BEGUN = "Nothing was begun; the same command begins it."

COMMANDS = "tracebench.commands"
"""Entry-point group of commands that plugins add: each entry is a `typer.Typer`."""

pending = typer.Typer(rich_markup_mode=None)
"""Our own commands; each is built when it is called."""


class LazyGroup(TyperGroup):
    """Builds a command of ours, and imports a plugin's, only when it is called."""

    def __init__(self, **settings: Any) -> None:
        settings["commands"] = {command.name: command for command in announce(pending)}
        super().__init__(**settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options. A flag that is not given is off: typer would ask pydantic what nothing means."""
        options = super().get_params(ctx)
        for option in options:
            if isinstance(option, TyperOption) and option.is_flag and option.default is None:
                option.default = False
        return options

    def list_commands(self, ctx: Any) -> list[str]:  # the context's class is private to typer
        """Return our commands in the order of use, then the plugins' by name."""
        own = super().list_commands(ctx)
        return [*own, *sorted({p.name for p in entry_points(group=COMMANDS)} - {*own})]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; one of a plugin that is not installed is told with the command that installs it."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from tracebench_engine.api.installed.hosting import install_entry_hint

            if hint := install_entry_hint(COMMANDS, args[0]):
                told = f"There is no command `{args[0]}` here: it comes with a plugin that is not installed."
                raise MissingRequirementError(told, hint=hint)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C, of which typer says nothing, is told, with what its notes say of how to go on."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            notes = getattr(err, "__notes__", [])
            begun = [] if notes or ctx.invoked_subcommand not in STARTING else [NOT_BEGUN]
            output.note("\n".join(["interrupted", *map(output.safe, [*notes, *begun])]))
            raise typer.Exit(INTERRUPTED) from None

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; a plugin cannot replace one of ours."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        found = next(iter(entry_points(group=COMMANDS, name=cmd_name)), None)
        return None if found is None else announce_plugin(found)


app = typer.Typer(
    cls=LazyGroup,
    name="trace-bench",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich help page costs 90 ms of imports
    epilog=GOLDEN_PATH,
    context_settings={"help_option_names": ["-h", "--help"]},
)
OWN = (
    *listing.LISTS, validate.validate, plan.plan, evaluate.evaluate, calibrate.calibrate, attack.attack,
    run.run, run.resume, demo.demo, replay.replay,
    control.ps, control.watch, control.pause, control.unpause, control.cancel, control.logs,
    runs.runs, show.show, compare.compare, report.report, verify.verify, recap.recap, regrade.regrade, export.export, fsck.fsck,
    doctor.doctor,
)  # fmt: skip
for _command in OWN:
    pending.command()(_command)
for _module in (listing, config, pythons, agents, init):
    pending.add_typer(_module.group)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if wanted:
        output.line(f"trace-bench {version('tracebench-core')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks. May stand anywhere.")] = False,
) -> None:
    """Compare LLM-as-optimizer algorithms on equal budgets."""
    if context.invoked_subcommand is None:
        output.line(context.get_help())


def program(hand_over: Callable[[], None] = lambda: None) -> None:
    """Run the command line of this process, and leave: an interpreter's last step takes a seventh of a short command's time.

    `hand_over` is called once an interrupt ends the command in words.

    Under a profiler or a debugger, which report after that step, it is not left out.
    """
    try:
        main(hand_over)
    except SystemExit as err:
        if is_watched():
            raise
        leave(code_of(err))


def main(hand_over: Callable[[], None] = lambda: None) -> None:
    """Run the command line of this process and exit with its code; see `program`."""
    arguments = sys.argv[1:]
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in options
    output.open_streams()
    begin()
    try:
        try:
            hand_over()
            app(args=[a for a in options if a != "--debug"] + arguments[len(options) :])
        finally:
            output.flush()
    except KeyboardInterrupt:
        output.note("interrupted")
        raise SystemExit(INTERRUPTED) from None
    except TraceBenchError as err:
        if debug:
            traceback.print_exc()
        output.note(f"error: {output.safe(str(err))}")
        if err.hint:
            output.note(f"  hint: {output.safe(err.hint)}")
        raise SystemExit(err.exit_code) from None
    except Exception as err:  # noqa: BLE001 - the last one: whatever comes here is ours, but for what a disk refuses
        if debug:
            traceback.print_exc()
        if isinstance(err, OSError) and err.errno in UNWRITABLE:
            where = err.filename or "a file"
            output.note(f"error: {output.safe(f'`{where}` cannot be written: {err.strerror}')}.\n  hint: df -h")
            raise SystemExit(UsageError.exit_code) from None
        if isinstance(err, OSError) and err.errno in UNUSABLE and isinstance(err.filename, str):
            where, look = _shortened(err.filename), quoted(_nearest(Path(err.filename)))
            output.note(
                f"error: {output.safe(f'`{where}` cannot be used: {err.strerror}')}.\n  hint: ls -ld {output.safe(look)}"
            )
            raise SystemExit(UsageError.exit_code) from None
        output.note(f"internal error: {output.safe(f'{type(err).__name__}: {err}')}")
        if not debug:
            output.note(
                "  hint: repeat it with --debug and report what that prints, together with `trace-bench doctor`."
            )
        raise SystemExit(BUG) from None


def _shortened(path: str) -> str:
    return path if len(path) <= LONGEST_SHOWN else f"{path[: LONGEST_SHOWN // 2]}…{path[-LONGEST_SHOWN // 2 :]}"


def _nearest(path: Path) -> Path:
    """Return the nearest folder above a path that can be looked at."""
    for folder in path.absolute().parents:
        try:
            folder.lstat()
        except OSError:
            continue
        return folder
    return Path("/")
