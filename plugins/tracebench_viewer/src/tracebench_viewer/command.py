"""`trace-bench ui`: check what can be checked in words, then serve. Importing this costs nothing: `--help` needs no Streamlit."""

from __future__ import annotations

import secrets
import shlex
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import MissingRequirementError, RunDirError, UsageError
from tracebench_engine.api.console import output
from tracebench_viewer.gatekeeper import LOOPBACK
from tracebench_viewer.settings import ViewerSettings

DEFAULT_PORT = 8501
PORTS_TRIED = 20
app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def ui(
    *,
    runs_dir: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are kept.")] = Path("runs"),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, metavar="N", help="[default: the first free from 8501]")
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, too, by the token in the printed address.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show, and let nobody launch or steer a run.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    share: Annotated[bool, typer.Option("--share", hidden=True)] = False,
) -> None:
    """Look at runs in a browser. Ends with Ctrl-C; runs that it launched go on."""
    if share:
        raise UsageError(
            "The viewer publishes nothing: no address outside of this machine is opened.",
            hint="share a file instead: trace-bench report RUN -o report.html",
        )
    _demand_streamlit()
    _demand_folder(runs_dir)
    _demand_leave(host, allow_remote=allow_remote)
    chosen = _free_port(host, port)

    from tracebench_viewer.server import serve  # noqa: PLC0415 - Streamlit takes two seconds

    settings = ViewerSettings(runs_dir=str(runs_dir.resolve()), read_only=read_only)
    serve(
        settings, host=host, port=chosen, token=secrets.token_urlsafe(24), opens_browser=not no_browser, say=output.line
    )


def _demand_streamlit() -> None:
    missing = next((name for name in ("streamlit", "altair") if find_spec(name) is None), None)
    if missing is not None:
        raise MissingRequirementError(
            f"The viewer needs `{missing}`, which is not installed.", hint="pip install 'tracebench-engine[ui]'"
        )


def _demand_folder(runs_dir: Path) -> None:
    if not runs_dir.is_dir():
        what = "is no folder" if runs_dir.exists() else "does not exist"
        raise RunDirError(f"`{runs_dir}` {what}.", hint="trace-bench ui --runs-dir DIR")
    try:
        next(runs_dir.iterdir(), None)
    except OSError as err:
        raise RunDirError(
            f"`{runs_dir}` cannot be read: {err.strerror}.", hint=shlex.join(["ls", "-ld", str(runs_dir)])
        ) from err


def _demand_leave(host: str, *, allow_remote: bool) -> None:
    if host not in LOOPBACK and not allow_remote:
        raise UsageError(
            f"`--host {host}` would let other machines look at your runs and launch new ones.",
            hint=f"trace-bench ui --host {host} --allow-remote   (by its token), or: ssh -L 8501:localhost:8501 THIS_MACHINE",
        )


def _free_port(host: str, wanted: int | None) -> int:
    if wanted is not None:
        if not _is_free(host, wanted):
            other = next((p for p in range(wanted + 1, min(wanted + PORTS_TRIED, 65535)) if _is_free(host, p)), None)
            hint = "trace-bench ui" if other is None else f"trace-bench ui --port {other}"
            raise UsageError(f"Port {wanted} of {host} is taken, or is not yours to take.", hint=hint)
        return wanted
    found = next((p for p in range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if _is_free(host, p)), None)
    if found is None:
        raise UsageError(
            f"No port of {host} from {DEFAULT_PORT} to {DEFAULT_PORT + PORTS_TRIED - 1} is free.",
            hint="trace-bench ui --port N",
        )
    return found


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror as err:
            raise UsageError(
                f"`{host}` is no address of this machine.", hint="trace-bench ui --host 127.0.0.1"
            ) from err
        except OSError:
            return False
    return True
