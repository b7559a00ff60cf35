"""Who knows the field and not the tree finds twenty modules by the field's words: in names of files and first lines of modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 6
"""Modules that a word may lead to, so that a glance at each takes no more than a minute."""
QUESTIONS = {
    "Where is a failed model call retried?": ("retr(y|ies) .*call", "server/retry.py"),
    "Who decides whether a budget is spent?": ("budget.*spent", "job/budget.py"),
    "What ends a job at its timeout?": ("timeout", "run/local/template.py"),
    "Who decides the winner of a job?": ("who wins|winner", "job/scoring.py"),
    "Where is the p-value of two trainers computed?": ("p-value", "statistics/contrasts.py"),
    "Where do events become a result?": ("reduce", "events/reduce.py"),
    "Where is the journal's chain verified?": ("chain", "journal/lines.py"),
    "Where does a candidate get its limits of memory and processor?": ("lockdown", "template/lockdown.py"),
    "Where is the filter of system calls?": ("seccomp", "kernel/seccomp.py"),
    "What does a call cost?": (r"costs?\b.*price", "tracebench_runs/prices.py"),
    "Where does a provider's rate limit make a call wait?": ("rate limit", "server/retry.py"),
    "Where are plugins loaded?": ("load.*plugin|plugin.*load", "plugins/host.py"),
    "Where is an unknown field of a config told?": (
        "config.*problem|problem.*config|unknown.*field",
        "config/problems.py",
    ),
    "Where does a matrix become jobs?": ("expand|matrix.*jobs|jobs.*matrix", "matrix/plan.py"),
    "What does `resume` skip?": ("resume", "check/recovery.py"),
    "Where is a helper started again that died?": ("starts?.*again", "run/supervisor.py"),
    "What watches a helper's heartbeat?": ("heartbeat", "run/supervisor.py"),
    "Where are candidates scored again under another judge?": ("regrad", "checks/regrading.py"),
    "Where is a measurement taken from a cache?": (
        "measurement.*cache|cache.*measurement",
        "measure/measurement_cache.py",
    ),
    "Where is a calibration held against what it expects?": ("calibration.*expect", "calibration/verdicts.py"),
}


def front(path: Path) -> str:
    """Return what a listing and a `grep` show of a module before it is opened: its path and the first paragraph of its docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return f"{docstring.partition(chr(10) * 2)[0]} {path.relative_to(ROOT)}".replace("\n", " ")


@pytest.fixture(scope="module")
def fronts() -> dict[str, str]:
    return {str(p): front(p) for folder in ("src", "libs") for p in (ROOT / folder).rglob("*.py") if "src" in p.parts}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_fields_words_lead_to_the_module(question: str, fronts: dict[str, str]) -> None:
    words, module = QUESTIONS[question]
    found = [path for path, text in fronts.items() if re.search(words, text, re.IGNORECASE)]
    assert any(path.endswith(module) for path in found), f"none of {found} is `{module}`"
    assert len(found) <= MOST, f"`{words}` leads to {len(found)} modules: {found}"
