"""What a field is from release to release: where steps lead from its start, and what is said and scored on the way.

`PYTHONPATH=. python plugins/tracebench_fields/tests/test_walks.py` writes it anew, where a change is meant.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.kept.text import digest_of

from tracebench_core.contracts import EvaluationFailed
from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Case
from tracebench_fields.task import FieldOptions, FieldTask

FILE = Path(__file__).with_name("walks.json")
STEPS = 8
CASES = 6


class Here:
    """A context whose sandbox calls the candidate here: the texts are the field's own."""

    seed = 7
    deadline = None

    class sandbox:  # noqa: N801 - stands for an attribute
        @staticmethod
        def call(code: str, name: str, x: int, limits: Any) -> Any:
            space: dict[str, Any] = {}
            try:
                exec(code, space)
                return SimpleNamespace(status="ok", value=space[name](x))
            except Exception as err:  # noqa: BLE001 - whatever a broken text raises
                return SimpleNamespace(status="error", error=type(err).__name__)


def walk(family: str, size: str, deception: float) -> str:
    """Return the digest of a walk over one field: better and worse steps by turns, each candidate judged on some examples."""
    task = FieldTask(family, FieldOptions(size=size, deception=deception))  # type: ignore[arg-type]
    field, rng = task.field, random.Random(5)
    values = {p.name: p.initial for p in field.parameters}
    told: list[Any] = [[p.model_dump(mode="json") for p in field.parameters], field.optimum]
    for step in range(STEPS):
        values = field.harm(values, rng) if step % 3 == 2 else field.improve(values, rng)
        told.append(values)
        for example in task.splits["test"][:CASES]:
            try:
                output = field.output(values, example.input, Here)  # type: ignore[arg-type]
                verdict = field.verdict(Case(example.input, example.reference), output)
                told.append([float(verdict.score), verdict.text])
            except EvaluationFailed as err:
                told.append(str(err))
    return digest_of(told)


def every() -> dict[str, str]:
    """Return the digests of all walks."""
    return {
        f"{family} {size} {deception}": walk(family, size, deception)
        for family in FAMILIES
        for size, deception in (("small", 0.0), ("medium", 0.5))
    }


@pytest.mark.parametrize("name", json.loads(FILE.read_text()) if FILE.exists() else [])
def test_a_walk_leads_where_it_led(name: str) -> None:
    family, size, deception = name.split()
    assert walk(family, size, float(deception)) == json.loads(FILE.read_text())[name]


def test_every_family_has_its_walks() -> None:
    assert {name.split()[0] for name in json.loads(FILE.read_text())} == {*FAMILIES}


if __name__ == "__main__":
    FILE.write_text(json.dumps(every(), indent=1) + "\n")
