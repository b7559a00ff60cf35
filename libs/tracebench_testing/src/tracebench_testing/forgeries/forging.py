"""Try the forgeries of one set of attacks on one task, beside the honest candidates that they may not outscore."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from tracebench_core.plugins import load_ref
from tracebench_core.specs import Feedback, Values
from tracebench_engine.api.evaluating import Workbench, breach, open_workbench
from tracebench_engine.api.installed.hosting import open_host
from tracebench_testing.answering import FakeModel
from tracebench_testing.attacks import Forgery, Target
from tracebench_testing.checks.task_checks import shipped_answers

SEVERAL = 3
"""Examples that a forgery meets."""
Say = Callable[[Mapping[str, Any]], None]


def try_forgeries(task_id: str, options: Mapping[str, Any], attack: str, *, say: Say) -> None:
    """Evaluate the forgeries of a set of attacks, and say what came of each as it comes.

    Raises:
        UsageError: no plugin offers such a set.
    """
    host = open_host()
    spec = host.component("attack", attack)
    with open_workbench(host, task_id, eval_kwargs=options, models=FakeModel("")) as bench:
        honest = bench.complete((shipped_answers(bench.spec, options) or [{}])[-1])
        target = Target(task_id, bench.parameters, honest, bench.spec.metric, is_timed=bench.spec.timed)
        scores = _Honest(bench)
        forged: Iterator[Forgery | str] = load_ref(spec.loader, owner=f"the attacks `{attack}`")(target)
        with closing(forged):  # type: ignore[type-var]  # a generator
            for number, forgery in enumerate(forged):
                if isinstance(forgery, str):
                    say({"skipped": forgery})
                elif not scores.of(honest):
                    say({"skipped": "no honest candidate is scored here"})
                    return
                elif found := breach(bench.parameters, forgery.values):
                    say({"skipped": f"`{forgery.name}`: {found}"})
                else:
                    say({"begins": forgery.name})
                    say(_tried(bench, forgery, scores, name=f"f{number}"))


def _tried(bench: Workbench, forgery: Forgery, scores: _Honest, *, name: str) -> dict[str, Any]:
    beside: dict[str, float] = {}
    spread: dict[str, float] = {}
    for values in _rivals(forgery):
        full = bench.complete(values)
        for id_, score in scores.of(full).items():
            beside[id_] = max(score, beside.get(id_, score))
            spread[id_] = max(scores.spread(full)[id_], spread.get(id_, 0.0))
    feedbacks = _feedbacks(bench, forgery.values, name)
    told = [
        [id_, feedback.score, beside.get(id_), spread.get(id_, 0.0)]
        for id_, feedback in feedbacks.items()
        if feedback.status == "ok"
    ]
    gained = forgery.gained([*feedbacks.values()]) if forgery.gained is not None else ""
    return (
        {"candidate": forgery.name, "scores": told, "gained": gained, "means": forgery.means}
        if forgery.is_attack
        else {}
    )


def _rivals(forgery: Forgery) -> list[Values]:
    """Return what a forgery may not outscore, the initial candidate among it."""
    beside = forgery.no_more_than
    if beside is None:
        return []
    return [{}, beside] if isinstance(beside, Mapping) else [{}, *beside]


class _Honest:
    """What honest candidates score, each measured twice, once for all."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._found: dict[str, tuple[dict[str, float], dict[str, float]]] = {}

    def of(self, values: Values) -> Mapping[str, float]:
        """Return the higher score of two, by example; none of an example on which it has no score."""
        first, again = self._twice(values)
        return {id_: max(score, again.get(id_, score)) for id_, score in first.items()}

    def spread(self, values: Values) -> Mapping[str, float]:
        """Return how far the two are apart."""
        first, again = self._twice(values)
        return {id_: abs(score - again.get(id_, score)) for id_, score in first.items()}

    def _twice(self, values: Values) -> tuple[dict[str, float], dict[str, float]]:
        key = json.dumps(values, sort_keys=True, default=repr)
        if key not in self._found:
            name = f"h{len(self._found)}"
            first, again = (_scores(_feedbacks(self._bench, values, name, repeat=twice)) for twice in (False, True))
            self._found[key] = first, again
        return self._found[key]


def _scores(feedbacks: Mapping[str, Feedback]) -> dict[str, float]:
    return {id_: feedback.score for id_, feedback in feedbacks.items() if feedback.status == "ok"}


def _feedbacks(bench: Workbench, values: Values, name: str, *, repeat: bool = False) -> dict[str, Feedback]:
    results = bench.evaluate(values, split="train", name=name, most=SEVERAL, repeat=repeat)
    return {result.example: result.feedback for result in results}
