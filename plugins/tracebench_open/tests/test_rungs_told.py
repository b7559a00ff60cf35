"""What a page says of ladders: also where a task is gone since it was promised."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_open.bench.plan import SUITES
from tracebench_open.bench.words import head_words
from tracebench_open.rungs import ladder


def test_a_page_says_of_which_tasks_the_rungs_cannot_be_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a task's plugin was removed since it was promised."""
    promised: Any = SimpleNamespace(jobs=[])
    there, gone = "autoresearch:tokenizer", "llm4ad:optimization/tsp_construct"
    ladder.cache_clear()
    monkeypatch.setenv("TRACEBENCH_PLUGINS", "autoresearch,openbench")
    tasks = [{"id": id_, "eval_kwargs": SUITES[id_]} for id_ in (there, gone)]
    (told,) = (line for line in head_words("suites", promised, tasks) if line.startswith("* **Ladders**"))
    ladder.cache_clear()
    assert f"`{there}` has " in told
    assert f", the rungs of `{gone}` cannot be told where this page was made." in told
