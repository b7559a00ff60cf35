"""What each trainer does on two toys with a teacher for a model: a digest of all its events, and where it ends.

One seed is one course of events, in every release: a change of a trainer that nobody meant shows here.
"""

from __future__ import annotations

from collections import defaultdict

from tests.kept.text import digest_of, text_of
from tests.toys import build_trade_off
from tracebench_core.errors import NotApplicableError
from tracebench_core.specs import Budget
from tracebench_engine.api.installed.hosting import load_ref, open_host
from tracebench_testing import Teacher, run_trial
from tracebench_testing.toys import build_dials

FOREIGN = "ext"
"""The plugin whose trainers are other libraries'."""
TOYS = ((build_dials, Budget(evaluations=120, llm_calls=25)), (build_trade_off, Budget(evaluations=40, llm_calls=20)))
"""Each with what a trainer may use; none starts a sandbox."""


def courses() -> dict[str, list[str]]:
    """Return a line for each trainer and toy, by plugin."""
    catalog = open_host().catalog()
    found: dict[str, list[str]] = defaultdict(list)
    for name, spec in sorted(catalog.trainers.items()):
        plugin = catalog.origin["trainer", name]
        if plugin == FOREIGN or spec.settings is None or catalog.availability(spec):
            continue
        for build, budget in TOYS:
            toy, model = build(), load_ref(spec.settings, owner=name)
            if any(field.is_required() for field in model.model_fields.values()):
                continue
            trainer = load_ref(spec.loader, owner=name)(model())
            trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.3), budget=budget, seed=3)
            assert trial.error is None or isinstance(trial.error, NotApplicableError), (name, toy.name, trial.error)
            told = f"{len(trial.events)} events {len(trial.candidates)} candidates {len(trial.evaluations)} evaluations"
            digest = digest_of(trial.comparable())
            found[plugin].append(
                f"{name} {toy.name} {told} {trial.used.llm_calls} calls score {text_of(trial.score())} {digest}"
            )
    return found
