"""All checks by code, and how they are run: by the command `plugins check`, and by the classes for pytest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator

from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import Catalog
from tracebench_core.specs import TrainerSpec
from tracebench_engine.api.checking import About, Check, Finding, Outcome, Skipped, Warned
from tracebench_engine.api.kit.parts import build_optimizer, build_trainer, resolve_settings
from tracebench_testing.checks import calibration_checks, executor_checks, part_checks, plugin_checks, task_checks
from tracebench_testing.checks.plugin import PluginUnderTest
from tracebench_testing.trainer_checks import TRAINER_CHECKS, Subject

Run = Callable[[PluginUnderTest], Iterable[Finding | Skipped | Warned]]


def _trainer_check(code: str) -> Run:
    def run(plugin: PluginUnderTest) -> Iterator[Finding | Skipped]:
        for name, spec in plugin.parts("trainer").items():
            try:
                subject = trainer_subject(plugin, name)
            except TraceBenchError as err:
                yield Skipped(code, str(err), f"trainer {name}")
                continue
            if isinstance(spec, TrainerSpec) and spec.traced_only:
                yield Skipped(code, "it serves traced tasks alone, and the toys are none", f"trainer {name}")
                continue
            for finding in TRAINER_CHECKS[code](subject):
                yield finding._replace(subject=f"trainer {name}")

    return run


def trainer_subject(plugin: PluginUnderTest, name: str) -> Subject:
    """Return a trainer with the settings that it has by default, and its own proposer.

    Raises:
        TraceBenchError: it cannot be built here.
    """
    spec = plugin.host.component("trainer", name)
    if why := Catalog.availability(spec):
        raise TraceBenchError(why)
    settings = resolve_settings(spec, shared={}, own=plugin.options_of(name), where=f"trainer `{name}`")
    build_trainer(plugin.host, name, settings)
    proposer = spec.default_optimizer if isinstance(spec, TrainerSpec) else None
    kwargs = {}
    if proposer is not None:
        kwargs = resolve_settings(plugin.host.component("optimizer", proposer), shared={}, own={}, where=proposer)
    return Subject(
        lambda: build_trainer(plugin.host, name, settings),
        optimizer=None
        if proposer is None
        else (lambda problem: build_optimizer(plugin.host, problem, name=proposer, kwargs=kwargs)),
        improves=not isinstance(spec, TrainerSpec) or spec.searches,
    )


def _check(code: str, about: About, run: Run, *, deep: bool = False) -> Check:
    return Check(code, about, run, inspect.getdoc(run) or "", deep)


def _trainer_checks() -> Iterator[Check]:
    for code, function in TRAINER_CHECKS.items():
        text = (inspect.getdoc(function) or "").partition(": ")[2]
        yield Check(code, "trainer", _trainer_check(code), text[:1].upper() + text[1:], deep=True)


CHECKS: dict[str, Check] = {
    check.code: check
    for check in (
        _check("TB101", "plugin", plugin_checks.check_loads_alone),
        _check("TB102", "plugin", plugin_checks.check_loads_light),
        _check("TB103", "plugin", plugin_checks.check_refs_resolve),
        _check("TB104", "plugin", plugin_checks.check_card),
        _check("TB105", "plugin", plugin_checks.check_bounds),
        _check("TB106", "plugin", plugin_checks.check_keeps_to_itself),
        _check("TB107", "plugin", plugin_checks.check_specs_survive_json),
        _check("TB108", "plugin", plugin_checks.check_index),
        *_trainer_checks(),
        _check("TB301", "task", task_checks.check_starts),
        _check("TB302", "task", task_checks.check_repeats),
        _check("TB303", "task", task_checks.check_repeats_elsewhere),
        _check("TB304", "task", task_checks.check_parallel),
        _check("TB305", "task", task_checks.check_answers),
        _check("TB306", "task", task_checks.check_hostile, deep=True),
        _check("TB307", "task", task_checks.check_metrics),
        _check("TB308", "task", task_checks.check_splits),
        _check("TB309", "task", task_checks.check_leaves_nothing),
        _check("TB311", "task", calibration_checks.check_gold, deep=True),
        _check("TB312", "task", calibration_checks.check_forged_cases, deep=True),
        _check("TB313", "task", calibration_checks.check_cases_pass, deep=True),
        _check("TB314", "task", calibration_checks.check_forgeries, deep=True),
        _check("TB315", "task", calibration_checks.check_stays_inside),
        _check("TB401", "guide", part_checks.check_guide_scores),
        _check("TB402", "guide", part_checks.check_guide_takes_rubbish),
        _check("TB411", "optimizer", part_checks.check_proposals),
        _check("TB412", "optimizer", part_checks.check_proposer_takes_rubbish),
        _check("TB421", "logger", part_checks.check_logger),
        _check("TB431", "environment", part_checks.check_environment, deep=True),
        _check("TB441", "executor", executor_checks.check_same_results),
        _check("TB442", "executor", executor_checks.check_dead_jobs),
        _check("TB443", "executor", executor_checks.check_timeout, deep=True),
        _check("TB444", "executor", executor_checks.check_overlap),
        _check("TB445", "executor", executor_checks.check_cancel),
        _check("TB446", "executor", executor_checks.check_close),
        _check("TB447", "executor", executor_checks.check_lost),
        _check("TB448", "executor", executor_checks.check_schedules, deep=True),
    )
}
"""In the order in which they are asked; each code has a section in docs/reference/checks.md."""


def applies(check: Check, plugin: PluginUnderTest) -> bool:
    """Tell whether the plugin offers what the check is about."""
    if check.about == "plugin":
        return True
    return bool(plugin.tasks if check.about == "task" else plugin.parts(check.about))


def check_plugin(plugin: PluginUnderTest, *, codes: Iterable[str] = ()) -> Iterator[Outcome]:
    """Make the checks that apply to a plugin, and yield what came of each as it is made; a plugin that does not load gets no further.

    A check that raises counts as a finding: whatever comes out of a plugin is the plugin's.
    """
    wanted = {*codes}
    for check in CHECKS.values():
        if (wanted and check.code not in wanted) or (check.deep and not plugin.deep and not wanted):
            continue
        if not applies(check, plugin):
            continue
        outcome = ask(check, plugin)
        yield outcome
        if check.code == "TB101" and outcome.findings:
            return


def ask(check: Check, plugin: PluginUnderTest) -> Outcome:
    """Make one check."""
    said: list[Finding | Skipped | Warned] = []
    try:
        said.extend(check.run(plugin))
    except (Exception, SystemExit) as err:  # noqa: BLE001 - see `check_plugin`
        said.append(Finding(check.code, f"raised {type(err).__name__}: {err}"))
    return Outcome(
        check,
        tuple(s for s in said if isinstance(s, Finding)),
        tuple(s for s in said if isinstance(s, Skipped)),
        tuple(s for s in said if isinstance(s, Warned)),
    )


def reference() -> str:
    """Return the page `docs/reference/checks.md`."""
    lines = [
        "# Conformance checks",
        "",
        "`trace-bench plugins check NAME` makes these checks of an installed plugin; `--deep` makes all of them on all tasks. In pytest, a",
        "class of four lines does the same: see [Write a plugin](../how-to/write-a-plugin.md#6-test-it). Codes keep their meaning.",
        "",
        "| code | about | asks | |",
        "|---|---|---|---|",
        *(
            f"| [{c.code}](#{c.code.lower()}) | {c.about} | {c.title} | {'deep' if c.deep else ''} |"
            for c in CHECKS.values()
        ),
    ]
    for check in CHECKS.values():
        _, _, rest = check.text.partition("\n\n")
        lines += ["", f"## {check.code}", "", f"{check.title}."]
        lines += ["", *rest.splitlines()] if rest else []
        if check.about == "trainer":
            lines += [
                "",
                "The trainer runs in this process, on toys with known solutions and with a rule in place of a model.",
            ]
    return "\n".join(lines) + "\n"
