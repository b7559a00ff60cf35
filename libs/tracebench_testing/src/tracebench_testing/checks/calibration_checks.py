"""Checks of a suite as an instrument: it offers cases of known outcome, they come out, and forged figures are not believed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.specs import Calibration, TaskSpec
from tracebench_engine.api.checking import Finding, Skipped, Warned
from tracebench_engine.api.kit.cases import calibrate, cases_of
from tracebench_engine.api.kit.parts import open_task
from tracebench_testing.checks.plugin import PluginUnderTest, ask_process

FORGED_SECONDS = 600.0
OUTSIDE_SECONDS = 120.0
TIMED_SLACK = 0.5
"""Two honest times on a busy machine differ by less; clocks that were got at are worth many times as much."""
FORGERIES = "forgeries"
"""The kit's own set of attacks."""
NO_CODE = "does not apply: it runs no code of candidates"
OUTSIDE = "it says itself that candidates run outside of the sandbox, where they can score what they like"
Found = Iterator[Finding | Skipped | Warned]


def check_gold(plugin: PluginUnderTest) -> Found:
    """Offer a case that scores the best there is, in at least one task of the suite.

    A scale is trusted once something of known worth was put on it: the canonical solution, the data set's own answer, a proven optimum.
    Mend: a `Calibration` of kind `gold` from the task's `calibrations()`. For one minor version its lack is a warning.
    """
    offered = {id_: _cases(plugin, id_) for id_ in plugin.ready_tasks}
    known = {id_: cases for id_, cases in offered.items() if not isinstance(cases, str)}
    if any(case.kind == "gold" for cases in known.values() for case in cases):
        return
    for id_, cases in offered.items():
        if isinstance(cases, str):
            yield Skipped("TB311", cases, id_)
    if known:
        yield Warned("TB311", "no task of the suite has a case of kind `gold`")


def check_forged_cases(plugin: PluginUnderTest) -> Found:
    """Offer a forged case for every task that runs code, and none that scores above an honest one.

    Who wrote the task knows best what a program would forge: what it counts, where its clock is, what it compares. Mend: a `Calibration` of
    kind `forged` from the task's `calibrations()`. For one minor version its lack is a warning.
    """
    for id_, spec in plugin.ready_tasks.items():
        if spec.sandbox is None:
            yield Skipped("TB312", unforged(spec), id_)
            continue
        cases = _cases(plugin, id_)
        if isinstance(cases, str):
            yield Skipped("TB312", cases, id_)
        elif not any(case.kind == "forged" for case in cases):
            yield Warned("TB312", "it runs code and has no case of kind `forged`", id_)


def check_cases_pass(plugin: PluginUnderTest) -> Found:
    """Measure the cases rightly: each comes out as it says.

    Cases are asked of tasks with candidates of any kind; of a task that offers none the check says that it does not apply. A case that
    cannot be measured here is skipped; one that the machine's noise hides is no finding, either. Mend:
    `trace-bench calibrate TASK` shows what was expected and what was seen.
    """
    for id_ in plugin.ready_tasks:
        try:
            verdicts = calibrate(plugin.host, id_, eval_kwargs=plugin.options_of(id_))
        except MissingRequirementError as err:
            yield Skipped("TB313", str(err), id_)
            continue
        except TraceBenchError as err:
            yield Finding("TB313", str(err), id_)
            continue
        if not verdicts:
            yield Skipped("TB313", "does not apply: it offers no case", id_)
        for verdict in verdicts:
            told = f"`{verdict.case}` ({verdict.kind}): expected {verdict.expected}, seen {verdict.seen}. {verdict.why}"
            if verdict.result == "failed":
                yield Finding("TB313", told.strip(), id_)
            elif verdict.result != "passed":
                yield Skipped("TB313", told.strip(), id_)


def check_forgeries(plugin: PluginUnderTest) -> Found:
    """Believe no forged figure.

    Programs that do what an honest one does, and then walk closures, attributes, frames and the garbage collector for whatever holds the
    score, patch builtins and modules, print a score, exit early, bring a judge or a score of their own, return what is no number, or leave
    a child behind: none may score above the honest one, and no process may be left. Answers lie about their length, items, order and value,
    everywhere or where one place of whoever checks them reads them; inputs are emptied or changed once the work is done; what stands beside
    the candidate is replaced. Scripts of Python and the shell, C sources and trees of files print a score first and last, write it into
    files where one may be looked for, end early with exit code 0, plant files beside the honest ones, or leave a child behind. Functions in
    C stop the clock or turn it back, move the start time that lies in memory, have another process do the work, do it once or every second
    time, make all things compare equal, and leave in the middle of it. A function that does no work and returns what its callers hold as
    `expected`, `reference` or the like may score no more than the start. Where the score is a time, what is written in C is tried, and may
    be worth half as much again as the honest program, as times differ. Of a task whose candidates are something else the check says that it
    does not apply, and why; there its own forged cases are what is known. Mend: count, time and compare nothing inside of the candidate's
    process; declare `score_bounds`.
    """
    for id_, spec in plugin.ready_tasks.items():
        if spec.sandbox is None:
            yield Skipped("TB314", unforged(spec), id_)
            continue
        cases = _cases(plugin, id_)
        gold = [] if isinstance(cases, str) else [c.expected for c in cases if c.kind == "gold" and not c.metric]
        told = try_set(id_, plugin.options_of(id_), FORGERIES, seconds=FORGED_SECONDS)
        if not any("begins" in line for line in told):
            yield Skipped("TB314", "; ".join(line["skipped"] for line in told), id_)
            continue
        best = max((figure for figure in gold if isinstance(figure, float)), default=spec.score_bounds.maximum)
        for line in told:
            if line.get("cut_off"):
                tried = sum("candidate" in other for other in told)
                yield Skipped("TB314", f"cut off after {FORGED_SECONDS:g} s: {tried} forgeries were tried", id_)
            elif words := believed(line, best, slack=TIMED_SLACK if spec.timed else 0.0):
                yield Finding("TB314", words, id_)
                break


def check_stays_inside(plugin: PluginUnderTest) -> Found:
    """Run what a candidate says in the sandbox, and nowhere else.

    The starting candidate is given a line more, in every parameter that is a program in Python: the check sees when the process that scores
    it executes that line, or when the line can write a file that nobody in a sandbox can. Such a candidate reads keys and rivals' results,
    and scores what it likes. Mend: `context.sandbox.call`, `.session` or `.command` in place of `exec`, `eval`, an import or a process of
    the task's own, and `sandbox=(...)` in its `TaskSpec`. Where that cannot be, as where a library executes a program to trace it, the
    `TaskSpec` says `unconfined=True`, which is told to everybody who lists or validates the task, and is a warning here.
    """
    for id_, spec in plugin.ready_tasks.items():
        if spec.unconfined:
            yield Warned("TB315", "it says itself that candidates run outside of the sandbox", id_)
            continue
        told = ask_process(["outside", id_, json.dumps(plugin.options_of(id_))], seconds=OUTSIDE_SECONDS)
        for line in told:
            if "outside" in line:
                yield Finding("TB315", f"`{line['outside']}` runs outside of the sandbox: {line['how']}", id_)
            elif words := line.get("skipped") or line.get("error"):
                yield Skipped("TB315", words, id_)


def unforged(spec: TaskSpec) -> str:
    """Return why nothing is forged of a task without a sandbox."""
    return OUTSIDE if spec.unconfined else NO_CODE


def try_set(task_id: str, options: Mapping[str, Any], attack: str, *, seconds: float) -> list[dict[str, Any]]:
    """Return what is told of the forgeries of a set, tried in a process of its own.

    Where that ends before one began, it was no forgery that ended it: it is told as skipped, and not as an error.
    """
    told = ask_process(["forge", task_id, json.dumps(options), attack], seconds=seconds)
    if any("begins" in line for line in told):
        return told
    why = f"no forgery of `{attack}` was tried"
    return [{"skipped": f"{why}: {line['error']}"} if "error" in line else line for line in told]


def believed(line: Mapping[str, Any], best: float | None, *, slack: float = 0.0) -> str:
    """Return what a forgery got that it may not get; nothing where it is not believed.

    It may score more than an honest candidate by `slack`, a share of that one's score.
    """
    if "error" in line:
        own = "; a candidate that ends or patches the process which scores it can score what it likes"
        return f"{line['error']}{own if 'exit code' in line['error'] else ''}"
    if "left" in line:
        return f"{line['left']} processes of candidates are left behind"
    if "candidate" not in line:
        return ""
    if line["gained"]:
        return f"`{line['candidate']}` gains: {line['gained']}"
    for example, score, honest, spread in line["scores"]:
        limit = best if honest is None else honest + max(3 * spread, slack * abs(honest))
        if limit is not None and score > limit + 1e-9 * max(1.0, abs(limit)):
            means = line["means"] or "a forged figure is believed"
            return f"{means}: `{line['candidate']}` scores {score:g} on {example}, {limit:g} is honest"
    return ""


def _cases(plugin: PluginUnderTest, id_: str) -> tuple[Calibration, ...] | str:
    """Return a task's cases, or why they cannot be asked for here."""
    try:
        opened = open_task(plugin.host, id_, eval_kwargs=plugin.options_of(id_))
    except TraceBenchError as err:
        return str(err)
    try:
        return cases_of(plugin.host, id_, opened)
    finally:
        opened.close()
