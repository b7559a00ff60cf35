"""The families: five in the open half, which trainers may be made with, five in the held half, which waited for a secret, and five in
reserve, on which no trainer was run before the next secret."""

from __future__ import annotations

from tracebench_fields.families import (
    agents,
    choices,
    code,
    formula,
    gates,
    jury,
    numbers,
    order,
    prompts,
    ridge,
    routes,
    rules,
)
from tracebench_fields.field import Family

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        prompts.PROMPT, code.CODE, numbers.NUMBERS, routes.ROUTES, agents.AGENTS,
        prompts.JUDGED, order.ORDER, numbers.VALLEY, numbers.CONFLICT, choices.COSTS,
        rules.RULES, ridge.RIDGE, gates.GATES, formula.FORMULA, jury.JURY,
    )
}  # fmt: skip
