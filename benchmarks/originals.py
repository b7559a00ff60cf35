"""Our trainers beside the originals that they follow, at equal evaluations: `python benchmarks/originals.py [gepa]
[opentrace] [--seeds N] [--fields FIELD …]`.

* `gepa`: `GEPA-Base` and gepa's own `optimize`, both measuring a parent anew on each minibatch. Install it beside: `uv
  pip install gepa==0.1.4`.
* `opentrace`: `PrioritySearch` and OpenTrace's own, with OpenTrace's OptoPrimeV2 as proposer of both. Put a build
  that has `opto.trainer` (the branch `experimental` of github.com/AgentOpt/OpenTrace) first on `PYTHONPATH`.

Both sides run on the engine's own metered problem, with the same seeds, budgets and rule-based teacher; no language
model is asked. Printed are the final scores, the model calls, the paired differences of the scores and the ratio of
the calls, each with its 95 % interval (bootstrap over seeds). What is not installed is left out, with the reason.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from level_fields import build_exam
from trainer_trials import Field, builder
from trainers import Estimate, estimate

from tracebench_core.contracts import Optimizer, Problem, Trainer
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Budget, Evaluation, Example, Values
from tracebench_testing.toys import build_dials, build_number
from tracebench_testing.trials import Trial, run_trial

MINIBATCH = 3
CALLS = 50
"""Of a job in the rows at equal calls."""
TAGGED = re.compile(r'<(?:variable|solution) name="(\w+)" type="float">\s*<value>\s*([-\d.e]+)')
BuildOptimizer = Callable[[Problem], Optimizer]


class Original:
    """gepa's `optimize` on our problem: candidates as texts, evaluation and reflection through the problem."""

    def __init__(self, *, seed: int) -> None:
        self._seed = seed

    def train(self, problem: Problem) -> None:
        """Run until the budget ends."""
        import gepa  # noqa: PLC0415 - an optional library

        adapter = _Adapter(problem)
        gepa.optimize(
            seed_candidate=_texts(problem.initial),
            trainset=[*problem.train],
            valset=[*adapter.frontier],
            adapter=adapter,
            reflection_minibatch_size=MINIBATCH,
            max_metric_calls=10**9,
            raise_on_exception=True,
            seed=self._seed,
            logger=_Silent(),
        )


class _Silent:
    def log(self, *_: object, **__: object) -> None:
        """Say nothing."""


class _Adapter:
    """What gepa asks of a system."""

    propose_new_texts: Any

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._proposer: Any = problem.optimizer()
        self._seen: dict[str, Evaluation] = {}
        pool = [*(problem.validation or problem.train)]
        cap = problem.budget.caps.evaluations or len(pool) * 10
        self.frontier: Sequence[Example] = pool[: min(24, max(cap // 10, MINIBATCH))]
        problem.compare_on(self.frontier)
        self.propose_new_texts = self._propose

    def evaluate(self, batch: Sequence[Example], candidate: Mapping[str, str], capture_traces: bool = False) -> Any:  # noqa: FBT001, FBT002 - gepa's
        """Evaluate a candidate on a batch."""
        from gepa.core.adapter import EvaluationBatch  # noqa: PLC0415

        with self._problem.step():
            evaluation = self._problem.evaluate(_values(candidate), batch)
        self._seen[json.dumps(candidate, sort_keys=True)] = evaluation
        scores = [r.feedback.score for r in evaluation.results]
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=scores if capture_traces else None)

    def make_reflective_dataset(
        self, _candidate: Mapping[str, str], _batch: Any, components: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Return something for each component: the proposer looks at the evaluation itself."""
        return {name: [{"feedback": "see the evaluation"}] for name in components}

    def _propose(self, candidate: Mapping[str, str], _data: Any, components: Sequence[str]) -> dict[str, str]:
        seen = self._seen[json.dumps(candidate, sort_keys=True)]
        found = self._proposer.propose_many([[seen]], only=[*components])[0]
        changed = _texts(found[0]) if found else candidate
        return {name: changed[name] for name in components}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in values.items()}


def _values(texts: Mapping[str, str]) -> Values:
    return {name: json.loads(text) for name, text in texts.items()}


class TaggedTeacher:
    """The level field's teacher for prompts in which variables are tags, as OptoPrimeV2 shows them."""

    def __init__(self, field: Field, *, seed: int) -> None:
        self._field = field
        self._seed = seed

    def __call__(self, prompt: str, call: int) -> str:
        """Return the changed variables as tags."""
        shown = {name: float(value) for name, value in TAGGED.findall(prompt)}
        field, rng = self._field, random.Random(derive_seed(self._seed, "teacher", call))
        names = {p.name: p.name for p in field.toy.task.parameters}
        for name in names:
            names[name] = next((s for s in shown if re.fullmatch(f"{re.escape(name)}\\d+", s)), "")
        values: Values = {name: shown[tag] for name, tag in names.items() if tag}
        draw = rng.random()
        changed = values
        if values and draw < field.improves:
            changed = field.toy.lesson.improve(values, rng)
        elif values and draw < field.improves + field.harms:
            changed = field.toy.lesson.harm(values, rng)
        tags = "".join(
            f"<variable><name>{names[name]}</name><value>{value}</value></variable>"
            for name, value in changed.items()
            if value != values[name]
        )
        return f"<reasoning>A rule.</reasoning>{tags}"


def gepa_side(seeds: int, only: Sequence[str]) -> Iterator[str]:
    """Yield the comparison with gepa."""
    if find_spec("gepa") is None:
        yield "left out: the package gepa is not installed"
        return
    calm, exam = build_dials(validation=24), build_exam()
    equal = (
        Field("dials", calm, calm, Budget(evaluations=600)),
        Field("exam", exam, exam, Budget(evaluations=1500)),
        Field("noisy dials", build_dials(validation=24, noise=1.0), calm, Budget(evaluations=900)),
    )
    asked = [replace(f, title=f"{f.title}, {CALLS} calls", budget=Budget(llm_calls=CALLS)) for f in equal]
    changing = [replace(f, title=f"{f.title}, no empty reply", harms=1 - f.improves) for f in equal]
    for field in chosen((*equal, *asked, *changing), only):
        ours = [field.run(builder("GEPA-Base", cache_evaluation=False, variant="paper"), seed) for seed in range(seeds)]
        theirs = [field.run(lambda seed=seed: Original(seed=seed), seed) for seed in range(seeds)]
        yield row(field, ours, theirs)


def opentrace_side(seeds: int, only: Sequence[str]) -> Iterator[str]:
    """Yield the comparison with OpenTrace's PrioritySearch."""
    from tracebench_opto.discovery.catalogue import discover  # noqa: PLC0415 - opto is optional
    from tracebench_opto.discovery.trainer import DiscoveredTrainer  # noqa: PLC0415
    from tracebench_opto.proposers import builders  # noqa: PLC0415

    found = discover(only="opto:PrioritySearch")
    if not found or found[0].verdict.status != "ok":
        yield f"left out: {found[0].verdict if found else 'the installed opto has no trainers'}"
        return
    calm, number = build_dials(), build_number()
    fields = (
        Field("number", number, number, Budget(evaluations=30, llm_calls=60)),
        Field("dials", calm, calm, Budget(evaluations=400, llm_calls=400)),
        Field("noisy dials", build_dials(noise=1.0), calm, Budget(evaluations=600, llm_calls=600)),
    )
    for field in chosen(fields, only):

        def trial(build: Callable[[], Trainer], seed: int, field: Field = field) -> Trial:
            teacher = TaggedTeacher(field, seed=seed)
            return run_trial(
                build(), field.toy, answer=teacher, budget=field.budget, seed=seed, optimizer=builders.optoprime_v2
            )

        ours = [trial(builder("PrioritySearch"), seed) for seed in range(seeds)]
        theirs = [trial(lambda: DiscoveredTrainer(found[0].found, {}), seed) for seed in range(seeds)]
        yield row(field, ours, theirs)


def chosen(fields: Sequence[Field], only: Sequence[str]) -> list[Field]:
    """Return the fields of these titles; all of them where none are named."""
    return [field for field in fields if not only or field.title in only]


def row(field: Field, ours: Sequence[Trial], theirs: Sequence[Trial]) -> str:
    """Return a row: scores, evaluations, calls, difference and ratio.

    Raises:
        RuntimeError: when a trial failed.
    """
    if failed := [t.error for t in (*ours, *theirs) if t.error is not None]:
        raise RuntimeError(f"{field.title}: {failed[0]!r}") from failed[0]
    score = [[field.returned_score(t) for t in side] for side in (ours, theirs)]
    calls = [[float(t.used.llm_calls) for t in side] for side in (ours, theirs)]
    spent = [sum(t.used.evaluations for t in side) / len(side) for side in (ours, theirs)]
    gain = estimate([a - b for a, b in zip(*score, strict=True)])
    cells = [field.title, f"{spent[0]:.0f} / {spent[1]:.0f}", *(str(estimate(s)) for s in score), str(gain)]
    cells += [str(estimate(c)) for c in calls]
    return "| " + " | ".join([*cells, str(ratio(*calls))]) + " |"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Return the ratio of the means with its interval, resampling seeds in pairs."""
    rng = random.Random(0)
    pairs = [*zip(ours, theirs, strict=True)]
    found = []
    for _ in range(2000):
        drawn = rng.choices(pairs, k=len(pairs))
        found.append(sum(a for a, _ in drawn) / max(1.0, sum(b for _, b in drawn)))
    found.sort()
    return Estimate(sum(ours) / max(1.0, sum(theirs)), found[50], found[-51])


SIDES: dict[str, tuple[str, Callable[[int, Sequence[str]], Iterator[str]]]] = {
    "gepa": ("GEPA-Base and gepa", gepa_side),
    "opentrace": ("PrioritySearch and OpenTrace's", opentrace_side),
}


def main() -> None:
    """Print a table for each original."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=[*SIDES, []], default=[])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fields", nargs="*", default=[], metavar="FIELD", help="rows by their titles")
    given = parser.parse_args()
    for name in given.which or SIDES:
        title, side = SIDES[name]
        print(f"\n## {title} ({given.seeds} seeds, mean and 95 % interval)\n")
        print(
            "| field | evaluations | ours | original | ours minus original | calls, ours | calls, original | ratio of calls |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for line in side(given.seeds, given.fields):
            print(line, flush=True)


if __name__ == "__main__":
    main()
