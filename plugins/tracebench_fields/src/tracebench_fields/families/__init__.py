"""The families: five in the open half, which trainers may be made with, and five in the held half, which waits for a secret."""

from __future__ import annotations

from tracebench_fields.families import agents, choices, code, numbers, order, prompts, routes
from tracebench_fields.field import Family

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        prompts.PROMPT, code.CODE, numbers.NUMBERS, routes.ROUTES, agents.AGENTS,
        prompts.JUDGED, order.ORDER, numbers.VALLEY, numbers.CONFLICT, choices.COSTS,
    )
}  # fmt: skip
