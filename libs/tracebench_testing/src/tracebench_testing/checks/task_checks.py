"""Checks of a suite's tasks: they measure, they repeat themselves, and nothing that a candidate does upsets them."""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Example, ExampleResult, Feedback, Split, TaskSpec, Values
from tracebench_engine.api.checking import Finding, Skipped
from tracebench_engine.api.evaluating import open_workbench
from tracebench_engine.api.kit.jobs import split_data
from tracebench_engine.api.kit.parts import open_task
from tracebench_testing.answering import FakeModel
from tracebench_testing.checks.plugin import PluginUnderTest, ask_process

MOST_EXAMPLES = 3
LONGEST_TEXT = 100_000
HOSTILE_SECONDS = 240.0
SCORE_SECONDS = 120.0
Found = Iterator[Finding | Skipped]


def check_starts(plugin: PluginUnderTest) -> Found:
    """Measure the starting candidate: a finite score on train and on validation.

    What a task comes with must work, or nothing can be compared with it. Where no model is at hand, one answers that says nothing; a task
    that asks it must say so, for a run whose trainers ask none has none for it either. Mend: `trace-bench evaluate TASK` shows each
    example's feedback; set `TaskSpec.uses_model`.
    """
    for id_ in plugin.ready_tasks:
        model = FakeModel("")
        try:
            results = measure(plugin, id_, {}, splits=("train", "validation"), model=model)
        except MissingRequirementError as err:
            yield Skipped("TB301", str(err), id_)
            continue
        except TraceBenchError as err:
            yield Finding("TB301", str(err), id_)
            continue
        if model.records() and not plugin.tasks[id_].uses_model:
            yield Finding("TB301", "it asks a model, and its spec does not say so: a run of `NoOp` alone has none", id_)
            continue
        for result in results:
            feedback = result.feedback
            if feedback.status == "not_measured":
                yield Skipped("TB301", f"it cannot be measured here: {feedback.text:.200}", id_)
                break
            if feedback.status != "ok" and not plugin.tasks[id_].uses_model:
                yield Finding("TB301", f"{result.example}: its start is `{feedback.status}`: {feedback.text:.200}", id_)
                break


def check_repeats(plugin: PluginUnderTest) -> Found:
    """Score the same candidate equally under the same seed, twice.

    Chance comes from `context.seed` alone; a task that is scored by time says `timed=True`. Mend: seed every generator from it, and
    keep no state between evaluations.
    """
    for id_ in plugin.ready_tasks:
        first, second = (_feedbacks(plugin, id_) for _ in range(2))
        if isinstance(first, str):
            yield Skipped("TB302", first, id_)
        elif isinstance(second, str):
            yield Finding("TB302", f"it can be evaluated once, and not again: {second}", id_)
        elif first != second:
            yield Finding("TB302", f"two evaluations with one seed differ: {_difference(first, second)}", id_)


def check_repeats_elsewhere(plugin: PluginUnderTest) -> Found:
    """Score the same candidate equally in another process.

    Jobs run in processes of their own. What differs there depends on something that no seed covers, such as the order of a set or an
    address in memory. Mend: sort what is iterated, and take chance from `context.seed`.
    """
    for id_ in plugin.ready_tasks:
        here = _feedbacks(plugin, id_)
        if isinstance(here, str):
            yield Skipped("TB303", here, id_)
            continue
        told = ask_process(["score", id_, json.dumps(plugin.options_of(id_))], seconds=SCORE_SECONDS)
        if words := told[-1].get("error"):
            yield Finding("TB303", f"another process could not evaluate it: {words}", id_)
            continue
        names = {plugin.tasks[id_].metric, *(o.metric for o in plugin.tasks[id_].objectives)}
        there = {line["example"]: compared(line["feedback"], names) for line in told}
        if {e: f for e, f in here.items() if e in there} != there:
            yield Finding("TB303", f"another process scores differently: {_difference(here, there)}", id_)


def check_parallel(plugin: PluginUnderTest) -> Found:
    """Score the same whether evaluations run one at a time or side by side.

    `eval_workers` may change nothing but time. Mend: share nothing between evaluations; use `context.workdir` for files.
    """
    for id_ in plugin.ready_tasks:
        one, four = (_feedbacks(plugin, id_, workers=n) for n in (1, 4))
        if isinstance(one, str):
            yield Skipped("TB304", one, id_)
        elif isinstance(four, str):
            yield Finding("TB304", f"four evaluations at a time fail: {four}", id_)
        elif one != four:
            yield Finding("TB304", f"four evaluations at a time score differently: {_difference(one, four)}", id_)


def check_answers(plugin: PluginUnderTest) -> Found:
    """Ship answers that are better than the start, or none.

    `TaskSpec.answers` names a few assignments of known quality, the worst first; the last one has to beat the starting candidate. They
    let a task be shown offline and prove that it can be improved. A task without the field says that there is none. Mend: evaluate them
    with `trace-bench evaluate TASK FILE`.
    """
    for id_, spec in plugin.ready_tasks.items():
        if spec.answers is None:
            continue
        try:
            start = _mean(plugin, id_, {})
            scores = [_mean(plugin, id_, values) for values in shipped_answers(spec, plugin.options_of(id_))]
        except TraceBenchError as err:
            yield Finding("TB305", str(err), id_)
            continue
        words = ", ".join("none" if s is None else f"{s:.4g}" for s in scores)
        if not scores or scores[-1] is None or (start is not None and scores[-1] <= start):
            yield Finding("TB305", f"its last answer does not beat the start ({start}): {words or 'no answer'}", id_)
        elif [s for s in scores if s is None] or sorted(scores) != scores:  # type: ignore[type-var]  # none is None here
            yield Finding("TB305", f"its answers are not in order, the worst first: {words}", id_)


def check_hostile(plugin: PluginUnderTest) -> Found:
    """Give every hostile candidate a status, and survive it.

    Code that loops, exits, recurses, prints without end or returns rubbish; empty and huge texts; numbers at their bounds. Each is
    evaluated in a process of its own, and must end as `ok` with a finite score, `invalid`, `timeout` or `error`. Mend: run what a model
    wrote through `context.sandbox`, with limits, and raise `EvaluationFailed` for what cannot be scored.
    """
    for id_ in plugin.ready_tasks:
        told = ask_process(["hostile", id_, json.dumps(plugin.options_of(id_))], seconds=HOSTILE_SECONDS)
        begun = [line["begins"] for line in told if "begins" in line]
        for line in told:
            if line.get("status") == "not_measured":
                yield Skipped("TB306", f"`{line['candidate']}` cannot be measured here", id_)
            elif line.get("text", 0) > LONGEST_TEXT:
                yield Finding("TB306", f"`{line['candidate']}` gets a feedback of {line['text']:,} characters", id_)
            elif "error" in line:
                yield Finding("TB306", f"`{begun[-1] if begun else 'opening it'}`: {line['error']}", id_)


def check_metrics(plugin: PluginUnderTest) -> Found:
    """Give the metrics and the range that the spec declares.

    Every `ok` feedback holds the declared objectives, and the metric where it is not the score; a score is never below `worst_score`, and
    a feedback says something in words. Mend: put the values into `Feedback.metrics`, and what to improve into `Feedback.text`.
    """
    for id_, spec in plugin.ready_tasks.items():
        try:
            results = measure(plugin, id_, {})
        except TraceBenchError as err:
            yield Skipped("TB307", str(err), id_)
            continue
        wanted = {o.metric for o in spec.objectives} or ({spec.metric} - {"score"})
        for result in results:
            feedback = result.feedback
            if feedback.status != "ok":
                continue
            if lacking := sorted(wanted - {*feedback.metrics}):
                yield Finding("TB307", f"{result.example}: its feedback lacks the metric {lacking[0]!r}", id_)
            elif not all(math.isfinite(v) for v in feedback.metrics.values()):
                yield Finding("TB307", f"{result.example}: a metric is not finite: {feedback.metrics}", id_)
            elif spec.worst_score is not None and feedback.score < spec.worst_score:
                yield Finding("TB307", f"{result.example}: {feedback.score:g} is below `worst_score`", id_)
            elif not feedback.text.strip():
                yield Finding("TB307", f"{result.example}: its feedback has no text to learn from", id_)
            else:
                continue
            break


def check_splits(plugin: PluginUnderTest) -> Found:
    """Keep the test split apart from train by content.

    Ids may differ and contents be the same: a candidate would then be judged by what it was made from. Mend: give each example to one
    split; a task of one problem without data has a single example, whose input is None.
    """
    for id_ in plugin.ready_tasks:
        try:
            opened = open_task(plugin.host, id_, eval_kwargs=plugin.options_of(id_))
        except MissingRequirementError as err:
            yield Skipped("TB308", str(err), id_)
            continue
        except TraceBenchError as err:
            yield Finding("TB308", str(err), id_)
            continue
        try:
            seen = {_content(e): e.id for e in opened.task.splits.get("train", ()) if e.input is not None}
            shared = [(seen[c], e.id) for e in opened.test if (c := _content(e)) in seen]
        finally:
            opened.close()
        if shared:
            yield Finding("TB308", f"test example {shared[0][1]} has the content of train example {shared[0][0]}", id_)


def check_leaves_nothing(plugin: PluginUnderTest) -> Found:
    """Leave the process as it was: the folder, the candidate's values, the threads.

    Many evaluations share a process. Mend: copy what is changed, pass folders instead of `os.chdir`, and end threads in `close`.
    """
    for id_ in plugin.ready_tasks:
        threads = {*threading.enumerate()}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                with open_workbench(
                    plugin.host, id_, eval_kwargs=plugin.options_of(id_), models=FakeModel("")
                ) as bench:
                    values = bench.complete({})
                    before = json.dumps(values, sort_keys=True)
                    next(iter(bench.evaluate(values, split="train")))
                    after = json.dumps(values, sort_keys=True)
            except TraceBenchError as err:
                yield Skipped("TB309", str(err), id_)
                continue
            moved = _here() != Path(folder).resolve()
        if moved:
            yield Finding("TB309", "an evaluation leaves the process in another folder", id_)
        if before != after:
            yield Finding("TB309", "an evaluation changes the candidate's values", id_)
        left = [t.name for t in threading.enumerate() if t not in threads and t.is_alive() and not t.daemon]
        if left:
            yield Finding("TB309", f"a thread goes on after the task is closed: {left[0]}", id_)


def _here() -> Path | None:
    """Return the current folder; None where it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def measure(
    plugin: PluginUnderTest,
    id_: str,
    values: Mapping[str, Any],
    *,
    splits: tuple[Split, ...] = ("train",),
    workers: int = 1,
    model: FakeModel | None = None,
) -> list[ExampleResult]:
    """Return the results of a few examples of each split, in a freshly opened task."""
    with (
        contextlib.chdir("."),
        open_workbench(
            plugin.host, id_, eval_kwargs=plugin.options_of(id_), models=model or FakeModel(""), workers=workers
        ) as bench,
    ):
        return [
            result
            for split in splits
            for _, result in zip(
                range(MOST_EXAMPLES), bench.evaluate(values, split=split, most=MOST_EXAMPLES), strict=False
            )
        ]


def shipped_answers(spec: TaskSpec, options: Mapping[str, Any]) -> list[Values]:
    """Return the answers of known quality that a task ships, the worst first; empty when it ships none."""
    if spec.answers is None:
        return []
    return [dict(values) for values in load_ref(spec.answers, owner=spec.name)(dict(options))]


def _feedbacks(plugin: PluginUnderTest, id_: str, *, workers: int = 1) -> dict[str, dict[str, Any]] | str:
    """Return what each example got, or why that cannot be compared."""
    if plugin.tasks[id_].timed:
        return "its score is a time, which no seed covers"
    try:
        results = measure(plugin, id_, {}, workers=workers)
    except TraceBenchError as err:
        return str(err)
    told = {plugin.tasks[id_].metric, *(o.metric for o in plugin.tasks[id_].objectives)}
    return {r.example: compared(r.feedback.model_dump(mode="json"), told) for r in results}


def compared(feedback: Mapping[str, Any], told: set[str]) -> dict[str, Any]:
    """Return what two evaluations have to agree on: status, score and the declared metrics."""
    metrics = {name: value for name, value in feedback["metrics"].items() if name in told}
    return {"status": feedback["status"], "score": feedback["score"], "metrics": metrics}


def _difference(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> str:
    for example, feedback in one.items():
        for field, value in feedback.items():
            if (there := other.get(example, {}).get(field)) != value:
                return f"{example}: {field} {value!s:.80} and {there!s:.80}"
    return "other examples"


def _mean(plugin: PluginUnderTest, id_: str, values: Mapping[str, Any]) -> float | None:
    with (
        contextlib.chdir("."),
        open_workbench(plugin.host, id_, eval_kwargs=plugin.options_of(id_), models=FakeModel("")) as bench,
    ):
        feedbacks: list[Feedback] = [r.feedback for r in bench.evaluate(values, split="train")]
        return bench.aggregate(feedbacks)


def _content(example: Example) -> str:
    """Return what an example is beside its id: by its data, as `repr` leaves most of an array out; else as it is shown."""
    return split_data([example.model_copy(update={"id": ""})]).sha256 or repr((example.input, example.reference))
