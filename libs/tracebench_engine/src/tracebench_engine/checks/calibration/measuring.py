"""Measure a task's cases, each as any candidate: by the evaluation service, in the sandbox, scored by the guide."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any

from tracebench_core.errors import ModelError, PluginError
from tracebench_core.ids import canonical_json, did_you_mean
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import (
    Calibration,
    CalibrationKind,
    CaseVerdict,
    Completion,
    Endpoint,
    Feedback,
    Message,
    Role,
)
from tracebench_engine.checks.calibration.cases import candidate_of, cases_of
from tracebench_engine.checks.calibration.verdicts import Seen, judge, seen_of
from tracebench_engine.job.workbench import Workbench, open_workbench
from tracebench_engine.measure.models import Models, NoModels
from tracebench_gateway.access import Phase

NAME = "calibration"
"""Of the model that is said to have answered."""


class Replies(NoModels):
    """Answers with the reply to the example that is being measured; without one, `beyond` is asked."""

    def __init__(self, beyond: Models | None = None) -> None:
        self._beyond = beyond or NoModels()
        self._replies: Mapping[str, str | tuple[str, ...]] = {}
        self._example = ""

    def say(self, replies: Mapping[str, str | tuple[str, ...]], *, example: str) -> None:
        """Take the replies of a case, and the example that is measured next."""
        self._replies, self._example = replies, example

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Return what the case says."""
        if not self._replies:
            return self._beyond.complete(messages, role=role, phase=phase, n=n, **sampling)
        text = self._replies.get(self._example, self._replies.get(""))
        if text is None:
            raise ModelError(f"The case has no reply for example `{self._example}`.", kind="replay_miss")
        if not isinstance(text, str):  # so many of them were said in this dialogue before
            text = text[min(sum(message["role"] == "assistant" for message in messages), len(text) - 1)]
        return [Completion(text=text, model=NAME)] * n

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the address of `beyond`: replies have none."""
        if self._replies:
            raise ModelError("The replies of a case have no address.", kind="refused")
        return self._beyond.endpoint(role, phase=phase)


Told = Callable[[str], None]
BenchOf = Callable[[Calibration | None], Workbench]


def calibrate(
    host: PluginHost,
    task_id: str,
    *,
    eval_kwargs: Mapping[str, Any] | None = None,
    kinds: Collection[CalibrationKind] = (),
    seed: int = 0,
    models: Models | None = None,
    tell: Told = lambda _name: None,
) -> list[CaseVerdict]:
    """Measure a task's cases, or those of some kinds with the ones that they are compared with, and return a verdict on each.

    Cases that are measured several times take turns, so that what changes on the machine meanwhile strikes all of them. `tell` hears the
    name of each case before it is measured for the first time.

    Raises:
        PluginError: when the cases do not fit together or name an example that is not there.
        MissingRequirementError: when the machine lacks what the task needs.
    """
    replies = Replies(models)
    with ExitStack() as stack:
        benches: dict[bytes, Workbench] = {}

        def bench_of(case: Calibration | None) -> Workbench:
            """Return where a case is measured: a workbench for each of the settings that cases ask for."""
            own = {} if case is None else case.options
            key = canonical_json(own)
            if key not in benches:
                settings = {**(eval_kwargs or {}), **own}
                bench = open_workbench(host, task_id, eval_kwargs=settings, seed=seed, models=replies)
                benches[key] = stack.enter_context(bench)
            return benches[key]

        offered = cases_of(host, task_id, bench_of(None).opened)
        cases = {case.name: case for case in offered}
        wanted = [case for case in offered if not kinds or case.kind in kinds]
        chosen = _with_those_compared(wanted, cases)
        _refuse_unknown_examples(chosen, bench_of, task_id)
        seen = _measured(bench_of, chosen, replies, task_id, tell)
        start = _start(bench_of(None), chosen, replies)
        return [judge(case, cases, seen, start) for case in wanted]


def _with_those_compared(wanted: Sequence[Calibration], cases: Mapping[str, Calibration]) -> list[Calibration]:
    names = {case.name for case in wanted} | {case.other for case in wanted if case.other}
    if any(case.kind == "forged" and case.expected is None and not case.other for case in wanted):
        names |= {case.name for case in cases.values() if case.kind == "gold"}
    return [case for case in cases.values() if case.name in names]


def _refuse_unknown_examples(cases: Sequence[Calibration], bench_of: BenchOf, task_id: str) -> None:
    for case in cases:
        known = [example.id for example in bench_of(case).examples(case.split)]
        named = {*case.examples, *case.replies, *(case.expected if isinstance(case.expected, dict) else ())} - {""}
        for id_ in sorted(named - {*known}):
            near = did_you_mean(id_, known)
            raise PluginError(
                f"Calibration `{case.name}` of `{task_id}` names no example of {case.split}: `{id_}`.{near}"
            )


def _measured(
    bench_of: BenchOf, cases: Sequence[Calibration], replies: Replies, task_id: str, tell: Told
) -> dict[str, Seen]:
    numbers = count(1)
    ids = {case.name: f"c{next(numbers)}" for case in cases}
    values = {case.name: candidate_of(case, task_id) for case in cases}
    times: dict[str, list[tuple[float | None, Mapping[str, Feedback]]]] = {case.name: [] for case in cases}
    for turn in range(max((case.repeats for case in cases), default=0)):
        for case in cases:
            if turn < case.repeats:
                if turn == 0:
                    tell(case.name)
                bench = bench_of(case)
                feedbacks = _once(bench, case, values[case.name], replies, candidate=ids[case.name])
                times[case.name].append((_figure(bench, case, feedbacks), feedbacks))
    return {case.name: seen_of(times[case.name], case.metric, case.noise) for case in cases}


def _once(
    bench: Workbench, case: Calibration, values: Mapping[str, Any], replies: Replies, *, candidate: str
) -> dict[str, Feedback]:
    """Measure a case once; one that scripts its model is measured example by example."""
    if not case.replies:
        replies.say({}, example="")
        results = bench.evaluate(values, split=case.split, name=candidate, only=case.examples, repeat=True)
        return {result.example: result.feedback for result in results}
    found = {}
    for example in bench.examples(case.split):
        scripted = example.id in case.replies or "" in case.replies
        if example.id in case.examples if case.examples else scripted:
            replies.say(case.replies, example=example.id)
            for result in bench.evaluate(values, split=case.split, name=candidate, only=(example.id,), repeat=True):
                found[result.example] = result.feedback
    return found


def _figure(bench: Workbench, case: Calibration, feedbacks: Mapping[str, Feedback]) -> float | None:
    if not case.metric:
        return bench.aggregate([*feedbacks.values()])
    told = [f.metrics[case.metric] for f in feedbacks.values() if f.status == "ok" and case.metric in f.metrics]
    return sum(told) / len(told) if told and len(told) == len(feedbacks) else None


def _start(bench: Workbench, cases: Sequence[Calibration], replies: Replies) -> Seen:
    """Measure the initial candidate, where a forged case has nothing else to be compared with."""
    forged = [c for c in cases if c.kind == "forged" and c.expected is None and not c.other]
    honest = [c for c in cases if c.kind not in {"forged", "refused"}]
    if not forged or honest:
        return Seen((), {}, {})
    plain = Calibration(name="initial", kind="known", expected=0.0, split=forged[0].split, examples=forged[0].examples)
    feedbacks = _once(bench, plain, {}, replies, candidate="initial")
    return seen_of([(None, feedbacks)], "")
