"""How each family of data sets reads a row and scores a reply; one module a family."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tracebench_hfqa.families.family import Family

NAMES = (
    "bbeh",
    "code_exec",
    "drop",
    "gsm8k",
    "hfqa",
    "ifeval",
    "math",
    "mcqa",
    "musique",
    "qasper",
    "simpleqa",
    "small",
    "strategy_qa",
    "tools",
    "words",
)


def find_family(name: str) -> Family:
    """Return the family that a task's `task_type` names."""
    return cast("Family", import_module(f"tracebench_hfqa.families.{name}").FAMILY)
