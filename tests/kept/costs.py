"""What each trainer is expected to use: its estimates at its own settings, for small and large tasks, with scarce calls and without."""

from __future__ import annotations

from collections import defaultdict

from tests.kept.text import text_of
from tracebench_core.specs import Budget, TaskShape
from tracebench_engine.api.installed.hosting import load_ref, open_host

SHAPES = (
    TaskShape(parameters=1, train=4, validation=0),
    TaskShape(parameters=3, train=20, validation=50),
    TaskShape(parameters=2, train=100, validation=30, budget=Budget(llm_calls=20, evaluations=400)),
    TaskShape(parameters=1, train=7, validation=5, budget=Budget(usd=0.5)),
)


def costs() -> dict[str, list[str]]:
    """Return a line for each trainer that declares its cost, and each shape, by plugin."""
    catalog = open_host().catalog()
    found: dict[str, list[str]] = defaultdict(list)
    for name, spec in sorted(catalog.trainers.items()):
        if not spec.cost or spec.settings is None:
            continue
        model = load_ref(spec.settings, owner=name)
        if any(field.is_required() for field in model.model_fields.values()):
            continue
        for number, shape in enumerate(SHAPES):
            told = load_ref(spec.cost, owner=name)(model(), shape)
            found[catalog.origin["trainer", name]].append(f"{name} {number} {text_of(told.model_dump())}")
    return found
