"""The server: tools by which an agent goes from a question to a verdict. Each is the command of the same name, started as a process."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_engine.api.records import RunLayout, holder_of, load_run
from tracebench_open.operator.allowance import Allowance
from tracebench_open.operator.leash import RELEASED
from tracebench_open.operator.study import Study, config_of

PATIENCE = 300.0
LONGEST_WATCH = 60.0
CUT_OFF = "cut off"
ABOUT = """\
Compares LLM-as-optimizer algorithms on tasks, under a spending cap that a person set when this server was started and that no request can
raise. Ask `offer` first, then `plan` and `validate` a study, `run` it, `watch` it until it has ended, then `compare` and `explain`. A
difference that is `not resolved` is not a finding: say so."""


class Operator:
    """What the tools share: who may be asked, what may be spent, and where runs are."""

    def __init__(
        self,
        folder: Path,
        *,
        usd: float,
        models: Mapping[str, Mapping[str, Any]],
        trainers: Sequence[str],
        root: Path | None,
    ) -> None:
        self.folder = folder.resolve()
        self.models, self.trainers, self.root = models, trainers, root
        self.allowance = Allowance(self.folder, usd)
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def offer(self) -> dict[str, Any]:
        """Say which models and trainers may be used, how tasks are listed, and how much of what was allowed is left."""
        told = self.allowance.told()
        for run, one in told["runs"].items():
            one["state"] = self._state(run)
        cut_off = [run for run, one in told["runs"].items() if one["state"] == CUT_OFF]
        return {
            "models": [*self.models],
            "trainers": [*self.trainers],
            **told,
            "remarks": [_words_of(run, told["runs"][run]) for run in cut_off],
            "tasks": self._tasks(),
        }

    def plan(self, study: Study) -> dict[str, Any]:
        """Estimate calls, tokens, USD and minutes of a study, and what its seeds can tell. Asks no model."""
        return self._about("plan", study)

    def validate(self, study: Study) -> dict[str, Any]:
        """Check whether a study would start: names, options, budgets, requirements. Asks no model."""
        return self._about("validate", study)

    def run(self, study: Study, usd: float) -> dict[str, Any]:
        """Start a study that may spend at most `usd`, or what is left of what the person allowed where that is less. Returns at once."""
        if not usd > 0:
            raise UsageError("`usd` has to be above 0.")
        run_id = f"study-{secrets.token_hex(4)}"
        config_of(study, models=self.models, trainers=self.trainers, run_id=run_id, usd=usd, runs_dir=str(self.folder))
        share = self.allowance.draw(run_id, usd)
        config = self._written(study, run_id, share)
        log = self.folder / f"{run_id}.log"
        with log.open("wb") as out:
            self._started[run_id] = subprocess.Popen(  # noqa: S603 - this program
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "tracebench_open.operator.leash",
                    *self._command("run", "--config", str(config)),
                ],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        return {"run": run_id, "share_usd": share, "left_usd": self.allowance.left()}

    def watch(self, run: str, seconds: float = 20.0) -> dict[str, Any]:
        """Wait until a run has ended, `seconds` at most (60), and say how far it is."""
        folder = self._run(run)
        process = self._started.get(run)
        if process is not None and process.poll() is not None and not folder.exists():
            self.allowance.give_back(run)
            raise UsageError((self.folder / f"{run}.log").read_text(encoding="utf-8", errors="replace")[-2000:])
        until = time.monotonic() + max(0.0, min(LONGEST_WATCH, seconds))
        while not self._has_ended(folder) and time.monotonic() < until and (process is None or process.poll() is None):
            time.sleep(0.2)
        log = self.folder / f"{run}.log"
        return {
            "run": run,
            "ended": self._has_ended(folder),
            "lately": log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:] if log.is_file() else [],
            "left_usd": self.allowance.left(),
        }

    def compare(self, runs: list[str]) -> dict[str, Any]:
        """Say which trainer is better over some runs, by how much and how sure: verdict, means and paired differences with intervals."""
        return self._json("compare", *[str(self._run(run)) for run in runs], "--json")

    def explain(self, run: str) -> dict[str, Any]:
        """Say what a run's verdict stands on in sentences: what was seen, what it cost, what is not resolved, and what would settle it."""
        told = self._json("compare", str(self._run(run)), "--json")
        means = [
            f"{row['entrant']}: {row['mean']['estimate']} [{row['mean']['low']}, {row['mean']['high']}] over {row['n']} jobs, "
            f"{row['use']['usd']} USD a job"
            for row in told["leaderboard"]
        ]
        pairs = [
            f"{p['one']} minus {p['other']}: {d['estimate']} [{d['low']}, {d['high']}], {p['verdict']}"
            for p in told["pairs"]
            for d in [p["difference"]]
        ]
        spent = self.allowance.told()["runs"].get(run)
        return {key: told[key] for key in ("verdict", "next_step", "remarks")} | {
            "means": means,
            "pairs": pairs,
            "spent": spent,
        }

    def cancel(self, run: str) -> dict[str, Any]:
        """End a run early; what it has measured is kept."""
        return {"said": self._said("cancel", str(self._run(run)), "--reason", "asked by the operator")}

    def _has_ended(self, folder: Path) -> bool:
        return (folder / "summary.json").is_file() and holder_of(RunLayout(folder)) is None

    def release(self) -> None:
        """Let every run that is under way go on without this server."""
        for process in self._started.values():
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.write(RELEASED)
                    process.stdin.close()

    def _state(self, run: str) -> str:
        """Tell whether a run is under way, has ended, or was cut off before its last job."""
        folder = self.folder / run
        if holder_of(RunLayout(folder)) is not None:
            return "under way"
        try:
            found = load_run(folder)
        except (TraceBenchError, OSError):
            return CUT_OFF
        return CUT_OFF if any(r.status == "not_run" for r in found.results.values()) else "ended"

    def _about(self, command: str, study: Study) -> dict[str, Any]:
        usd = self.allowance.left()
        name = f"asked-{secrets.token_hex(4)}"
        config = self._written(study, name, max(usd, 1e-9))
        try:
            where = [str(config)] if command == "plan" else ["--config", str(config)]
            return self._json(command, *where, "--json", may_fail=True)
        finally:
            config.unlink(missing_ok=True)

    def _written(self, study: Study, name: str, usd: float) -> Path:
        config = config_of(
            study, models=self.models, trainers=self.trainers, run_id=name, usd=usd, runs_dir=str(self.folder)
        )
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        return path

    def _run(self, run: str) -> Path:
        if run not in self.allowance.told()["runs"]:
            raise UsageError(f"There is no run `{run[:80]}` of this server.")
        return self.folder / run

    def _tasks(self) -> list[str]:
        return self._said("list-tasks", *(["--root", str(self.root)] if self.root else [])).splitlines()

    def _command(self, *words: str) -> list[str]:
        root = ["--root", str(self.root)] if self.root and words[0] in {"run", "plan", "validate"} else []
        return [sys.executable, "-P", "-m", "tracebench_engine.cli", *words, *root]

    def _said(self, *words: str, may_fail: bool = False) -> str:
        done = subprocess.run(  # noqa: S603 - this program
            self._command(*words),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode and not (may_fail and done.stdout):
            raise UsageError(done.stderr.strip()[-2000:] or f"`{words[0]}` ended with {done.returncode}.")
        return done.stdout

    def _json(self, *words: str, may_fail: bool = False) -> dict[str, Any]:
        lines = self._said(*words, may_fail=may_fail).strip().splitlines()
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return found


def _words_of(run: str, told: Mapping[str, Any]) -> str:
    """Return what became of a run that was cut off."""
    counted = f"{told['counted']:.6f} of its {told['share']:g} USD count as spent"
    return f"Run `{run}` was cut off, by `cancel` or because the server that started it was killed: {counted}."


def _in_words(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a tool whose refusals reach the agent as sentences, with what to do."""

    @wraps(tool)
    def answered(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return tool(*given, **named)
        except TraceBenchError as err:
            raise ToolError(f"{err} {err.hint or ''}".strip()) from err
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as err:
            raise ToolError(f"{type(err).__name__}: {err}") from err

    return answered


class _Server(MCPServer):
    """The SDK's server; what it refuses of a tool's arguments is told field by field."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool.

        Raises:
            ToolError: as the SDK does.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as err:
            if isinstance(err.__cause__, ValidationError):
                raise ToolError(" ".join(dict.fromkeys(_refusals(err.__cause__, name)))) from err
            raise


def _refusals(err: ValidationError, tool: str) -> Iterator[str]:
    for error in err.errors(include_url=False, include_context=False):
        field = ".".join(map(str, error["loc"]))
        if error["type"] == "missing":
            yield f"`{tool}` needs `{field}`."
        elif error["type"] == "extra_forbidden":
            yield f"`{tool}` has no field `{field}`."
        else:
            yield f"`{field}` of `{tool}`: {' '.join(error['msg'].split())}."


def serve(operator: Operator) -> None:
    """Serve on standard input and output until the client leaves; then runs that it started go on under their own caps.

    Where the server is killed they end with it.
    """
    server = _Server("trace-bench", instructions=ABOUT)
    for tool in (
        operator.offer, operator.plan, operator.validate, operator.run, operator.watch, operator.compare, operator.explain, operator.cancel,
    ):  # fmt: skip
        server.add_tool(_in_words(tool))
    os.chdir(operator.folder)
    with suppress(TraceBenchError):  # a client that left in the middle of an answer
        server.run("stdio")
    operator.release()
